"""Playbooks from text for tests of the compiler's front end."""

from typing import Any

from noetl_ir.span import NOWHERE, Span
from noetlc.ast.playbook import Guard, Playbook, Value
from noetlc.diag.diagnostic import Diagnostic
from noetlc.pipeline import check_source, understood
from noetlc.source.nodes import Mapping, Scalar, Sequence
from noetlc.source.yaml_reader import read_yaml

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"


def read(text: str | bytes) -> tuple[Playbook | None, list[Diagnostic]]:
    """The first document of a file and all findings but those of rules."""
    reading = read_yaml("t.yaml", text.encode() if isinstance(text, str) else text)
    made = understood(reading.source, reading.documents[0] if reading.documents else None)
    return made.playbook, [*reading.diagnostics, *made.diagnostics]


def linted(text: str) -> list[Diagnostic]:
    """All findings, those of rules included."""
    return list(check_source("t.yaml", text.encode()).diagnostics)


def playbook_of(workflow: str) -> Playbook:
    """The playbook of some sections under the usual head; fails on any finding."""
    playbook, found = read(HEAD + workflow)
    assert playbook is not None and not found, found
    return playbook


def codes(findings: list[Diagnostic]) -> list[str]:
    """The codes of findings, sorted."""
    return sorted(finding.code for finding in findings)


def without_places(tree: Any) -> Any:
    """A tree with every span, node and offset blanked, for comparing trees of different texts."""
    if isinstance(tree, Span):
        return NOWHERE
    if isinstance(tree, Scalar | Mapping | Sequence):
        return None
    if isinstance(tree, Guard):
        return ("guard", tree.expr, tree.text)
    if isinstance(tree, Value):
        return ("value", without_places(tree.template))
    if isinstance(tree, tuple):
        return tuple(without_places(part) for part in tree)
    return tree
