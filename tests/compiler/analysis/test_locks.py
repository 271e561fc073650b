"""Steps that hold locks, also through others (EXTENSIONS §3, `lock`): verdicts held against a naive explorer.

The explorer plays the token game on the plan itself and knows one thing more: a step is admitted only while no token
lies where one of its locks is held, which it works out of the playbook's words. It shares no code with the analysis.
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
    name_of,
    plan_of,
    random_plan,
    random_steps,
    sections_of,
    sources_of,
    steps,
)
from noetl_ir.net import Transition
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.goals import Never, coverable
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict
from noetlc.analysis.skeleton import success_skeleton
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 6_000
RUNNING = ("ready", "at", "run", "due", "parked", "out", "bad")
ROUTED = ("done", "failed", "c", "n", "s")
MEMORY = ("free", "idle", "met", "got", "cold", "warm")


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four or five noops with arcs to any others; most hold some of two locks."""
    count = draw(st.integers(4, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=2, unique=True))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    policies, chooses = [], []
    sections = {name: draw(_sections(rows)) for name in draw(st.sampled_from(((), ("a",), ("a", "b"))))}
    for at in range(count):
        join = draw(st.sampled_from(("any", "first", "all", "2")[: 4 if sources_of(rows, at) > 1 else 2]))
        locks = list(draw(st.sampled_from(((), ("a",), ("b",), ("a", "b"))))) if at else []
        for name, (takers, inside) in sections.items():
            if at in takers and inside:
                through = ", ".join(name_of(each) for each in sorted(inside))
                locks = [each for each in locks if each != name] + [f"{{name: {name}, through: [{through}]}}"]
        policies.append(f"join: {join}" + (f", lock: [{', '.join(locks)}]" if locks else ""))
        chooses.append(bool(at) and draw(st.booleans()))
    return random_steps(rows, policies, chooses)


@st.composite
def _sections(draw: st.DrawFn, rows: list[list[int]]) -> tuple[set[int], set[int]]:
    """Steps that take the lock of a section, and some that it is held through: only these lead to them."""
    takers = set(draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=2)))
    inside = set(range(1, len(rows))) - set(draw(st.lists(st.integers(1, len(rows) - 1), max_size=2)))
    return takers, sections_of(rows, takers, inside)


def _after(game: Game, here: Marking) -> Iterator[tuple[Transition, Marking]]:
    plan = game.plan
    inside: dict[str, set[int]] = {}
    wanted: dict[int, set[str]] = {step: set(names) for step, names in plan.locks}
    for step, name, through in plan.sections:
        inside.setdefault(name, set()).update(through)
        wanted.setdefault(step, set()).add(name)
    lying = [place for place, tokens in zip(plan.net.places, here, strict=True) if tokens]
    idle = {place.step for place in lying if place.role == "idle"}
    used: set[str] = set()
    for place in lying:
        if place.role in RUNNING:
            used |= wanted.get(place.step, set())
        if place.role in ROUTED:
            used |= {name for step, name, _ in plan.sections if step == place.step}
        # What a counting join remembers of a wave that has started is no token any more.
        counting = plan.steps[place.step].join.mode == "count"
        if place.role not in MEMORY and (place.role != "held" or not counting or place.step in idle):
            used |= {name for name, steps in inside.items() if place.step in steps}
    for t, after in game.steps_from(here):
        taken = {name for name in wanted.get(t.step, ()) if t.step not in inside.get(name, ())}
        if t.role != "admit" or not used & taken:
            yield t, after


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


def test_nobody_gets_a_lock_while_its_holder_still_cancels() -> None:
    """`a` takes its lock, empties `c` and starts at once; the net in which it does so one token at a time knows it."""
    plan = plan_of(steps(FORK, "step: a, spec: {policy: {lock: x, cancels: [c]}}", "step: b, spec: {policy: {lock: x}}",
                         "step: c"))  # fmt: skip
    verdict = query_verdict(plan, query_of("never(a and b)"), "q", Effort(STANDARD))
    assert verdict.status is Status.PROVED and verdict.bug is None


def test_a_join_that_needs_one_token_holds_a_section_until_it_has_met() -> None:
    """Good runs never leave `a`, which withdraws what is left of its own join and goes to itself."""
    plan = plan_of(
        steps(
            "step: start, spec: {policy: {lock: {name: x, through: [a]}}},"
            " next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            "step: a, spec: {policy: {join: first, cancels: [a]}}, next: {arcs: [{step: a}]}",
            "step: b, spec: {policy: {lock: x}}",
        )
    )
    net = success_skeleton(plan).net
    begins = net.inputs[net.transitions.index("begin b")]
    assert isinstance(coverable(net, begins, 100_000), Never)


def test_a_section_may_lead_through_a_join_that_nothing_leads_to() -> None:
    plan = plan_of(
        steps(
            "step: start, spec: {policy: {lock: {name: x, through: [a, b]}}}, next: {arcs: [{step: a}]}",
            "step: a",
            "step: b, spec: {policy: {join: first}}",
        )
    )
    statuses = {each.question: each.status for each in soundness_of(plan)}
    assert statuses.pop(PARTS) is Status.REFUTED and {*statuses.values()} == {Status.PROVED}


def test_what_is_not_known_of_settled_joins_leaves_no_lock_taken() -> None:
    """`one` cancels a join that counts, which leads to the settled `b`: what is taken for granted then allows more."""
    plan = plan_of(
        steps(
            "step: start, spec: {policy: {lock: {name: x, through: [b, c]}}},"
            " next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: b}, {step: one}]}",
            "step: one, spec: {policy: {join: 2, lock: {name: x, through: [b, c]}, cancels: [c, b]}},"
            " next: {arcs: [{step: b, when: '{{ workload.x }}'}, {step: start}]}",
            "step: b, spec: {policy: {join: settled}}, next: {arcs: [{step: one}]}",
            "step: c, spec: {policy: {join: settled}}, next: {arcs: [{step: b}]}",
        )
    )
    assert success_skeleton(plan).loose
    assert not [each for each in soundness_of(plan) if each.status is Status.REFUTED]
