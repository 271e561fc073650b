"""Steps that end the execution (EXTENSIONS §1, `terminate`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself and knows one thing more: what `terminate` leaves is an end, where
nothing fires any more. It shares no code with the analysis.
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
    plan_of,
    random_plan,
    random_steps,
    sources_of,
    steps,
)
from noetl_ir.net import Transition
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

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
    policies, chooses = [], []
    for at in range(count):
        join = draw(st.sampled_from(("any", "all", "all", "all", "first"))) if sources_of(rows, at) > 1 else "any"
        policies.append(f"join: {join}{', terminate: completed' if at in ending else ''}")
        # The fork at the start always takes all.
        chooses.append(bool(at) and draw(st.booleans()))
    return random_steps(rows, policies, chooses)


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    for t, after in game.steps_from(here) if here != OVER else ():
        yield t, OVER if t.role == "terminate" else after


@shares(60)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    found = calm_space(plan, _after, MOST)
    if found is None:
        return
    stuck = any(not row and here != OVER and not is_end(plan, here) for here, row in found.items())
    fired = fired_in([found])
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.question == STUCK:
            assert (verdict.status is Status.PROVED) is not stuck, body
        elif verdict.question == CYCLES and verdict.status is not Status.UNKNOWN:
            assert (verdict.status is Status.REFUTED) is is_endless(found), body
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
