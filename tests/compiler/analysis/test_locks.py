"""Steps that hold locks (EXTENSIONS §3, `lock`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself and knows one thing more: a step is admitted only while no run of a
step that has a lock in common with it is between its admission and its end. It shares no code with the analysis.
"""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from nets import (
    BOUNDED,
    CYCLES,
    PARTS,
    STUCK,
    Game,
    Marking,
    calm_space,
    fired_in,
    is_end,
    is_endless,
    is_locked,
    plan_of,
    random_plan,
    random_steps,
    sources_of,
    steps,
)
from noetl_ir.net import Transition
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 6_000


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four or five noops with arcs to any others; most hold some of two locks."""
    count = draw(st.integers(4, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=2, unique=True))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    policies, chooses = [], []
    for at in range(count):
        join = draw(st.sampled_from(("any", "all", "first"))) if sources_of(rows, at) > 1 else "any"
        lock = draw(st.sampled_from(("", ", lock: a", ", lock: b", ", lock: [a, b]"))) if at else ""
        policies.append(f"join: {join}{lock}")
        chooses.append(bool(at) and draw(st.booleans()))
    return random_steps(rows, policies, chooses)


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    return ((t, after) for t, after in game.steps_from(here) if not is_locked(game.plan, here, t))


@shares(40)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    found = calm_space(plan, _after, MOST)
    if found is None:
        return
    stuck = any(not row and not is_end(plan, here) for here, row in found.items())
    fired = fired_in([found])
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.status is Status.UNKNOWN:
            continue
        if verdict.question == STUCK:
            assert (verdict.status is Status.PROVED) is not stuck, body
        elif verdict.question == CYCLES:
            assert (verdict.status is Status.REFUTED) is is_endless(found), body
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
