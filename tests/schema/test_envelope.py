"""The envelope of events against LANGUAGE §8."""

import pytest

from noetl_ir.envelope import envelope_of, envelope_schema, origin_of, span_of, status_of
from noetl_ir.events import Event, Firing, action_id_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetlc.pipeline import compile_source

LISTED = [
    *("event_id", "event_type", "ts", "execution_id", "step_run_id", "task_run_id", "trace_id", "parent_id", "source"),
    *("entity_type", "entity_id", "status", "action_id", "attempt", "iteration", "page", "payload"),
]

SOURCE = b"""
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: tried}
workflow:
  - step: start
    loop: {in: "{{ [1] }}", iterator: n}
    tool: {kind: noop, name: call}
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return compile_source("tried.yaml", SOURCE).plans[0]


def test_a_task_event_has_everything(plan: Plan) -> None:
    first = Event("s1", "playbook.execution.requested", 0, data={"trace_id": "t", "parent": ["p", "7"]})
    origin = origin_of("x", first)
    event = Event(
        "e",
        "task.done",
        1_000_001,
        0,
        "3/0",
        0,
        2,
        1,
        1,
        (Firing(0, "3/0", ("3/0", "")),),
        {"status": "ok", "iter": {"page": 4}},
    )
    envelope = envelope_of(plan, origin, event, 9)
    transition = plan.net.transitions[0].id
    assert envelope == {
        "event_id": "e",
        "event_type": "task.done",
        "ts": "1970-01-01T00:00:01.000001Z",
        "execution_id": "x",
        "step_run_id": "3",
        "task_run_id": "3/0:call:2",
        "trace_id": "t",
        "parent_id": "3/0",
        "source": "worker",
        "entity_type": "task",
        "entity_id": "3/0:call:2",
        "status": "success",
        "action_id": action_id_of("x", "3/0", 0, 2),
        "attempt": 1,
        "iteration": [0],
        "page": 4,
        "payload": {"status": "ok", "iter": {"page": 4}},
        "position": 9,
        "step": "start",
        "task": "call",
        "fired": [{"transition": transition, "took": "3/0", "made": ["3/0", ""]}],
    }
    assert list(envelope)[: len(LISTED)] == LISTED
    assert envelope_schema()["required"] == sorted(envelope)
    request = envelope_of(plan, origin, first, 1)
    assert (request["entity_type"], request["entity_id"], request["parent_id"]) == ("playbook", "x", "p")


def test_an_iteration_that_never_began_has_its_index(plan: Plan) -> None:
    origin = origin_of("x", Event("s1", "playbook.execution.requested", 0))
    event = Event("s2", "loop.iteration.skipped", 0, 0, "3", data={"index": 5})
    envelope = envelope_of(plan, origin, event, 2)
    assert (envelope["iteration"], envelope["entity_type"], envelope["entity_id"]) == ([5], "iteration", "3/5")
    assert (envelope["parent_id"], envelope["status"], envelope["trace_id"]) == ("3", "skipped", "x")


@pytest.mark.parametrize(
    ("event_type", "data", "status"),
    [
        ("step.scheduled", {}, "in_progress"),
        ("task.done", {"status": "error"}, "error"),
        ("workflow.finished", {"status": "completed"}, "success"),
        ("workflow.finished", {"status": "blocked"}, "error"),
        ("workflow.finished", {"status": "cancelled"}, "skipped"),
        ("token.ended", {"unhandled": True}, "error"),
        ("token.ended", {}, "success"),
        ("timer.fired", {"error": {}}, "success"),
        ("timer.fired", {"error": {"code": "timeout"}}, "error"),
        ("playbook.paused", {}, "paused"),
        ("token.rejected", {}, "skipped"),
    ],
)
def test_statuses(event_type: str, data: dict[str, object], status: str) -> None:
    assert status_of(Event("e", event_type, 0, data=data)) == status  # type: ignore[arg-type]


@pytest.mark.parametrize("arcs", [[{}], [{"arc": "x"}], [{"arc": 99}], [{"arc": -1}], [{"arc": True}], [{"arc": []}]])
def test_the_place_of_an_altered_event_is_that_of_its_step(plan: Plan, arcs: list[Json]) -> None:
    event = Event("s9", "next.selected", 0, 0, "1", data={"arcs": arcs})
    assert span_of(plan, event) == plan.steps[0].span
