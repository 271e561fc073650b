"""Settled joins (EXTENSIONS §3, `join: settled`): verdicts held against a naive explorer of the net.

The explorer plays the token game on the plan itself. It knows three things more: a settled join begins while no token
is at a step from which arcs lead to it (those behind it count once they have left it), it finds nothing of a source
only where nothing is, and where nothing moves but gates that wait for ctx, any join with a token begins. It shares no
code with the analysis.
"""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fair_runs import has_run_without
from harness.samples import shares
from mixed_explorer import leading_to
from nets import (
    BOUNDED,
    CYCLES,
    PARTS,
    STUCK,
    Game,
    Marking,
    calm_space,
    emptied,
    fired_in,
    is_calm,
    is_end,
    is_endless,
    is_locked,
    name_of,
    plan_of,
    random_plan,
    random_steps,
    sources_of,
    steps,
)
from noetl_ir.net import Transition, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.extents import extents_of
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict
from noetlc.analysis.skeleton import success_skeleton
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 6_000
CHAIN = ("c", "n", "s")
AT_WORK = ("gate", "ready", "at", "run", "due", "parked", "out", "bad")
GATE = ', admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'

WRITES = (
    "tool: {kind: noop, spec: {policy: {rules: "
    "[{else: {then: {do: continue, set_ctx: {open: '{{ workload.x0 }}'}}}}]}}}"
)


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four or five noops with arcs to any others; most joins are settled, some steps cancel, lock, or wait at their
    gate.
    """
    count = draw(st.integers(4, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=3))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    joins = ("settled", "settled", "settled", "all", "any", "first", "2", "{tokens: 2}")
    more = draw(st.sampled_from(("", "", "cancels", "lock", "gate")))
    policies, chooses = [], []
    for at in range(count):
        join = draw(st.sampled_from(joins)) if sources_of(rows, at) > 1 else draw(st.sampled_from(("any", "settled")))
        policy = f"join: {join}"
        if at and more == "cancels" and draw(st.booleans()):
            targets = draw(st.lists(st.integers(1, count - 1), min_size=1, max_size=2, unique=True))
            policy += f", cancels: [{', '.join(map(name_of, targets))}]"
        elif at and more == "lock" and draw(st.booleans()):
            policy += ", lock: a"
        elif at and more == "gate" and draw(st.booleans()):
            policy += GATE
        policies.append(policy)
        chooses.append(bool(at) and draw(st.booleans()))
    # A key that nobody writes is known to be undefined, and a gate that asks it never opens.
    return random_steps(rows, policies, chooses).replace("step: start, ", f"step: start, {WRITES}, ", 1)


def _after(game: Game, here: Marking, *, at_once: bool = True) -> Iterator[tuple[Transition, Marking]]:
    """The firings that a marking allows, each with the marking after it. A router or join is done in one moment
    (`at_once`): nothing else fires while one is in the middle of it.
    """
    plan = game.plan
    asked = at_once and {n for n, tokens in enumerate(here) if tokens and plan.net.places[n].role in CHAIN}
    moves, forced = [], []
    for t, after in game.steps_from(here):
        if asked and plan.cancels and not any(arc.place in asked for arc in t.inputs):
            continue
        if t.role == "force":
            forced.append((t, after))
        elif not (is_locked(plan, here, t) or _is_kept(plan, here, t)):
            moves.append((t, emptied(plan, t, after)))
    # A join that asks its sources is left alone meanwhile, as it does so at once.
    asking = {
        place.step for tokens, place in zip(here, plan.net.places, strict=True) if tokens and place.role == "pick"
    }
    if asking and at_once:
        moves = [(t, after) for t, after in moves if t.step in asking and t.role in ("gather", "lack", "meet")]
    yield from moves
    if all(t.trigger is Trigger.CTX for t, _ in moves):
        yield from forced


def _is_kept(plan: Plan, here: Marking, t: Transition) -> bool:
    """Whether a transition waits for places to be empty."""
    tokens = {place.id: count for place, count in zip(plan.net.places, here, strict=True) if count}
    if t.role == "lack":
        return "held" + t.id.removeprefix("lack") in tokens
    if t.role != "settle":
        return False
    leading = leading_to(plan, t.step)
    for number, place in enumerate(plan.net.places):
        if not here[number]:
            continue
        if place.step == t.step:
            far = place.role in (*AT_WORK, "held", "got", "idle", "pick") or (
                place.role in ("done", "failed", *CHAIN) and t.step not in leading
            )
        elif place.step not in leading:
            far = True
        else:
            step = plan.steps[place.step]
            counts = step.join.mode == "count" and place.role in ("held", "got")
            far = place.role in ("free", "idle", "met", "cold") or (counts and f"idle {step.name}" not in tokens)
        if not far:
            return True
    return False


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
        elif verdict.question == PARTS:
            assert not all(t.id in fired for t in plan.net.transitions if t.role in ("begin", "take")), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not Status.REFUTED, body
    places = {place.id: number for number, place in enumerate(plan.net.places)}
    for one, other in (("s1", "s2"), ("s2", "s3")):
        both = any(here[places[f"ready {one}"]] and here[places[f"ready {other}"]] for here in found)
        never = query_verdict(plan, query_of(f"never({one} and {other})"), "q", Effort(STANDARD))
        assert never.bug is None and not (never.status is Status.PROVED and both), body


@shares(40)
@given(playbooks())
def test_what_every_run_reaches_is_what_the_explorer_says(share: int, body: str) -> None:
    plan = random_plan(body)
    game = Game(plan, allowed=is_calm)
    for name in ("s1", "s3"):
        found = has_run_without(plan, name, game.initial(), lambda here: _after(game, here), MOST // 3,
                                lambda here: _after(game, here, at_once=False))  # fmt: skip
        verdict = query_verdict(plan, query_of(f"every run reaches {name}"), "q", Effort(STANDARD))
        assert verdict.bug is None, verdict.bug
        if found is not None and verdict.status is not Status.UNKNOWN:
            assert (verdict.status is Status.REFUTED) is found, body


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}"
CHOOSES = "next: {arcs: [{step: d, when: '{{ workload.x }}'}, {step: j}]}"
ENDS = ("step: c, next: {arcs: [{step: d}]}", "step: d, spec: {policy: {join: all}}, next: {arcs: [{step: j}]}")
SETTLED = "spec: {policy: {join: settled}}"
JOIN = f"step: j, {SETTLED}"


def test_a_join_of_branches_that_are_not_structured_runs_once() -> None:
    """`b` goes to `d`, which `c` leads to as well, or to the join: with `all` one of both would starve."""
    plan = plan_of(steps(FORK, "step: a, next: {arcs: [{step: j}]}", f"step: b, {CHOOSES}", *ENDS[:1],
                         ENDS[1].replace("all", "settled"), JOIN))  # fmt: skip
    assert {verdict.status for verdict in soundness_of(plan)} == {Status.PROVED}
    assert {extent.step: extent.runs for extent in extents_of(plan, Effort(STANDARD))} == dict.fromkeys(
        ("start", "a", "b", "c", "d", "j"), 1
    )


def test_a_join_that_waits_behind_one_that_starves_is_forced() -> None:
    plan = plan_of(steps(FORK, "step: a, next: {arcs: [{step: j}]}", f"step: b, {CHOOSES}", *ENDS, JOIN))
    skeleton = success_skeleton(plan)
    assert not skeleton.loose and len(skeleton.forced) == 1
    verdicts = {verdict.question: verdict for verdict in soundness_of(plan)}
    assert verdicts[CYCLES].status is verdicts[PARTS].status is Status.PROVED
    assert verdicts[STUCK].status is not Status.PROVED and "`d` has a token from `c`" in verdicts[STUCK].detail


def test_of_two_joins_that_wait_for_each_other_either_may_start() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            f"step: a, {SETTLED}, next: {{arcs: [{{step: b, when: '{{{{ workload.x }}}}'}}, {{step: end}}]}}",
            f"step: b, {SETTLED}, next: {{arcs: [{{step: a, when: '{{{{ workload.y }}}}'}}, {{step: end}}]}}",
        )
    )
    skeleton = success_skeleton(plan)
    assert {skeleton.transition(row).id for row in skeleton.forced} == {"force a", "force b"}
    assert {verdict.status for verdict in soundness_of(plan)} == {Status.PROVED}


@pytest.mark.parametrize("gates", [("a",), ("b",), ("a", "b")])
def test_a_gate_that_stays_shut_is_no_exit_of_a_cycle_with_a_settled_join(gates: tuple[str, ...]) -> None:
    """Where it opens, and it does, the cycle goes on; with another join that was told."""
    policies = {"a": "join: settled", "b": "join: any"}
    policies = {name: policy + (GATE if name in gates else "") for name, policy in policies.items()}
    rows = [f"step: {one}, spec: {{policy: {{{policies[one]}}}}}, next: {{arcs: [{{step: {other}}}]}}"
            for one, other in (("a", "b"), ("b", "a"))]  # fmt: skip
    body = "workload: {x0: 1}\n" + steps(f"step: start, {WRITES}, next: {{arcs: [{{step: a}}]}}", *rows)
    found = {verdict.question: verdict for verdict in soundness_of(plan_of(body))}[CYCLES]
    assert found.bug is None and found.status in (Status.UNKNOWN, Status.REFUTED)
