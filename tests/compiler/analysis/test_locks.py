"""Steps that hold locks (EXTENSIONS §3, `lock`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself and knows one thing more: a step is admitted only while no run of a
step that has a lock in common with it is between its admission and its end. It shares no code with the analysis.
"""

from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.samples import shares
from nets import Game, Marking, compiled, plan_of, steps
from noetl_ir.net import PlaceClass, Transition
from noetl_ir.plan import Plan
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Severity

STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck", "every cycle has an exit", "every part can run", "tokens are bounded",
)  # fmt: skip
MOST = 6_000
Space = dict[Marking, list[tuple[Transition, Marking]]]
RUNNING = ("ready", "at", "run", "due", "parked", "out", "bad")


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four or five noops with arcs to any others; most hold some of two locks."""
    count = draw(st.integers(4, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=2, unique=True))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    lines = []
    for at, row in enumerate(rows):
        sources = len({other for other, arcs in enumerate(rows) if at in arcs}) + (at == 0)
        join = draw(st.sampled_from(("any", "all", "first"))) if sources > 1 else "any"
        lock = draw(st.sampled_from(("", ", lock: a", ", lock: b", ", lock: [a, b]"))) if at else ""
        chooses = bool(at) and draw(st.booleans())
        when = "when: '{{ workload.x }}', " if chooses else ""
        arcs = ", ".join(f"{{{when}step: {_name(target) if target < count else 'end'}}}" for target in row)
        mode = "exclusive" if chooses else "inclusive"
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if row else ""
        lines.append(f"step: {_name(at)}, spec: {{policy: {{join: {join}{lock}}}}}{routes}")
    return steps(*lines).replace("workflow:", "workload: {x: 1}\nworkflow:", 1)


def _name(number: int) -> str:
    return f"s{number}" if number else "start"


def spaces(plan: Plan) -> Space | None:
    """Every marking of runs without failures, with what may happen there; None when there are too many."""
    game = Game(plan)
    waiting: list[Marking] = [game.initial()]
    found: Space = {}
    while waiting:
        here = waiting.pop()
        if here in found:
            continue
        if len(found) > MOST:
            return None
        found[here] = list(_after(game, here))
        waiting += (after for _, after in found[here])
    return found


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    plan = game.plan
    locks = {step: set(names) for step, names in plan.locks}
    running = {
        plan.net.places[n].step for n, tokens in enumerate(here) if tokens and plan.net.places[n].role in RUNNING
    }
    used = set[str]().union(*(locks.get(step, set()) for step in running))
    for t, after in game.steps_from(here):
        if t.fault or t.role in ("lost", "fail") or (t.role == "admit" and used & locks.get(t.step, set())):
            continue
        yield t, after


def is_end(plan: Plan, marking: Marking) -> bool:
    tokens = {place.id for place, count in zip(plan.net.places, marking, strict=True) if count}
    left = any(place.kind is PlaceClass.CONTROL and place.id in tokens for place in plan.net.places)
    half = any(f"idle {step.name}" in tokens and f"held {step.name} {source}" in tokens
               for step in plan.steps for source in step.join.sources)  # fmt: skip
    return not left and not half


def endless(found: Space) -> bool:
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


@shares(40)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
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
        if verdict.status is Status.UNKNOWN:
            continue
        if verdict.question == STUCK:
            assert (verdict.status is Status.PROVED) is not stuck, body
        elif verdict.question == CYCLES:
            assert (verdict.status is Status.REFUTED) is endless(found), body
        elif verdict.question == PARTS and verdict.status is Status.PROVED:
            assert all(f"begin {step.name}" in fired for step in plan.steps), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not Status.REFUTED, body
    places = {place.id: number for number, place in enumerate(plan.net.places)}
    for one, other in (("s1", "s2"), ("s2", "s3")):
        both = any(here[places[f"ready {one}"]] and here[places[f"ready {other}"]] for here in found)
        never = query_verdict(plan, query_of(f"never({one} and {other})"), "q", Effort(STANDARD))
        assert never.bug is None and not (never.status is Status.PROVED and both), body


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}"


@pytest.mark.parametrize(
    ("locks", "apart"),
    [(("x", "x", "y"), ("a and b",)), (("[x, y]", "x", "y"), ("a and b", "a and c")), (("x", "y", "z"), ())],
)
def test_steps_with_a_lock_in_common_never_run_at_once(locks: tuple[str, ...], apart: tuple[str, ...]) -> None:
    rows = [f"step: {name}, spec: {{policy: {{lock: {lock}}}}}" for name, lock in zip("abc", locks, strict=True)]
    plan = plan_of(steps(FORK, *rows))
    assert {verdict.status for verdict in soundness_of(plan)} == {Status.PROVED}
    for pair in ("a and b", "a and c", "b and c"):
        verdict = query_verdict(plan, query_of(f"never({pair})"), "q", Effort(STANDARD))
        assert (verdict.status is Status.PROVED) is (pair in apart), pair
