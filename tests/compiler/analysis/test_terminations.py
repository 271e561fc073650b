"""Steps that end the execution (EXTENSIONS §1, `terminate`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself and knows one thing more: what `terminate` leaves is an end, where
nothing fires any more. It shares no code with the analysis.
"""

from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nets import Game, Marking, compiled, plan_of, steps
from noetl_ir.net import PlaceClass, Transition
from noetl_ir.plan import Plan
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Severity

STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck", "every cycle has an exit", "every part can run", "tokens are bounded",
)  # fmt: skip
OVER: Marking = ()
"""Stands for every marking that a step has ended."""
MOST = 4_000


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Three to five noops with arcs to any others; some end the execution and have none."""
    count = draw(st.integers(4, 5))
    ending = draw(st.sets(st.integers(1, count - 1), min_size=1, max_size=2))
    going = [at for at in range(1, count) if at not in ending]
    rows: list[list[int]] = [
        [draw(st.sampled_from(sorted(ending))), *draw(st.lists(st.sampled_from(going), max_size=2))]
    ]
    for at in range(1, count):
        rows.append([] if at in ending else draw(st.lists(st.integers(0, count), max_size=2, unique=True)))
    lines = []
    for at, row in enumerate(rows):
        sources = len({other for other, arcs in enumerate(rows) if at in arcs}) + (at == 0)
        join = draw(st.sampled_from(("any", "all", "all", "all", "first"))) if sources > 1 else "any"
        # A guard on each arc of a choice; the fork at the start always takes all.
        chooses = bool(at) and draw(st.booleans())
        when = "when: '{{ workload.x }}', " if chooses else ""
        arcs = ", ".join(f"{{{when}step: {_name(target) if target < count else 'end'}}}" for target in row)
        end = ", terminate: completed" if at in ending else ""
        mode = "exclusive" if chooses else "inclusive"
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if row else ""
        lines.append(f"step: {_name(at)}, spec: {{policy: {{join: {join}{end}}}}}{routes}")
    return steps(*lines).replace("workflow:", "workload: {x: 1}\nworkflow:", 1)


def _name(number: int) -> str:
    return f"s{number}" if number else "start"


def spaces(plan: Plan) -> dict[Marking, list[tuple[Transition, Marking]]] | None:
    """Every marking of runs without failures, with what may happen there; None when there are too many."""
    game = Game(plan)
    waiting: list[Marking] = [game.initial()]
    found: dict[Marking, list[tuple[Transition, Marking]]] = {}
    while waiting:
        here = waiting.pop()
        if here in found:
            continue
        if len(found) > MOST:
            return None
        found[here] = list(_after(game, here)) if here != OVER else []
        waiting += (after for _, after in found[here])
    return found


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    for t, after in game.steps_from(here):
        if not t.fault and t.role not in ("lost", "fail"):
            yield t, OVER if t.role == "terminate" else after


def is_end(plan: Plan, marking: Marking) -> bool:
    if marking == OVER:
        return True
    tokens = {place.id for place, count in zip(plan.net.places, marking, strict=True) if count}
    left = any(place.kind is PlaceClass.CONTROL and place.id in tokens for place in plan.net.places)
    half = any(f"idle {step.name}" in tokens and f"held {step.name} {source}" in tokens
               for step in plan.steps for source in step.join.sources)  # fmt: skip
    return not left and not half


def endless(found: dict[Marking, list[tuple[Transition, Marking]]]) -> bool:
    """Whether from some marking nothing leads to one in which nothing happens."""
    before: dict[Marking, list[Marking]] = {}
    for here, row in found.items():
        for _, after in row:
            before.setdefault(after, []).append(here)
    waiting = [here for here, row in found.items() if not row]
    ending = set(waiting)
    while waiting:
        for here in before.get(waiting.pop(), ()):
            if here not in ending:
                ending.add(here)
                waiting.append(here)
    return len(ending) < len(found)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(body: str) -> None:
    made = compiled(body)
    assume(not made.count_of(Severity.ERROR))
    plan = made.plans[0]
    found = spaces(plan)
    if found is None:
        return
    stuck = any(not row and not is_end(plan, here) for here, row in found.items())
    fired = {t.id for row in found.values() for t, _ in row}
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.question == STUCK:
            assert (verdict.status is Status.PROVED) is not stuck, body
        elif verdict.question == CYCLES and verdict.status is not Status.UNKNOWN:
            assert (verdict.status is Status.REFUTED) is endless(found), body
        elif verdict.question == PARTS and verdict.status is Status.PROVED:
            assert all(f"begin {step.name}" in fired for step in plan.steps), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not Status.REFUTED, body


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
HALF = "step: j, spec: {policy: {join: all}}"


@pytest.mark.parametrize(
    ("rows", "stuck"),
    [
        # `j` waits for ever for a token of `a`, but `a` has ended all, or will.
        ((FORK, "step: a, spec: {policy: {terminate: completed}}",
          "step: b, next: {arcs: [{step: j}]}", "step: c, next: {arcs: [{step: j}]}", HALF), False),
        # Without the end of all it is stuck.
        ((FORK, "step: a", "step: b, next: {arcs: [{step: j, when: '{{ b.x }}'}]}",
          "step: c, next: {arcs: [{step: j}]}", HALF), True),
        # The step that would end all waits for a token itself.
        ((FORK, "step: a, next: {arcs: [{step: j, when: '{{ a.x }}'}]}", "step: b, next: {arcs: [{step: j}]}",
          "step: j, spec: {policy: {join: all, terminate: failed}}"), True),
    ],
)  # fmt: skip
def test_what_is_left_when_a_step_ends_all_is_final(rows: tuple[str, ...], stuck: bool) -> None:
    statuses = {verdict.question: verdict.status for verdict in soundness_of(plan_of(steps(*rows)))}
    assert (statuses[STUCK] is Status.PROVED) is not stuck


def test_an_end_of_all_is_the_exit_of_a_cycle() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: round}, {step: stop}]}",
            "step: round, next: {arcs: [{step: round}]}",
            "step: stop, spec: {policy: {terminate: completed}}",
        )
    )
    statuses = {verdict.question: verdict.status for verdict in soundness_of(plan)}
    assert statuses[CYCLES] is Status.PROVED and statuses[BOUNDED] is Status.PROVED
