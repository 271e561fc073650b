"""Runs that came and went, and runs in flight, against a naive game that plays every marking one by one."""

from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from nets import Game, Marking, plan_of, steps
from noetl_ir.net import PlaceClass, Transition, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.differences import differences_of
from noetlc.analysis.skeleton import unhandled
from noetlc.analysis.traces import compared_runs
from noetlc.analysis.transfer import transfer_of

NAMES = "abcd"


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """Workflows without cycles of up to five steps: forks, choices with a default, and joins of every kind."""
    order = ["start", *NAMES[: draw(st.integers(1, 4))]]
    lines = []
    for number, name in enumerate(order):
        later = order[number + 1 :]
        targets = draw(st.lists(st.sampled_from(later), unique=True, max_size=2)) if later else []
        mode = draw(st.sampled_from(["inclusive", "exclusive"]))
        guard = ', when: "{{ workload.x }}"' if mode == "exclusive" and len(targets) > 1 else ""
        arcs = ", ".join(f"{{step: {t}{guard if t is targets[0] else ''}}}" for t in targets)
        router = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if targets else ""
        sources = sum(f"{{step: {name}" in line for line in lines)
        join = draw(st.sampled_from(["any", "all", "first"])) if sources > 1 else "any"
        lines.append(f"step: {name}, spec: {{policy: {{join: {join}}}}}, tool: {{kind: noop}}{router}")
    return "workload: {x: 1}\n" + steps(*lines)


def game_of(plan: Plan) -> Game:
    """The successful runs."""
    left_out = {plan.net.transitions[number].id for number in unhandled(plan)}
    return Game(plan, allowed=lambda transition: transition.id not in left_out)


def is_final(plan: Plan, marking: Marking) -> bool:
    """NET.md: no token of control is left, and no counting join has half a wave."""
    marked = [place for place, tokens in zip(plan.net.places, marking, strict=True) if tokens]
    half = {place.step for place in marked if place.role == "idle"} & {p.step for p in marked if p.role == "held"}
    doomed = {"failed", "bad"}
    return not half and all(place.kind is not PlaceClass.CONTROL or place.role in doomed for place in marked)


def traces(plan: Plan) -> set[tuple[str, ...]]:
    """Every complete successful run, as the steps that start in it."""
    found: dict[Marking, set[tuple[str, ...]]] = {}
    game = game_of(plan)
    reached = game.reached()
    waiting = list(reached)
    while waiting:  # the nets have no cycles but that of a lost task
        here = waiting.pop()
        if here in found:
            continue
        after = [(t, marking) for t, marking in reached[here] if t.role not in ("lost", "retry")]
        missing = [marking for _, marking in after if marking not in found]
        if missing:
            waiting += [here, *missing]
            continue
        ends: set[tuple[str, ...]] = {()} if not after and is_final(plan, here) else set()
        for transition, marking in after:
            begun = (plan.steps[transition.step].name,) if transition.role == "begin" else ()
            ends |= {(*begun, *rest) for rest in found[marking]}
        found[here] = ends
    return found[game.initial()]


@shares(120)
@given(workflows(), workflows())
def test_runs_that_came_and_went_are_shortest_ones(share: int, old: str, new: str) -> None:
    before, after = plan_of(old), plan_of(new)
    mine, theirs = traces(before), traces(after)
    found = compared_runs(before, after)
    assert found.complete
    for trace, more in ((found.added, theirs - mine), (found.removed, mine - theirs)):
        assert (trace is None) == (not more)
        if trace is not None:
            assert trace in more and len(trace) == min(map(len, more))


def can_end(plan: Plan, start: Marking) -> bool:
    """Whether an end can be reached from a marking."""
    return any(not after and is_final(plan, marking) for marking, after in game_of(plan).reached(start).items())


def moved(old: Plan, new: Plan, marking: Marking) -> Marking | None:
    """A marking of the old net put over the new one by the names of its places; None where one is not there."""
    tokens = {place.id: count for place, count in zip(old.net.places, marking, strict=True)}
    names = {place.id for place in new.net.places}
    control = {place.id for place in old.net.places if place.kind is PlaceClass.CONTROL}
    if any(count and name in control and name not in names for name, count in tokens.items()):
        return None
    first = dict(new.net.initial)
    memory = {
        place.id: first.get(n, 0) for n, place in enumerate(new.net.places) if place.kind is not PlaceClass.CONTROL
    }
    return tuple(tokens.get(place.id, memory.get(place.id, 0)) for place in new.net.places)


def is_resting(after: list[tuple[Transition, Marking]]) -> bool:
    return all(transition.trigger is not Trigger.NOW for transition, _ in after)


@shares(60)
@given(workflows(), workflows())
def test_runs_in_flight_go_on_where_an_end_can_be_reached(share: int, old: str, new: str) -> None:
    before, after = plan_of(old), plan_of(new)
    resting = [m for m, edges in game_of(before).reached().items() if is_resting(edges) and can_end(before, m)]
    put = {marking: moved(before, after, marking) for marking in resting}
    found = transfer_of(before, after)
    assert found.complete
    assert bool(found.lacking) == any(each is None for each in put.values())
    stuck = {each for each in put.values() if each is not None and not can_end(after, each)}
    stranded = {
        moved(before, after, tuple(dict(marked).get(n, 0) for n in range(len(before.net.places))))
        for marked in found.stranded
    }
    assert stranded == stuck


def test_a_run_whose_gate_has_not_opened_is_no_complete_one() -> None:
    """Of one join that is settled or not: without that, its step runs once for each token."""

    def plan(join: str) -> Plan:
        return plan_of(
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: g}, {step: a}]}",
                "step: g, spec: {policy: {admit: {on_deny: wait, rules: [{when: '{{ ctx.open is defined }}', "
                "then: {allow: true}}]}}}, next: {arcs: [{step: j}]}",
                "step: a, next: {arcs: [{step: j, when: '{{ workload.x }}'}, {step: b}]}",
                "step: b",
                f"step: j, spec: {{policy: {{join: {join}}}}}",
            )
        )

    assert compared_runs(plan("settled"), plan("any")).removed == ("start", "a", "g", "j")
    assert compared_runs(plan("any"), plan("settled")).added == ("start", "a", "g", "j")


@shares(40)
@given(workflows())
def test_a_plan_does_what_it_does(share: int, text: str) -> None:
    assert differences_of(plan_of(text), plan_of(text)) == ()


@shares(40)
@given(workflows(), workflows())
def test_what_comes_one_way_goes_the_other(share: int, old: str, new: str) -> None:
    there, back = differences_of(plan_of(old), plan_of(new)), differences_of(plan_of(new), plan_of(old))
    came = {each.message for each in there if each.sign == "+" and each.message.startswith("step ")}
    assert came == {each.message for each in back if each.sign == "-" and each.message.startswith("step ")}
