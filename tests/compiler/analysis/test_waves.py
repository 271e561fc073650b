"""`taken` joins folded into their forks: the verdicts of the net as it is, by a naive explorer, and wide forks."""

import pytest

from nets import Game, plan_of, steps
from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan
from noetlc.analysis.report import report_of
from noetlc.analysis.skeleton import success_skeleton, whole_skeleton
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.analysis.waves import folded_joins
from petri_nets import space_of

STUCK, PARTS = "nothing can get stuck", "every part can run"
JOIN = "spec: {policy: {join: taken}}"


def fork(*arcs: str) -> str:
    return "step: start, next: {spec: {mode: inclusive}, arcs: [" + ", ".join(arcs) + "]}"


def arc(target: str, guard: str = "") -> str:
    return f"{{step: {target}, when: '{{{{ {guard} }}}}'}}" if guard else f"{{step: {target}}}"


def step(name: str, *arcs: str, more: str = "") -> str:
    return f"step: {name}, {more}next: {{arcs: [{', '.join(arcs)}]}}"


A, B = step("a", arc("j")), step("b", arc("j"))
TWO = (fork(arc("a", "ctx.a"), arc("b", "ctx.b")), A, B)
CASES = {
    "two branches": (*TWO, f"step: j, {JOIN}"),
    "a branch without a guard": (fork(arc("a"), arc("b", "ctx.b")), A, B, f"step: j, {JOIN}"),
    "no branch with a guard": (fork(arc("a"), arc("b")), A, B, f"step: j, {JOIN}"),
    "an arc to the join itself": (fork(arc("a", "ctx.a"), arc("j", "ctx.b")), A, f"step: j, {JOIN}"),
    "an arc on failure only": (
        fork(arc("a", "ctx.a"), arc("b", "ctx.b"), arc("end", 'event.name == "step.failed"')),
        A,
        B,
        f"step: j, {JOIN}",
    ),
    "a branch that is taken on failure too": (
        fork(arc("a", 'event.status == "error"'), arc("b", "ctx.b")),
        A,
        B,
        f"step: j, {JOIN}",
    ),
    "a gate in a branch": (
        fork(arc("a", "ctx.a"), arc("b", "ctx.b")),
        step("a", arc("j"), more="spec: {policy: {admit: {rules: [{when: '{{ ctx.open }}', then: {allow: true}}]}}}, "),
        B,
        f"step: j, {JOIN}",
    ),
    "a cycle around both": (*TWO, step("j", arc("start", "ctx.more"), more=f"{JOIN}, ")),
    "a fork inside a branch": (
        fork(arc("a", "ctx.a"), arc("b", "ctx.b")),
        "step: a, next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: d}]}",
        step("c", arc("e")),
        step("d", arc("e")),
        step("e", arc("j"), more="spec: {policy: {join: all}}, "),
        B,
        f"step: j, {JOIN}",
    ),
    "two tokens from a branch": (
        fork(arc("a", "ctx.a"), arc("b", "ctx.b")),
        "step: a, next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: d}]}",
        step("c", arc("e")),
        step("d", arc("e")),
        step("e", arc("j")),
        B,
        f"step: j, {JOIN}",
    ),
    "a fork that routes twice": (
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: f}, {step: g}]}",
        step("g", arc("f")),
        "step: f, next: {spec: {mode: inclusive}, arcs: [" + arc("a", "ctx.a") + ", " + arc("b", "ctx.b") + "]}",
        A,
        B,
        f"step: j, {JOIN}",
    ),
    "a taken join inside a branch": (
        fork(arc("a", "ctx.a"), arc("b", "ctx.b")),
        "step: a, next: {spec: {mode: inclusive}, arcs: [" + arc("c", "ctx.c") + ", " + arc("d", "ctx.d") + "]}",
        step("c", arc("e")),
        step("d", arc("e")),
        step("e", arc("j"), more=f"{JOIN}, "),
        B,
        f"step: j, {JOIN}",
    ),
}
UNFOLDED = {"two tokens from a branch", "a fork that routes twice"}


