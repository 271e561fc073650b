"""The findings in a file of tests while somebody types it: those that `noetl test` would not run it for."""

import os
from collections.abc import Callable

from noetl_ir.records import NamedTuple
from noetl_ir.suite import SUFFIXES
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import shown_name
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import Reported, sorted_findings
from noetlc.diag.suggesting import with_suggestion
from noetlc.emit.event import EVENTS
from noetlc.pipeline import compile_source
from noetlc.reading.reader import Reader, Tables
from noetlc.rules import slug_of
from noetlc.source.nodes import Mapping
from noetlc.source.yaml_reader import read_yaml
from noetlc.suites.document import playbook_in, read_cases
from noetlc.suites.known import known_of


class SuiteFindings(NamedTuple):
    """The findings in a file of tests, and the path of its playbook, "" where that is not known."""

    findings: tuple[Reported, ...]
    path: str


def found_in_suite(name: str, data: bytes, content: Callable[[str], bytes | None], catalogue: Folders) -> SuiteFindings:
    """The findings in a file of tests; `content` gives the bytes of a file. Of a playbook that does not compile nothing
    is said here: its own findings say it.
    """
    reading = read_yaml(shown_name(name), data)
    r = Reader(reading.source, Tables(), {})
    node = reading.documents[0] if reading.documents else None
    path = ""
    if len(reading.documents) == 1 and not any(one.severity is Severity.ERROR for one in reading.diagnostics):
        named = playbook_in(r, node)
        playbook = os.path.normpath(os.path.join(os.path.dirname(name), named or _beside(name)))
        found = content(playbook)
        if found is None:
            at = node.get("playbook") if isinstance(node, Mapping) else None
            if at is not None and named is not None:
                r.report("NL026", f"its playbook cannot be read: there is no {named}", at.span)
        else:
            compiled = compile_source(shown_name(playbook), found, catalogue)
            if len(compiled.plans) == 1:
                path = compiled.plans[0].path
                read_cases(r, known_of(compiled.plans[0], tuple(sorted(EVENTS))), node)
    told: list[Diagnostic] = [with_suggestion(reading.source, one) for one in (*reading.diagnostics, *r.findings)]
    rows = [Reported(shown_name(name), slug_of(one.code), "", one) for one in sorted_findings(told)]
    return SuiteFindings(tuple(rows), path)


def _beside(name: str) -> str:
    file = os.path.basename(name)
    suffix = next(each for each in SUFFIXES if file.endswith(each))
    return file.removesuffix(suffix) + suffix.removeprefix(".test")
