"""Steps that cancel others (EXTENSIONS §3, `cancels`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself and knows one thing more: an admission of a step that cancels
empties what is of the steps that it names, and their joins are as at first. It shares no code with the analysis.
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
    Space,
    calm_space,
    emptied,
    fired_in,
    innermost_first,
    is_end,
    is_endless,
    is_twice,
    name_of,
    plan_of,
    random_plan,
    random_steps,
    sources_of,
    steps,
)
from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.extents import extents_of
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict, report_of
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 4_000


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four or five noops with arcs to any others, from the fork also several to one; some cancel others, themselves
    too.
    """
    count = draw(st.integers(4, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=4))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    cancelling = draw(st.sets(st.integers(1, count - 1), min_size=1, max_size=2))
    joins = ("any", "all", "all", "first", "first", "{tokens: 2}")
    policies, chooses = [], []
    for at in range(count):
        join = draw(st.sampled_from(joins)) if sources_of(rows, at) > 1 else "any"
        targets = draw(st.lists(st.integers(1, count - 1), min_size=1, max_size=3, unique=True))
        cancels = f", cancels: [{', '.join(map(name_of, targets))}]" if at in cancelling else ""
        policies.append(f"join: {join}{cancels}")
        chooses.append(bool(at) and draw(st.booleans()))
    return random_steps(rows, policies, chooses)


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    plan = game.plan
    asked = {n for n, tokens in enumerate(here) if tokens and plan.net.places[n].role in ("c", "n", "s")}
    for t, after in game.steps_from(here):
        # A router fires all its chain at once.
        if asked and not any(arc.place in asked for arc in t.inputs):
            continue
        yield t, emptied(plan, t, after)


@shares(40)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    found = calm_space(plan, _after, MOST)
    if found is None:
        return
    stuck = any(not row and not is_end(plan, here) for here, row in found.items())
    fired = fired_in([found])
    most = max(max(here) for here in found)
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
        elif verdict.question == PARTS:
            assert not all(t.id in fired for t in plan.net.transitions if t.role in ("begin", "take")), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not Status.REFUTED, (body, most)
    for step in plan.steps[1:3]:
        runs = query_verdict(plan, query_of(f"at most 1 of {step.name}"), "q", Effort(STANDARD))
        twice = is_twice(found, f"begin {step.name}")
        assert runs.bug is None and not (runs.status is Status.PROVED and twice), body


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
PROVED, UNKNOWN, REFUTED = Status.PROVED, Status.UNKNOWN, Status.REFUTED


@pytest.mark.parametrize(
    ("rows", "stuck", "runs"),
    [
        # The second of two never starts `j` again, and no wave is left open.
        ((FORK, "step: a, next: {arcs: [{step: j}]}", "step: b, next: {arcs: [{step: j}]}",
          "step: j, spec: {policy: {join: first, cancels: [a, b]}}"), PROVED, 1),
        # Without `b` it does: `b` brings its token to the wave that began with the start of `j`.
        ((FORK, "step: a, next: {arcs: [{step: j}]}", "step: b, next: {arcs: [{step: j}]}",
          "step: j, spec: {policy: {join: first, cancels: [a]}}"), PROVED, 2),
        # `j` waits for a token of `a`, which may have been withdrawn.
        ((FORK, "step: a, next: {arcs: [{step: j}]}",
          "step: b, spec: {policy: {cancels: [a]}}, next: {arcs: [{step: j}]}",
          "step: j, spec: {policy: {join: all}}"), UNKNOWN, 1),
        # A step that cancels itself ends its other runs, here on a cycle that would fill.
        ((FORK, "step: a, next: {arcs: [{step: b}]}", "step: b, spec: {policy: {join: any, cancels: [b]}}"), PROVED, 2),
        # A router that gives one step more tokens than were watched at first.
        (("step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: a}, {step: a}]}",
          "step: a, spec: {policy: {join: any, cancels: [a]}}"), PROVED, 1),
    ],
    ids=["discriminator", "a source left out", "a join that waits for it", "itself", "several tokens of one router"],
)  # fmt: skip
def test_what_a_step_cancels_is_gone(rows: tuple[str, ...], stuck: Status, runs: int) -> None:
    plan = plan_of(steps(*rows))
    report = report_of(plan)
    statuses = {verdict.question: verdict.status for verdict in report.verdicts}
    assert statuses[STUCK] is stuck and statuses[BOUNDED] is PROVED
    last = plan.steps[-1].name
    once = query_verdict(plan, query_of(f"at most 1 of {last}"), "q", Effort(STANDARD))
    assert (once.status is PROVED) is (runs == 1)


def most_runs(plan: Plan, found: Space) -> dict[int, int] | None:
    """Step → its most runs on any way through a space; None where a way has no end."""
    order = {here: at for at, here in enumerate(innermost_first(found))}
    if any(order[after] >= order[here] for here, row in found.items() for _, after in row):
        return None
    most: dict[Marking, dict[int, int]] = {}
    for here in order:
        counts = dict.fromkeys(range(len(plan.steps)), 0)
        for t, after in found[here]:
            for step, runs in most[after].items():
                counts[step] = max(counts[step], runs + (t.role == "admit" and t.step == step))
        most[here] = counts
    return most[next(reversed(order))]


@shares(20)
@given(playbooks())
def test_no_step_runs_more_often_than_is_said(share: int, body: str) -> None:
    plan = random_plan(body)
    found = calm_space(plan, _after, MOST)
    runs = None if found is None else most_runs(plan, found)
    for at, extent in enumerate(() if runs is None else extents_of(plan, Effort(STANDARD))):
        assert extent.runs is None or extent.runs >= runs[at], (extent, runs[at])
