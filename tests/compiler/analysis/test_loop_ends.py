"""Loops that end before their items are over (EXTENSIONS §5), and iterations with a time limit: verdicts held against a
naive explorer of the net.

The explorer plays the token game on the plan itself, with loops of no, one and two items, whatever is enough. Runs end
where a failure is taken by no arc; it works out by itself from where there is no other way. It shares no code with the
analysis.
"""

import os

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nets import Game, Marking, compiled, plan_of, steps
from noetl_ir.net import PlaceClass, Transition, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.bounds import bounds_of
from noetlc.analysis.effort import Budget, Effort
from noetlc.analysis.extents import extents_of
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Severity

STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck", "every cycle has an exit", "every part can run", "tokens are bounded",
)  # fmt: skip
MOST = 3_000
CASES = int(os.environ.get("LOOP_END_CASES", "25"))
FAILED = "when: \"{{ event.name == 'step.failed' }}\""

Space = dict[Marking, list[tuple[Transition, Marking]]]


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Two to four steps, most with a loop that ends early or bounds its iterations, and arcs to any others."""
    count = draw(st.integers(2, 4))
    rows = [draw(st.lists(st.integers(1, count), min_size=not at, max_size=2, unique=True)) for at in range(count)]
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
        lines.append(f"step: {_name(at, count)}, spec: {{policy: {{join: {join}}}}}{loop}{routes}")
    return steps(*lines)


def _loop(draw: st.DrawFn, inner: bool = False) -> str:
    rests = ("cancel", "finish") if inner else ("cancel", "finish", "swallow")
    policy = draw(
        st.sampled_from(
            (
                f"enough: 1, rest: {draw(st.sampled_from(rests))}",
                f'enough: "{{{{ event.done > 0 }}}}", rest: {draw(st.sampled_from(rests))}',
                "lifecycle: {timeout_s: 5}",
                f"enough: 2, rest: {draw(st.sampled_from(rests))}, lifecycle: {{timeout_s: 5}}",
            )
        )
    )
    deeper = _loop(draw, inner=True) if not inner and draw(st.integers(0, 5)) == 5 else ""
    return (
        f', loop: {{in: "{{{{ [1, 2] }}}}", iterator: {"j" if inner else "i"}, spec: {{policy: {{{policy}}}}}{deeper}}}'
    )


def _name(number: int, count: int) -> str:
    return "end" if number == count else f"s{number}" if number else "start"


class Explored:
    """Every marking of runs without an unhandled failure, for loops of a number of items."""

    def __init__(self, plan: Plan, items: int) -> None:
        self.plan = plan
        self.left_out = _unhandled(plan)
        self.game = Game(plan, items, items, lambda t: t.id not in self.left_out and not _never(plan, t))

    def space(self) -> Space | None:
        """The markings; None when there are too many."""
        waiting, found = [self.game.initial()], dict[Marking, list[tuple[Transition, Marking]]]()
        while waiting:
            here = waiting.pop()
            if here in found:
                continue
            if len(found) > MOST:
                return None
            found[here] = list(self.game.steps_from(here))
            waiting += (after for _, after in found[here])
        return found

    def is_stuck(self, marking: Marking) -> bool:
        """Whether a marking in which nothing happens is neither an end nor one in which a failure ends the run."""
        failing = Game(self.plan, self.game.items, self.game.slots, lambda t: t.id in self.left_out)
        if any(t.trigger is Trigger.NOW and not t.fault for t, _ in failing.steps_from(marking)):
            return False
        tokens = {place.id for place, count in zip(self.plan.net.places, marking, strict=True) if count}
        left = any(place.kind is PlaceClass.CONTROL and place.id in tokens for place in self.plan.net.places)
        half = any(f"idle {step.name}" in tokens and f"held {step.name} {source}" in tokens
                   for step in self.plan.steps for source in step.join.sources)  # fmt: skip
        return left or half


def _never(plan: Plan, t: Transition) -> bool:
    """Whether the guard of an arc, which asks for a failure, decides against the transition."""
    guarded = t.arc >= 0 and any(
        other.role == "take" and other.arc == t.arc and other.guard >= 0 for other in plan.net.transitions
    )
    return guarded and (t.role, t.id.rsplit(" ", 2)[1]) in (("take", "ok"), ("pass", "ko"))


def _unhandled(plan: Plan) -> set[str]:
    """The ids of what is, or can only lead to, a failure that no arc takes."""
    rows = plan.net.transitions
    possible = [t for t in rows if not _never(plan, t)]
    bad = {t.id for t in rows if t.role == "err" or (t.role == "none" and t.id.endswith(" ko"))}
    while True:
        open_ = {arc.place for t in possible if t.id not in bad and t.role != "lost" for arc in t.inputs}
        takers = {arc.place for t in rows for arc in t.inputs}
        more = {t.id for t in rows if any(arc.place in takers - open_ for arc in (*t.outputs, *t.inputs))} - bad
        # What takes from such a place goes with it: there is nothing else that could.
        if not more:
            return bad
        bad |= more


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


@settings(max_examples=CASES, deadline=None, derandomize=True, database=None)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(body: str) -> None:
    made = compiled(body)
    assume(not made.count_of(Severity.ERROR))
    plan = made.plans[0]
    explored = [Explored(plan, items) for items in (1, 2)]
    spaces = [one.space() for one in explored]
    known = [(one, space) for one, space in zip(explored, spaces, strict=True) if space is not None]
    whole = len(known) == len(spaces)
    stuck = any(not row and one.is_stuck(here) for one, space in known for here, row in space.items())
    fired = {t.id for _, space in known for row in space.values() for t, _ in row}
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.question == STUCK:
            assert verdict.status is not Status.PROVED or not stuck, body
            assert verdict.status is not Status.REFUTED or stuck or not whole, body
        elif verdict.question == CYCLES and verdict.status is Status.PROVED:
            assert not any(endless(space) for _, space in known), body
        elif verdict.question == CYCLES and verdict.status is Status.REFUTED and whole:
            assert any(endless(space) for _, space in known), body
        elif verdict.question == PARTS and verdict.status is Status.PROVED and whole:
            assert all({f"begin {step.name}", f"expand {step.name} 0"} & fired for step in plan.steps), body
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
