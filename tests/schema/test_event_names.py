"""The names of the older specifications, held against the table of the reference."""

import re
from pathlib import Path

import pytest

from noetl_ir import event_names
from noetl_ir.event_names import DIALECTS, old_name
from noetl_ir.events import Event

REFERENCE = Path(__file__).parents[2] / "schema" / "README.md"
SPECIFICATIONS = {"case": "case-dialect", "formal": "formal", "extended": "formal-extended"}


def rows() -> list[tuple[set[str], set[str], str]]:
    """The reference's table: the old names, the specifications that have them, and what ours is."""
    text = REFERENCE.read_text(encoding="utf-8").partition("### Event names in the specifications")[2]
    found = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    return [(set(re.findall(r"`([^`]+)`", names)), set(specs.split(", ")), ours) for names, specs, ours in found]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_name_stands_in_the_reference(dialect: str) -> None:
    table = event_names._TABLES[dialect]
    assert table
    for ours, name in table.items():
        assert any(
            name in names and SPECIFICATIONS[dialect] in specs and f"`{ours}`" in meaning
            for names, specs, meaning in rows()
        ), (ours, name)


def test_an_outcome_decides_between_two_names() -> None:
    done, failed = (
        Event("e", "task.done", 0, data={"status": "ok"}),
        Event("e", "task.done", 0, data={"status": "error"}),
    )
    assert (old_name(done, "extended"), old_name(failed, "extended")) == ("ToolCompleted", "ToolErrored")
    assert old_name(done, "formal") == "tool.processed"
    assert old_name(Event("e", "token.joined", 0), "case") == ""
