"""Loops that end before their items are over or grow while they run (EXTENSIONS §5), iterations with a time limit, and
runs that are interrupted (§3): verdicts held against a naive explorer of the net.

Loops have no, one and two items, whatever is enough. Runs end where a failure is taken by no arc; the explorer works
out by itself from where there is no other way.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from mixed_explorer import Explored
from nets import (
    BOUNDED,
    CYCLES,
    PARTS,
    STUCK,
    fired_in,
    is_endless,
    plan_of,
    random_plan,
    steps,
)
from noetlc.analysis.bounds import bounds_of
from noetlc.analysis.effort import Budget, Effort
from noetlc.analysis.extents import extents_of
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 3_000
FAILED = "when: \"{{ event.name == 'step.failed' }}\""


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Two to four steps, most with a loop that ends early or bounds its iterations, some that are interrupted, and arcs
    to any others.
    """
    count = draw(st.integers(2, 3))
    # Most without a way back: with one, spaces are soon too large to be seen whole.
    least = [1] * count if draw(st.integers(0, 3)) == 3 else range(1, count + 1)
    rows = [draw(st.lists(st.integers(low, count), min_size=not at, max_size=2, unique=True))
            for at, low in enumerate(least)]  # fmt: skip
    caught = [draw(st.sampled_from((0, 0, *range(1, count + 1)))) for _ in range(count)]
    lines = []
    for at, row in enumerate(rows):
        sources = {other for other in range(count) if at in (*rows[other], caught[other])} | ({0} if not at else set())
        join = draw(st.sampled_from(("any", "all", "first"))) if len(sources) > 1 else "any"
        arcs = [f"{{step: {_name(target, count)}}}" for target in row]
        if caught[at]:
            arcs.append(f"{{step: {_name(caught[at], count)}, {FAILED}}}")
        mode = draw(st.sampled_from(("exclusive", "inclusive")))
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{', '.join(arcs)}]}}" if arcs else ""
        loop = draw(st.sampled_from((_loop, _loop, lambda draw: "")))(draw)
        stops = draw(st.sampled_from(("", "", ", interrupt: {events: [x]}", ", interrupt: {timers: {t: 5}}")))
        lines.append(f"step: {_name(at, count)}, spec: {{policy: {{join: {join}{stops}}}}}{loop}{routes}")
    return steps(*lines)


def _loop(draw: st.DrawFn, inner: bool = False) -> str:
    rest = draw(st.sampled_from(("cancel", "finish") if inner else ("cancel", "finish", "swallow")))
    spec = draw(
        st.sampled_from(
            (
                f"policy: {{enough: 1, rest: {rest}}}",
                f'policy: {{enough: "{{{{ event.done > 0 }}}}", rest: {rest}}}',
                "policy: {lifecycle: {timeout_s: 5}}",
                f"policy: {{enough: 2, rest: {rest}, lifecycle: {{timeout_s: 5}}}}",
                "mode: parallel, more: {events: [m]}, close: {events: [c]}",
                f"more: {{events: [m]}}, complete: {{events: [s], timers: {{t: 5}}}}, policy: {{rest: {rest}}}",
                f"complete: {{events: [s]}}, policy: {{rest: {rest}}}",
                f"more: {{events: [m]}}, close: {{timers: {{t: 5}}}}, policy: {{enough: 1, rest: {rest}}}",
            )
        )
    )
    deeper = _loop(draw, inner=True) if not inner and draw(st.integers(0, 5)) == 5 else ""
    return f', loop: {{in: "{{{{ [1, 2] }}}}", iterator: {"j" if inner else "i"}, spec: {{{spec}}}{deeper}}}'


def _name(number: int, count: int) -> str:
    return "end" if number == count else f"s{number}" if number else "start"


@shares(25)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    explored = [Explored(plan, plan.entry, items) for items in (1, 2)]
    spaces = [one.space(MOST) for one in explored]
    known = [(one, space) for one, space in zip(explored, spaces, strict=True) if space is not None]
    whole = len(known) == len(spaces)
    stuck = any(not row and one.is_stuck(here) for one, space in known for here, row in space.items())
    fired = fired_in(space for _, space in known)
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.question == STUCK:
            assert verdict.status is not Status.PROVED or not stuck, body
            assert verdict.status is not Status.REFUTED or stuck or not whole, body
        elif verdict.question == CYCLES and verdict.status is Status.PROVED:
            assert not any(is_endless(space) for _, space in known), body
        elif verdict.question == CYCLES and verdict.status is Status.REFUTED and whole:
            assert any(is_endless(space) for _, space in known), body
        elif verdict.question == PARTS and verdict.status is Status.PROVED and whole:
            assert all({f"begin {step.name}", f"expand {step.name} 0"} & fired for step in plan.steps), body
            assert all(t.id in fired for t in plan.net.transitions if t.role in ("add", "shut")), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not Status.REFUTED or not whole, body


def test_a_loop_that_leaves_iterations_behind_in_a_cycle_has_no_bound() -> None:
    loop = 'loop: {in: "{{ [1, 2] }}", iterator: i, spec: {policy: {enough: 1, rest: swallow}}}'
    again = "next: {arcs: [{step: start, when: '{{ workload.x }}'}]}"
    plan = plan_of(steps(f"step: start, {loop}, {again}").replace("workflow:", "workload: {x: 1}\nworkflow:", 1))
    statuses = {verdict.question: verdict.status for verdict in soundness_of(plan)}
    assert statuses[BOUNDED] is not Status.PROVED
    assert bounds_of(plan, extents_of(plan, Effort(Budget(10_000)))).tokens.why


@pytest.mark.parametrize(("rest", "most"), [("swallow", 3), ("finish", 2)])
def test_what_is_left_behind_runs_beside_what_follows(rest: str, most: int) -> None:
    loop = f"loop: {{in: [1, 2], iterator: i, spec: {{mode: parallel, policy: {{enough: 1, rest: {rest}}}}}}}"
    plan = plan_of(steps(f"step: start, {loop}, next: {{arcs: [{{step: z}}]}}", "step: z"))
    assert bounds_of(plan, extents_of(plan, Effort(Budget(10_000)))).tokens.value({}) == most


def test_a_join_behind_a_loop_that_may_have_too_few_is_fed_by_the_failure_or_starves() -> None:
    """Without the arc for the failure the execution ends there; with it, the join waits for what never comes."""
    fork = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
    loop = 'loop: {in: "{{ [1, 2] }}", iterator: i, spec: {policy: {enough: 2}}}'
    join = "step: j, spec: {policy: {join: all}}"
    lone = (fork, f"step: a, {loop}, next: {{arcs: [{{step: j}}]}}", "step: b, next: {arcs: [{step: j}]}", join)
    caught = (*lone[:1], f"step: a, {loop}, next: {{arcs: [{{step: j}}, {{step: c, {FAILED}}}]}}", *lone[2:], "step: c")
    for rows, status in ((lone, Status.PROVED), (caught, Status.REFUTED)):
        statuses = {verdict.question: verdict.status for verdict in soundness_of(plan_of(steps(*rows)))}
        assert statuses[STUCK] is status
