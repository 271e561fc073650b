"""The subjects that `noetlc graph` can draw: the playbooks of a file, a plan, or a net in PNML."""

from typing import TYPE_CHECKING

import click

from noetl_ir.records import NamedTuple
from noetlc.cli.files import read, shown_name
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.source.text import Source

if TYPE_CHECKING:  # each command line needs one of them
    from noetl_ir.plan import Plan
    from noetlc.analysis.petri import Petri
    from noetlc.ast.playbook import Playbook
    from noetlc.cli.catalogue import Folders


class PictureSubject(NamedTuple):
    """One picture's worth. A playbook comes with its plan; a plan alone was compiled before; else there is a net."""

    playbook: "Playbook | None"
    plan: "Plan | None"
    net: "Petri | None"


class FileSubjects(NamedTuple):
    """The subjects that a file holds, in order; the text that is shown on click, which only playbooks have; what
    was found in it.
    """

    rows: list[PictureSubject]
    source: Source
    findings: tuple[Diagnostic, ...]


def subjects_in(file: str, catalogue: "Folders", *, checked: bool) -> FileSubjects | None:
    """The playbooks that a file holds, None where it does not compile, which is told. `checked` asks the rules on
    nets as well.
    """
    data = read(file)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or file.endswith(".pnml"):
        return _net(file, data)
    if is_plan(data):
        return FileSubjects([PictureSubject(None, plan_in(file, data), None)], Source(shown_name(file), ""), ())
    return _playbooks(file, data, catalogue, checked=checked)


def _net(file: str, data: bytes) -> FileSubjects:
    from noetlc.analysis.petri import petri_of
    from noetlc.source.pnml_reader import PnmlError, read_pnml

    try:
        net = petri_of(read_pnml(data))
    except PnmlError as problem:
        raise click.UsageError(f"{file}: {problem}") from None
    return FileSubjects([PictureSubject(None, None, net)], Source(shown_name(file), ""), ())


def is_plan(data: bytes) -> bool:
    """Whether a file holds a plan, in bytes or as JSON."""
    from noetl_ir.plan_format import MAGIC

    return data.startswith(MAGIC) or (data[:1] == b"{" and b'"noetl-plan"' in data[:100])


def plan_in(file: str, data: bytes) -> "Plan":
    """The plan in a file. A damaged one is wrong usage."""
    from noetl_ir.plan_format import MAGIC, PlanError, read_plan

    try:
        if data.startswith(MAGIC):
            return read_plan(data)
        import json

        from noetl_ir.plan_format.json import plan_from_json

        return plan_from_json(json.loads(data))
    # A plan is a file from anywhere.
    except (PlanError, ValueError, RecursionError) as problem:
        raise click.UsageError(f"{shown_name(file)}: {problem}") from None


def _playbooks(file: str, data: bytes, catalogue: "Folders", *, checked: bool) -> FileSubjects | None:
    from noetlc.pipeline import check_source, compile_source

    compiled = compile_source(shown_name(file), data, catalogue)
    if compiled.count_of(Severity.ERROR):
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        return None
    found = compiled.diagnostics
    if checked:  # what the rules on nets find costs more than a picture
        more = check_source(shown_name(file), data).diagnostics
        found = tuple(sorted(dict.fromkeys((*found, *more)), key=lambda one: one.order))
    rows = [PictureSubject(one.playbook, one.plan, None) for one in compiled.documents if one.playbook is not None]
    return FileSubjects(rows, compiled.source, found)