def is_left(plan: Plan, marking: tuple[int, ...]) -> bool:
    """Whether something of control is left, by the class of its place."""
    return any(count for count, place in zip(marking, plan.net.places, strict=True) if place.kind is PlaceClass.CONTROL)


def successful(plan: Plan) -> Game:
    """The game without unhandled failures; which transitions that leaves out is tested elsewhere."""
    kept = {plan.net.transitions[number].id for number in success_skeleton(plan).origin}
    return Game(plan, allowed=lambda t: t.id in kept)


@pytest.mark.parametrize("name", CASES)
def test_each_wave_meets_but_where_a_branch_loses_a_token_or_brings_two(name: str) -> None:
    plan = plan_of(steps(*CASES[name]))
    verdicts = {each.question: each.status for each in soundness_of(plan)}
    stuck = name in ("a gate in a branch", "two tokens from a branch", "a taken join inside a branch")
    assert verdicts[STUCK] is (Status.REFUTED if stuck else Status.PROVED)
    assert verdicts[PARTS] is Status.PROVED
    assert bool(folded_joins(whole_skeleton(plan)).folded) == (name not in UNFOLDED)


@pytest.mark.parametrize("name", [name for name, lines in CASES.items() if len(lines) <= 4 and "cycle" not in name])
def test_the_folded_net_ends_as_the_net_does(name: str) -> None:
    plan = plan_of(steps(*CASES[name]))
    reached = successful(plan).reached()
    left = [is_left(plan, marking) for marking, after in reached.items() if not after]
    skeleton = folded_joins(success_skeleton(plan))
    space = space_of(skeleton.net, 100_000)
    assert space is not None
    assert {skeleton.is_final(marking) for marking in space.dead()} == {not each for each in left}
    starts = {t.id for after in reached.values() for t, _ in after if t.role in ("take", "start", "admit")}
    assert {skeleton.net.transitions[number] for number in space.fired()} >= starts


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_told_is_one_of_the_net_to_its_end(name: str) -> None:
    plan = plan_of(steps(*CASES[name]))
    game = successful(plan)
    for verdict in soundness_of(plan):
        marking = game.initial()
        for id in verdict.story.run if verdict.story is not None else ():
            marking = next(after for t, after in game.steps_from(marking) if t.id == id)
        if verdict.question == STUCK and verdict.story is not None:
            assert not list(game.steps_from(marking))
            assert is_left(plan, marking)


@pytest.mark.parametrize("count", [12, 60])
def test_a_fork_of_many_optional_branches_is_decided(count: int) -> None:
    arcs = [arc(f"b{number}", f"workload.k == {number}") for number in range(count)]
    branches = [step(f"b{number}", arc("j")) for number in range(count)]
    report = report_of(plan_of(steps(fork(*arcs), *branches, f"step: j, {JOIN}")))
    assert {each.status for each in report.verdicts} == {Status.PROVED}
    extents = {each.step: each for each in report.extents}
    assert extents["j"].runs == 1
    assert extents["j"].beside == ()
    assert len(extents["b0"].beside) == count - 1


def test_a_gate_in_one_of_many_branches_starves_the_join() -> None:
    gate = "spec: {policy: {admit: {rules: [{when: '{{ workload.open }}', then: {allow: true}}]}}}, "
    arcs = [arc(f"b{number}", f"workload.k == {number}") for number in range(20)]
    branches = [step(f"b{number}", arc("j"), more=gate if number == 7 else "") for number in range(20)]
    found = report_of(plan_of(steps(fork(*arcs), *branches, f"step: j, {JOIN}"))).verdicts
    [stuck] = [each for each in found if each.question == STUCK]
    assert stuck.status is Status.REFUTED
    assert stuck.script is not None
    assert "nothing more comes from `b7`" in stuck.detail
