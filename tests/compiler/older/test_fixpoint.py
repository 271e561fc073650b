"""Lowering twice is lowering once, canonical playbooks pass unchanged, and canonical source runs as its original."""

from pathlib import Path

import pytest

import goldens
from harness.samples import some
from noetlc.ast.playbook import Playbook
from noetlc.ast.printing import printed
from noetlc.ast.walk import sugar_in
from noetlc.diag.change import Change
from noetlc.older import LOWERING
from noetlc.pipeline import check_source, understood
from noetlc.source.yaml_reader import read_yaml
from views.events import printed as events_of

INPUTS = [case for case in goldens.cases() if case.stage in ("lower", "dialects")]
CANONICAL = [case for case in goldens.cases() if case.stage in ("run", "read", "net")]


def lowered(text: str) -> tuple[Playbook, tuple[Change, ...]]:
    """The canonical playbook of a text and what was changed."""
    reading = read_yaml("t.yaml", text.encode())
    made = understood(reading.source, reading.documents[0])
    assert made.playbook is not None
    return made.playbook, made.changes


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case.name)
def test_lowering_twice_is_lowering_once(case: goldens.Case) -> None:
    first, changes = lowered(case.path.read_text("utf-8"))
    assert list(sugar_in(first)) == []
    second, again = lowered(printed(first))
    notes = check_source(case.path.name, case.path.read_bytes()).diagnostics
    assert changes or any(note.code == "NL112" for note in notes)  # a short `else` is told as a note of its own
    assert again == ()
    assert printed(second) == printed(first)


@pytest.mark.parametrize("case", CANONICAL, ids=lambda case: case.name)
def test_a_canonical_playbook_passes_unchanged(case: goldens.Case) -> None:
    first, changes = lowered(case.path.read_text("utf-8"))
    assert changes == ()
    for row in LOWERING:
        assert row.fn(first, refuse) == first


@pytest.mark.parametrize(
    "case", some((case for case in INPUTS if case.beside("events").exists()), 4), ids=lambda case: case.name
)
def test_canonical_source_runs_as_its_original(case: goldens.Case, tmp_path: Path) -> None:
    text = case.path.read_text("utf-8")
    comments = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    copy = tmp_path / case.path.name
    children = "".join(f"---\n{document}" for document in text.split("---\n")[1:])
    copy.write_text(comments + printed(lowered(text)[0]) + children, encoding="utf-8")
    if case.beside("script").exists():
        (tmp_path / f"{case.name}.script").write_text(case.beside("script").read_text("utf-8"), encoding="utf-8")
    assert events_of(goldens.Case(case.stage, case.name, copy)) == events_of(case)


def refuse(change: Change) -> None:
    """No change is to be noted."""
    pytest.fail(str(change))
