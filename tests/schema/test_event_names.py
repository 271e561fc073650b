"""The names of the older specifications, held against the table of the reference."""

import re
from pathlib import Path
from typing import Any

import pytest

from noetl_ir import event_names
from noetl_ir.event_names import DIALECTS, old_envelope, old_name
from noetl_ir.events import Event
from noetl_ir.expr import Json

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


def envelope(**fields: Json) -> dict[str, Any]:
    """An envelope of ours with every field."""
    return {
        "event_id": "e", "event_type": "task.done", "ts": "2026-01-31T12:00:00Z", "execution_id": "1",
        "step_run_id": "S7", "task_run_id": "T9", "trace_id": "t", "parent_id": "S7", "source": "worker",
        "entity_type": "task", "entity_id": "T9", "status": "success", "action_id": "h", "attempt": 1,
        "iteration": 0, "page": None, "payload": {"n": 1}, "position": 3, "step": "s", "task": "a", "fired": [],
        **fields,
    }  # fmt: skip


# The fields and their order as the specifications list them: case-dialect §5.3, formal §12.1, formal-extended §9.1.
FIELDS = {
    "case": "event_id event_type timestamp execution_id workflow_run_id step_run_id tool_run_id entity_type entity_id "
    "parent_id action_id attempt iteration page payload",
    "formal": "event_id event_type execution_id timestamp entity_type entity_id status payload",
    "extended": "event_id execution_id timestamp source name entity entity_id status data",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_envelope_has_the_fields_of_its_specification(dialect: str) -> None:
    found: Any = old_envelope(Event("e", "task.done", 0, data={"status": "ok"}), envelope(), dialect)
    assert list(found) == FIELDS[dialect].split()
    assert found.get("entity_type", found.get("entity")) == "tool"
    assert found.get("payload", found.get("data")) == {"n": 1}
    assert found["timestamp"] == "2026-01-31T12:00:00Z"
    assert found.get("event_type", found.get("name")) == old_name(
        Event("e", "task.done", 0, data={"status": "ok"}), dialect
    )


def test_an_event_without_a_name_has_no_envelope() -> None:
    assert old_envelope(Event("e", "token.joined", 0), envelope(event_type="token.joined"), "case") is None


@pytest.mark.parametrize(
    ("kind", "dialect", "ours", "entity", "status"),
    [
        ("workflow.finished", "formal", ("playbook", "skipped"), "workflow", "skipped"),
        ("workflow.finished", "extended", ("playbook", "skipped"), "workflow", "error"),
        ("loop.iteration.skipped", "extended", ("iteration", "skipped"), "loop", "success"),
        ("loop.iteration.skipped", "formal", ("iteration", "skipped"), "loop", "skipped"),
        ("playbook.paused", "extended", ("playbook", "paused"), "playbook", "paused"),
        ("retry.started", "extended", ("task", "in_progress"), "retry", "in_progress"),
    ],
)
def test_entities_and_statuses_are_those_that_it_knows(
    kind: str, dialect: str, ours: tuple[str, str], entity: str, status: str
) -> None:
    found: Any = old_envelope(
        Event("e", kind, 0), envelope(event_type=kind, entity_type=ours[0], status=ours[1]), dialect
    )
    assert (found.get("entity_type", found.get("entity")), found["status"]) == (entity, status)
