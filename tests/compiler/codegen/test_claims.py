"""The claims of NET.md about its encodings, shown by playing small nets to their ends."""

import pytest

from nets import Game, plan_of, steps, well

BRANCHES = ("a", "b", "c")


def fork(join: str, *, guarded: bool) -> str:
    """A fork of three branches that meet in `j`; each branch is as short as a step can be."""
    guard = ", when: '{{ ctx.x }}'" if guarded else ""
    arcs = ", ".join(f"{{step: {name}{guard}}}" for name in BRANCHES)
    return steps(
        f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}",
        *(f"step: {name}, next: {{arcs: [{{step: j}}]}}" for name in BRANCHES),
        f"step: j, spec: {{policy: {{join: {join}}}}}",
    )


@pytest.mark.parametrize(("join", "runs"), [("any", 3), ("all", 1), ("first", 1), ("2", 1), ("3", 1)])
def test_a_join_starts_once_a_wave_under_every_interleaving(join: str, runs: int) -> None:
    game = Game(plan_of(fork(join, guarded=False)), allowed=well)
    assert (game.least("begin j"), game.most("begin j")) == (runs, runs)
    assert game.dead() == [{}]


def test_a_taken_join_starts_once_unless_no_branch_was_taken() -> None:
    game = Game(plan_of(fork("taken", guarded=True)), allowed=well)
    assert (game.least("begin j"), game.most("begin j")) == (0, 1)
    assert game.dead() == [{}]
    for marking, after in game.reached().items():
        for transition, _ in after:
            named = game.named(marking)
            if transition.id == "meet none j":
                assert "warm j" not in named


@pytest.mark.parametrize(("join", "guarded"), [("first", False), ("2", False), ("3", False), ("taken", True)])
def test_a_join_is_as_it_was_after_a_wave(join: str, guarded: bool) -> None:
    game = Game(plan_of(fork(join, guarded=guarded)), allowed=well)
    memory = ("free", "held", "idle", "got", "met", "cold", "warm")
    kept = [index for index, place in enumerate(game.plan.net.places) if place.role in memory]
    start = game.initial()
    (end,) = [marking for marking, after in game.reached().items() if not after]
    assert [end[index] for index in kept] == [start[index] for index in kept]


@pytest.mark.parametrize("items", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_loop_has_no_marking_without_a_way_to_finish(items: int, slots: int) -> None:
    body = steps("step: start, loop: {in: '{{ [1] }}', iterator: x}, tool: {kind: noop}")
    game = Game(plan_of(body), items, slots)
    reached = game.reached()
    assert [game.named(marking) for marking, after in reached.items() if not after] == [{}]
    finishing = {marking for marking, after in reached.items() if not after}
    before: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for marking, after in reached.items():
        for _, following in after:
            before.setdefault(following, set()).add(marking)
    waiting = list(finishing)
    while waiting:
        for marking in before.get(waiting.pop(), ()):
            if marking not in finishing:
                finishing.add(marking)
                waiting.append(marking)
    assert finishing == set(reached)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_no_more_iterations_run_than_there_are_slots(slots: int) -> None:
    body = steps("step: start, loop: {in: '{{ [1] }}', iterator: x}, tool: [{name: t, kind: noop}]")
    game = Game(plan_of(body), 5, slots)
    run = next(index for index, place in enumerate(game.plan.net.places) if place.id == "run start t")
    assert max(marking[run] for marking in game.reached()) == slots


def test_a_loop_in_a_loop_ends() -> None:
    loop = "loop: {in: '{{ [1] }}', iterator: x, loop: {in: '{{ [1] }}', iterator: y}}"
    game = Game(plan_of(steps(f"step: start, {loop}, tool: {{kind: noop}}")), 2, 2, well)
    assert game.dead() == [{}]


def test_inclusive_routing_over_four_arcs_has_sixteen_outcomes_and_one_of_them_is_none() -> None:
    arcs = ", ".join(f"{{step: s{number}, when: '{{{{ ctx.x }}}}'}}" for number in range(4))
    body = steps(
        f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}",
        *(f"step: s{number}" for number in range(4)),
    )
    chain = ("take", "pass", "none", "some")
    game = Game(plan_of(body), allowed=lambda t: t.step == 0 and t.role in chain)
    reached = game.reached(game.marking(done_start=1))
    ends = [marking for marking, after in reached.items() if not after]
    assert len(ends) == 16
    nothing = [t.id for after in reached.values() for t, _ in after if t.role == "none"]
    assert nothing == ["none start ok"]


def test_exclusive_routing_takes_exactly_one_arc_or_none() -> None:
    arcs = "{step: a, when: '{{ ctx.x }}'}, {step: b, when: '{{ ctx.y }}'}"
    game = Game(
        plan_of(steps(f"step: start, next: {{arcs: [{arcs}]}}", "step: a", "step: b")),
        allowed=lambda t: t.step == 0 and t.role in ("take", "pass", "none"),
    )
    reached = game.reached(game.marking(done_start=1))
    ends = [game.named(marking) for marking, after in reached.items() if not after]
    assert sorted(map(sorted, ends)) == [[], ["in a start"], ["in b start"]]


def test_a_failed_fork_leaves_no_wave_of_its_taken_join_behind() -> None:
    arcs = "{step: a, when: '{{ ctx.x }}'}, {step: b}, {step: c, when: \"{{ event.name == 'step.failed' }}\"}"
    body = steps(
        f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}",
        "step: a, next: {arcs: [{step: j}]}",
        "step: b, next: {arcs: [{step: j}]}",
        "step: c",
        "step: j, spec: {policy: {join: taken}}",
    )
    game = Game(plan_of(body), allowed=lambda t: (t.role == "fail" and t.step == 0) or well(t))
    assert game.dead() == [{}]
