"""Verdicts on small random playbooks, held against every run of every workload: joins behind guards, cycles with
several tokens, forks that start a step twice.

The explorer is the naive one of `petri_nets`; a workload has three values for each of two keys, and its guards are
asked by the evaluator. Whether a cycle has an exit is a question to the arcs alone (NET.md): there every guard may be
both.
"""

from collections.abc import Iterator
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from nets import plan_of, steps
from noetl_ir.evaluate import compile_guard
from noetl_ir.expr import Native
from noetl_ir.plan import Plan
from noetl_ir.scopes import PlayScope
from noetlc.analysis.effort import STANDARD, Budget
from noetlc.analysis.report import report_of
from noetlc.analysis.skeleton import Skeleton, success_skeleton
from noetlc.analysis.verdict import Status
from petri_nets import Space, space_of

STUCK, CYCLES, BOUNDED = "nothing can get stuck", "every cycle has an exit", "tokens are bounded"
GUARDS = ("", "", "workload.x", "not workload.x", "workload.y == 1", "workload.x and workload.y != 1", "ctx.never")
VALUES = (True, False, 1)
MOST = 600


@st.composite
def playbooks(draw: st.DrawFn, *, back: bool) -> str:
    """Three to six noops, each with up to three arcs to any others, forward only unless `back`."""
    count = draw(st.integers(3, 6))
    rows: list[list[tuple[int, str]]] = []
    for at in range(count):
        targets = st.integers(0 if back and at else at + 1, count)
        rows.append(draw(st.lists(st.tuples(targets, st.sampled_from(GUARDS)), max_size=3)))
    if not rows[0]:
        rows[0] = [(1, "")]
    sources = [{at for at, arcs in enumerate(rows) for target, _ in arcs if target == step} for step in range(count)]
    lines = []
    for at, arcs in enumerate(rows):
        entries = len(sources[at]) + (at == 0)
        join = draw(st.sampled_from(("any", "all", "all", "first", "2", "{tokens: 2}"))) if entries > 1 else "any"
        mode = draw(st.sampled_from(("exclusive", "inclusive", "inclusive")))
        texts = [arc(f"s{target}" if target < count else "end", guard) for target, guard in arcs]
        texts = [text.replace("s0", "start") for text in texts]
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{', '.join(texts)}]}}" if arcs else ""
        lines.append(f"step: {f's{at}' if at else 'start'}, spec: {{policy: {{join: {join}}}}}{routes}")
    return steps(*lines)


def arc(target: str, guard: str) -> str:
    return f"{{step: {target}, when: '{{{{ {guard} }}}}'}}" if guard else f"{{step: {target}}}"


def spaces(plan: Plan) -> Iterator[tuple[Skeleton, Space]]:
    """The runs of each workload without unhandled failures; those with too many markings are left out."""
    free = success_skeleton(plan)
    guards = {t.arc: plan.templates[t.guard] for t in plan.net.transitions if t.role == "take" and t.guard >= 0}
    asked = {row: compile_guard(each.expr) for row, each in guards.items() if isinstance(each, Native)}
    for x, y in product(VALUES, repeat=2):
        scope = PlayScope({"workload": {"x": x, "y": y}, "ctx": {}})
        kept = []
        for number in range(len(free.origin)):
            t = free.transition(number)
            guard = asked.get(t.arc) if t.role in ("take", "pass") else None
            if guard is None or guard(scope) == (t.role == "take"):
                kept.append(number)
        net = free.net._replace(
            transitions=tuple(free.net.transitions[number] for number in kept),
            inputs=tuple(free.net.inputs[number] for number in kept),
            outputs=tuple(free.net.outputs[number] for number in kept),
        )
        space = space_of(net, MOST)
        if space is not None:
            yield free, space


def without_end(plan: Plan) -> set[tuple[int, ...]]:
    """The markings from which no choice leads to an end; none of those that have too many."""
    space = space_of(success_skeleton(plan).net, MOST)
    if space is None:
        return set()
    before: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for here, row in space.edges.items():
        for _, after in row:
            before.setdefault(after, []).append(here)
    ending, waiting = set(space.dead()), list(space.dead())
    while waiting:
        for here in before.get(waiting.pop(), ()):
            if here not in ending:
                ending.add(here)
                waiting.append(here)
    return set(space.edges) - ending


def check(body: str, budget: Budget) -> None:
    plan = plan_of(body)
    found = list(spaces(plan))
    complete = len(found) == len(VALUES) ** 2
    stuck = any(not free.is_final(marking) for free, space in found for marking in space.dead())
    endless = without_end(plan)
    circles = any(not endless.isdisjoint(space.edges) for _, space in found)
    circles_of_some = any(not each <= space.dead() for _, space in found for each in space.terminal())
    statuses: dict[str, set[Status]] = {}
    for verdict in report_of(plan, (), budget).verdicts:
        assert verdict.bug is None, verdict.bug
        statuses.setdefault(verdict.question, set()).add(verdict.status)
    assert not (stuck and Status.PROVED in statuses[STUCK])
    assert not (circles and Status.PROVED in statuses[CYCLES])
    if complete:
        assert circles or circles_of_some or Status.REFUTED not in statuses[CYCLES]
        assert stuck or Status.REFUTED not in statuses[STUCK]
        assert Status.REFUTED not in statuses[BOUNDED]


@shares(40)
@given(playbooks(back=False))
def test_verdicts_on_playbooks_without_a_way_back(share: int, body: str) -> None:
    check(body, STANDARD)


@shares(40)
@given(playbooks(back=True))
def test_verdicts_on_playbooks_that_go_round_with_several_tokens(share: int, body: str) -> None:
    check(body, STANDARD)


@shares(30)
@given(playbooks(back=True), st.sampled_from((Budget(3, 5, 1), Budget(60, 20, 3), STANDARD._replace(work=3_000))))
def test_a_limit_makes_no_verdict_wrong(share: int, body: str, budget: Budget) -> None:
    check(body, budget)
