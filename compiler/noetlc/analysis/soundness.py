"""Soundness of a plan, as two readable facts, and what cannot happen (NET.md, "What a verdict means").

    nothing can get stuck     every dead marking of the successful skeleton is final
    every cycle has an exit   no terminal component of it is a circle
    every part can run        each step, task and arc can fire
    tokens are bounded        no place can hold arbitrarily many

The net is reduced (`reductions`), and its terminal components are found by stubborn sets (`stubborn`), so that a fork
of 256 branches costs no more than its branches one after the other.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from noetl_ir.net import Transition
from noetl_ir.plan import Plan, Task
from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.coverability import coverability_of
from noetlc.analysis.goals import Never, Open, searched
from noetlc.analysis.origin import covered
from noetlc.analysis.petri import Marking, Petri, fired
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.reductions import Reduced, reduced, reduced_for_bounds
from noetlc.analysis.siphons import is_proved_sound
from noetlc.analysis.skeleton import Skeleton, impossible, success_skeleton, whole_skeleton
from noetlc.analysis.story import forks_behind, left_over, story_of
from noetlc.analysis.stubborn import Terminals, terminals_of
from noetlc.analysis.verdict import Line, Status, Verdict, attempted
from noetlc.analysis.waves import folded

LIMIT = 100_000
"""States that a question may cost."""

QUICK = 2_000
"""States that are enumerated before anything cleverer is tried."""

SINGLY = 20
"""Parts that are asked about one by one."""

MAX_STORIES = 5
"""Ends that are told of one kind."""


class Budget(NamedTuple):
    """`states` bounds each search, `nodes` each coverability tree, `singly` the parts asked about one by one."""

    states: int = LIMIT
    nodes: int = 2_000
    singly: int = SINGLY


STANDARD = Budget()

ALWAYS = ("outcomes arrive and timers fire", "counted retries and the iterations of loops end")
"""What is taken for granted of any plan."""


def soundness_of(plan: Plan, budget: Budget = STANDARD) -> tuple[Verdict, ...]:
    """The verdicts of a plan on free choices: guards are not looked at."""
    return verdicts_on(folded(success_skeleton(plan)), folded(whole_skeleton(plan)), budget)


def verdicts_on(success: Skeleton, whole: Skeleton, budget: Budget) -> tuple[Verdict, ...]:
    """The verdicts on skeletons of one plan. In an unbounded net only the first markings are looked at."""
    bounded = attempted("tokens are bounded", lambda: [_bounded(whole, budget)])
    if bounded[0].status is not Status.PROVED:
        budget = budget._replace(states=min(budget.states, QUICK))

    @cache
    def searched() -> tuple[Reduced, Terminals]:
        small = reduced(success.net)
        return small, terminals_of(small.net, budget.states)

    return (
        *attempted("nothing can get stuck", lambda: _stuck(success, *searched(), budget)),
        *attempted("every cycle has an exit", lambda: _cycles(success, *searched(), budget)),
        *attempted("every part can run", lambda: _dead(success, whole, *searched(), budget)),
        *bounded,
    )


def always_ends(skeleton: Skeleton, limit: int) -> bool:
    """Whether an end is proved to be reachable from every marking that can be reached."""
    small = reduced(skeleton.net)
    ends = terminals_of(small.net, limit)
    if ends.circles or not (ends.complete or is_proved_sound(small.net)):
        return False
    runs = [small.run(ends.graph.path_to(state)) for state in ends.dead]
    markings = [marking_after(skeleton.net, run) for run in runs]
    return all(skeleton.is_final(marking) or skeleton.gives_up(marking) for marking in markings)


def assumptions_of(plan: Plan) -> tuple[str, ...]:
    """The assumptions of every verdict about a plan."""
    found = [*ALWAYS]
    for step in plan.steps:
        if step.waits:
            found.append(f"the gate of `{step.name}` opens in the end")
    for task in plan.tasks:
        if task.kind == "wait":
            found.append(f"what `{plan.steps[task.step].name}` waits for in `{task.name}` comes")
        elif task.kind == "playbook":
            found.append(child_ends(plan, task))
    return tuple(found)


def child_ends(plan: Plan, task: Task) -> str:
    """The assumptions of a task that calls a playbook."""
    return f"the child called in `{plan.steps[task.step].name}`, task `{task.name}`, ends"


def marking_after(net: Petri, run: tuple[int, ...]) -> Marking:
    """The marking after a run from the initial one."""
    marking = net.initial
    for transition in run:
        marking = fired(net, marking, transition)
    return marking


def _stuck(skeleton: Skeleton, small: Reduced, ends: Terminals, budget: Budget) -> Iterator[Verdict]:
    question, assumed = "nothing can get stuck", assumptions_of(skeleton.plan)
    told: set[tuple[str, ...]] = set()
    for state in sorted(ends.dead, key=lambda state: len(ends.graph.path_to(state))):
        run = small.run(ends.graph.path_to(state))
        marking = marking_after(skeleton.net, run)
        if skeleton.is_final(marking) or skeleton.gives_up(marking):
            continue
        left = tuple(left_over(skeleton, marking)) or (Line("tokens are left in the net", None),)
        key = tuple(line.text for line in left)
        if key in told or len(told) == MAX_STORIES:
            continue
        told.add(key)
        end = "; ".join(key)
        about = tuple(sorted({_owner(skeleton, place) for place in _held(skeleton, marking)}))
        story = story_of(skeleton, run, end, (*left, *forks_behind(skeleton, run)))
        yield Verdict(question, Status.REFUTED, end, assumed, about, left[0].span, story)
    if not told:
        yield _by_search(question, "every marking in which nothing can happen is an end", small, ends, assumed, budget)


def _cycles(skeleton: Skeleton, small: Reduced, ends: Terminals, budget: Budget) -> Iterator[Verdict]:
    question, assumed = "every cycle has an exit", assumptions_of(skeleton.plan)
    first = [min(circle, key=lambda state: len(ends.graph.path_to(state))) for circle in ends.circles]
    runs = [small.run(ends.graph.path_to(state)) for state in first]
    endless = [
        (circle, run)
        for circle, run in zip(ends.circles, runs, strict=True)
        if not skeleton.gives_up(marking_after(skeleton.net, run))
    ]
    for circle, run in endless[:MAX_STORIES]:
        inside = covered([small.origins[each] for state in circle for each in ends.graph.enabled[state]])
        steps = {skeleton.transition(number).step for number in inside}
        names = [step.name for number, step in enumerate(skeleton.plan.steps) if number in steps]
        end = "no end can be reached from " + " and ".join(f"`{name}`" for name in names)
        rows = [step for number, step in enumerate(skeleton.plan.steps) if number in steps]
        related = [Line(f"`{step.name}` runs again and again", step.span) for step in rows]
        story = story_of(skeleton, run, end, related)
        yield Verdict(question, Status.REFUTED, end, assumed, tuple(names), rows[0].span, story)
    if not endless:
        yield _by_search(question, "an end can be reached from everywhere", small, ends, assumed, budget)


def _by_search(
    question: str, proof: str, small: Reduced, ends: Terminals, assumed: tuple[str, ...], budget: Budget
) -> Verdict:
    states = len(ends.graph.markings)
    if ends.complete:
        return Verdict(question, Status.PROVED, f"{proof} ({states} states)", assumed)
    if is_proved_sound(small.net):
        return Verdict(question, Status.PROVED, f"{proof} (free choice: every siphon has a marked trap)", assumed)
    return Verdict(question, Status.UNKNOWN, f"the limit of {budget.states} states was hit", assumed)


def _dead(success: Skeleton, whole: Skeleton, small: Reduced, ends: Terminals, budget: Budget) -> Iterator[Verdict]:
    graph = graph_of(small.net, QUICK)
    rows = graph.enabled if graph.complete else ends.graph.enabled
    alive = {_element(success.transition(number)) for number in _covered(small, rows)}
    return dead_parts(whole, alive, budget)


def dead_parts(whole: Skeleton, alive: set[tuple[int, str]], budget: Budget) -> Iterator[Verdict]:
    """The verdicts on what can run, of a skeleton of all runs; `alive` are elements that are known to."""
    question, assumed = "every part can run", assumptions_of(whole.plan)
    parts = ((number, whole.transition(number)) for number in range(len(whole.origin)))
    asked = [number for number, t in parts if _is_part(whole.plan, t) and _element(t) not in alive]
    dead, open_ = dead_among(whole.net, asked, budget) if asked else (frozenset[int](), frozenset[int]())
    alive = {_element(whole.transition(number)) for number in asked if number not in dead}
    dead = frozenset(number for number in dead if _element(whole.transition(number)) not in alive)
    seen = {_element(whole.transition(number)) for number in asked if number not in dead and number not in open_}
    open_ = frozenset(number for number in open_ if _element(whole.transition(number)) not in seen)
    never = {whole.transition(number).step for number in dead if whole.transition(number).role == "admit"}
    told: set[str] = set()
    for t in _shut(whole.plan):
        if t.step not in never:
            told.add(text := _part(whole.plan, t))
            yield Verdict(question, Status.REFUTED, text, assumed, (whole.plan.steps[t.step].name,), t.span)
    for number in sorted(dead, key=lambda each: (whole.transition(each).role != "admit", each)):
        t = whole.transition(number)
        text = _part(whole.plan, t)
        if (t.step in never and t.role != "admit") or text in told:
            continue
        told.add(text)
        yield Verdict(question, Status.REFUTED, text, assumed, (whole.plan.steps[t.step].name,), t.span)
    if not told and open_:
        yield Verdict(question, Status.UNKNOWN, f"{len(open_)} parts were not seen to run", assumed)
    elif not told:
        yield Verdict(question, Status.PROVED, "every step, task and arc can be reached", assumed)


def _shut(plan: Plan) -> Iterator[Transition]:
    """The findings that take an arc whose guard is never true, one for each such arc that somebody wrote."""
    shut = impossible(plan)
    taking = [number for number, t in enumerate(plan.net.transitions) if t.role == "take" and _is_part(plan, t)]
    open_ = {plan.net.transitions[number].arc for number in taking if number not in shut}
    found = {t.arc: t for number in reversed(taking) if (t := plan.net.transitions[number]).arc not in open_}
    yield from (found[arc] for arc in sorted(found))


def dead_among(net: Petri, asked: Sequence[int], budget: Budget) -> tuple[frozenset[int], frozenset[int]]:
    """Of some transitions, those that can never fire, and those of which nothing is known."""
    small = reduced(net)
    graph = graph_of(small.net, QUICK)
    rest = set(asked) - _covered(small, graph.enabled)
    if graph.complete:
        return frozenset(rest), frozenset()
    relation = concurrency_of(small.net)
    possible = covered([origin for number, origin in enumerate(small.origins) if relation.allows(small.net, number)])
    dead = rest - possible
    unsure = sorted(rest & possible)
    for number in unsure[: budget.singly]:
        found = searched(net, net.inputs[number], budget.states)
        if isinstance(found, Never):
            dead.add(number)
        if not isinstance(found, Open):
            rest.discard(number)
    return frozenset(dead), frozenset(rest - dead)


def _covered(small: Reduced, rows: Sequence[Sequence[int]]) -> set[int]:
    """The transitions of the net that stand behind those of the reduced one that fired."""
    return covered([small.origins[number] for number in {each for row in rows for each in row}])


def _bounded(skeleton: Skeleton, budget: Budget) -> Verdict:
    question, assumed = "tokens are bounded", assumptions_of(skeleton.plan)
    small = reduced_for_bounds(skeleton.net, skeleton.transient())
    if concurrency_of(small.net).is_safe:
        return Verdict(question, Status.PROVED, "one token of a run at most in each place, and items in loops", assumed)
    tree = coverability_of(small.net, budget.nodes)
    if tree.pump is not None:
        pump = tree.pump
        run = small.run(pump.path + 2 * pump.cycle)
        cycle = small.run(pump.cycle)
        grown = [skeleton.plan.net.places[small.places[place]] for place in pump.places if small.places[place] >= 0]
        names = tuple(dict.fromkeys(skeleton.plan.steps[place.step].name for place in grown))
        end = (
            f"it can go on like this without end, and ever more tokens come to {' and '.join(f'`{n}`' for n in names)}"
        )
        steps = dict.fromkeys(skeleton.transition(number).step for number in cycle)
        related = [
            Line(f"`{skeleton.plan.steps[step].name}` is on the cycle", skeleton.plan.steps[step].span)
            for step in steps
        ]
        span = grown[0].span if grown else None
        return Verdict(question, Status.REFUTED, end, assumed, names, span, story_of(skeleton, run, end, related))
    if tree.complete:
        most = max(tree.bound(place) or 0 for place in range(len(small.net.places)))
        return Verdict(question, Status.PROVED, f"at most {most} tokens in a place, and items in loops", assumed)
    graph = graph_of(small.net, budget.states)
    if graph.complete:
        return Verdict(question, Status.PROVED, f"all {len(graph.markings)} markings were seen", assumed)
    return Verdict(
        question, Status.UNKNOWN, f"the limits of {budget.nodes} nodes and {budget.states} states were hit", assumed
    )


def _is_part(plan: Plan, t: Transition) -> bool:
    """Whether a transition is what somebody wrote: lowering makes steps, their arcs, and tasks of its own."""
    if t.role not in ("admit", "start", "take") or plan.steps[t.step].name.startswith("__"):
        return False
    return t.role != "start" or not plan.tasks[t.task].generated


def _element(t: Transition) -> tuple[int, str]:
    """The part of a playbook that a transition is of: an arc may be taken as the first of its router or beside
    others.
    """
    return (t.arc, "") if t.role == "take" else (-1, t.id)


def _part(plan: Plan, t: Transition) -> str:
    step = plan.steps[t.step].name
    if t.role == "admit":
        return f"`{step}` can never run"
    if t.role == "start":
        return f"task `{plan.tasks[t.task].name}` of `{step}` can never run"
    target = plan.arcs[t.arc].target
    return f"the arc from `{step}` to `{plan.steps[target].name if target >= 0 else 'end'}` can never be taken"


def _held(skeleton: Skeleton, marking: Marking) -> list[int]:
    roles = ("free", "idle", "cold", "slot")
    places = skeleton.plan.net.places
    held = zip(places, marking, strict=False)
    return [number for number, (place, tokens) in enumerate(held) if tokens and place.role not in roles]


def _owner(skeleton: Skeleton, place: int) -> str:
    return skeleton.plan.steps[skeleton.plan.net.places[place].step].name
