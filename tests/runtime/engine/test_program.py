"""Programs: the answers about a net, against the net read as NET.md describes it."""

from functools import cache

import pytest

from harness.running import compiled
from noetl.app.programs import program_of
from noetl.engine.columns import Columns
from noetl.engine.program import Missing, Program
from noetl_ir.net import PlaceClass, Trigger

TEXT = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b, when: "{{ ctx.x == 1 }}"}, {step: c}]}}
  - step: a
    loop: {in: "{{ [[1], [2]] }}", iterator: x, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: u}}}]}}}
      - {name: v, kind: noop}
      - {name: u, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
    next: {arcs: [{step: d}]}
  - {step: b, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: d}]}}
  - {step: c, tool: {name: t, kind: http, url: "http://x"}, next: {arcs: [{step: d, spec: {delay: 1}}]}}
  - {step: d, spec: {policy: {join: 2}}, tool: {kind: noop}}
"""
PHASES, JUMPS = ("fault", "stop", "expire"), ("jump", "jump_later")


@cache
def program() -> Program:
    """Loops, a jump, a wait, a delay, inclusive routing and a counting join."""
    return program_of(compiled(TEXT))


def test_every_transition_is_found_by_its_role_and_tables() -> None:
    net = program().plan.net
    first: dict[tuple[str, int, int, int, str, int], int] = {}
    for number, t in enumerate(net.transitions):
        role, level, outcome, target = t.role, t.level if t.task < 0 else -1, t.outcome, -1
        if role in PHASES:
            role, level, outcome = f"{role}_{net.places[t.inputs[0].place].role}", -1, ""
        elif role in JUMPS:
            target = net.places[t.outputs[0].place].task
        first.setdefault((role, t.step, t.task, level, outcome, target), number)
    assert len(first) > 40
    for (role, step, task, level, outcome, target), number in first.items():
        assert program().transition(role, step, task, level=level, outcome=outcome, target=target) == number


@pytest.mark.parametrize(
    ("role", "step", "task"), [("admit", -1, -1), ("admit", 99, -1), ("start", 0, 99), ("x", 0, -1)]
)
def test_what_the_net_does_not_have_is_missing(role: str, step: int, task: int) -> None:
    with pytest.raises(Missing):
        program().transition(role, step, task)
    assert program().find(role, step) == -1 or task >= 0


def test_places_tell_what_may_follow_and_transitions_what_they_move() -> None:
    net, moves = program().plan.net, program().columns.moves
    for number, place in enumerate(net.places):
        takers = [
            at
            for at, t in enumerate(net.transitions)
            if t.trigger in (Trigger.NOW, Trigger.CTX) and number in [arc.place for arc in t.inputs]
        ]
        assert list(program().choices(number)) == takers
        assert (moves.follows[number], moves.controls[number]) == (bool(takers), place.kind is PlaceClass.CONTROL)
    for at, t in enumerate(net.transitions):
        for only, arcs in ((moves.sources[at], t.inputs), (moves.targets[at], t.outputs)):
            assert ([(only, 1)] == [tuple(arc) for arc in arcs]) == (only >= 0)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "rows"])
def test_columns_say_what_the_rows_of_the_net_say(packed: bool) -> None:
    net = program().plan.net
    columns = Columns(net if packed else net._replace(places=tuple(net.places), transitions=tuple(net.transitions)))
    rows, places = columns.transitions, columns.places
    assert [*zip(places.roles, places.steps, places.tasks, places.levels, strict=True)] == [
        (place.role, place.step, place.task, place.level) for place in net.places
    ]
    assert [*zip(rows.roles, rows.guards, rows.faults, rows.arcs, rows.outcomes, strict=True)] == [
        (t.role, t.guard, t.fault, t.arc, t.outcome) for t in net.transitions
    ]
    assert [*zip(rows.steps, rows.tasks, rows.levels, strict=True)] == [
        (t.step, t.task, t.level) for t in net.transitions
    ]
    for number, t in enumerate(net.transitions):
        assert rows.by_itself[number] == (t.trigger in (Trigger.NOW, Trigger.CTX))
        assert [*columns.sources(number)] == [arc.place for arc in t.inputs]
        assert [*columns.targets(number)] == [arc.place for arc in t.outputs]
