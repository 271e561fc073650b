"""Soundness of a plan, as two readable facts, and what cannot happen (NET.md, "What a verdict means").

    nothing can get stuck     every dead marking of the successful skeleton is final
    every cycle has an exit   no terminal component of it is a circle
    every part can run        each step, task and arc can fire
    tokens are bounded        no place can hold arbitrarily many

The net is reduced (`reductions`), and its terminal components are found by stubborn sets (`stubborn`), so that a fork
of 256 branches costs no more than its branches one after the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from noetl_ir.net import Transition
from noetl_ir.plan import MORE, Plan, Task
from noetl_ir.records import NamedTuple
from noetlc.analysis.claims import nothing_besides
from noetlc.analysis.concurrency import concurrency_of, is_safe
from noetlc.analysis.coverability import coverability_of
from noetlc.analysis.effort import COVERED, STANDARD, STUBBORN, Budget, Effort
from noetlc.analysis.endings import Endings
from noetlc.analysis.goals import Never, Open, searched
from noetlc.analysis.origin import TooLong, covered
from noetlc.analysis.packing import check_size
from noetlc.analysis.petri import Petri, PetriMarking
from noetlc.analysis.ranks import an_end_is_always_near, every_run_ends
from noetlc.analysis.reachability import Pump, graph_of
from noetlc.analysis.reductions import Reduced, reduced, reduced_for_bounds
from noetlc.analysis.regions import region_verdicts
from noetlc.analysis.resets import SHUT
from noetlc.analysis.script import script_of
from noetlc.analysis.siphons import is_proved_sound
from noetlc.analysis.skeleton import (
    Skeleton,
    chosen_of,
    impossible,
    settles,
    success_skeleton,
    unemptied_skeleton,
    unended,
    whole_skeleton,
)
from noetlc.analysis.story import forks_behind, left_over, story_of
from noetlc.analysis.stubborn import Search, Terminals, terminals_of
from noetlc.analysis.verdict import BOUNDED, CYCLES, PARTS, STUCK, Status, StoryLine, TooLarge, Verdict, attempted
from noetlc.analysis.waves import folded_joins
from noetlc.analysis.whole_markings import WholeMarkings, depths_of

QUICK = 2_000
"""States that are enumerated before anything cleverer is tried."""

QUICK_TREE = 300
"""Nodes of a coverability tree that are tried before the ranks of places."""

MAX_STORIES = 5
"""Ends that are told of one kind."""

MAX_RUNS, MAX_TRIED = 4, 16
"""Runs to one kind of end, and to all kinds, for which data are looked for."""

ALWAYS = ("outcomes arrive and timers fire", "counted retries and the iterations of loops end")
"""What is taken for granted of any plan."""


class _Ends(NamedTuple):
    """The reduced net, what was found of its ends, and whether one is proved to be reachable from everywhere."""

    small: Reduced
    terminals: Terminals
    endings: Endings
    near: bool


def soundness_of(plan: Plan, budget: Budget = STANDARD) -> tuple[Verdict, ...]:
    """The verdicts of a plan on free choices: guards are not looked at."""
    effort = Effort(budget)

    def judge(plan: Plan) -> tuple[Verdict, ...]:
        return verdicts_on(folded_joins(success_skeleton(plan)), folded_joins(whole_skeleton(plan)), effort)

    return tuple(region_verdicts(plan, judge))


def verdicts_on(success: Skeleton, whole: Skeleton, effort: Effort) -> tuple[Verdict, ...]:
    """The verdicts on skeletons of one plan. In an unbounded net only the first markings are looked at."""
    if why := effort.refuses(success.plan):
        assumed = assumptions_of(success.plan)
        return tuple([Verdict(question, Status.UNKNOWN, why, assumed) for question in _QUESTIONS])
    if not success.plan.terminates:
        return _verdicts_on(success, whole, effort)
    # What holds although nothing ends all holds all the more, and is found in a net that reduces. But a part may run
    # in it that never does, as only what would be over by then leads there.
    loose = _verdicts_on(unended(success), unended(whole), effort.part(0.4))
    kept = [each for each in loose if each.status is Status.PROVED and each.question != PARTS]
    proved = {each.question for each in kept}
    kept += [each for each in _verdicts_on(success, whole, effort) if each.question not in proved]
    return tuple(sorted(kept, key=lambda each: _QUESTIONS.index(each.question)))


_QUESTIONS = (STUCK, CYCLES, PARTS, BOUNDED)


def _verdicts_on(success: Skeleton, whole: Skeleton, effort: Effort) -> tuple[Verdict, ...]:
    if success.loose:
        return _on_loose(success, whole, effort)
    bounded = attempted(BOUNDED, lambda: [_bounded(whole, effort.part(0.2))])
    # An unbounded net has no last marking. More states of it would cost everything and prove nothing.
    most = effort.budget.states if bounded[0].status is Status.PROVED else QUICK

    @cache
    def tried() -> _Ends | TooLarge:
        try:
            return _searched(success, effort.part(0.3), most)
        except TooLarge as error:  # known once for all three questions
            return error

    def ends() -> _Ends:
        if isinstance(found := tried(), TooLarge):
            raise found
        return found

    return (
        *attempted(STUCK, lambda: _stuck(success, ends(), effort)),
        *attempted(CYCLES, lambda: _cycles(success, ends(), effort)),
        *attempted(PARTS, lambda: _parts(success, whole, ends(), effort.part(0.3))),
        *bounded,
    )


def _parts(success: Skeleton, whole: Skeleton, ends: _Ends, effort: Effort) -> Iterator[Verdict]:
    """The verdicts on what can run. Of a loose skeleton of all runs only what can never run is known."""
    question = PARTS
    found = [*_dead(success, whole, ends, effort)]
    if not whole.loose:
        yield from found
        return
    never = [each for each in found if each.status is Status.REFUTED]
    yield from never or [Verdict(question, Status.UNKNOWN, whole.loose, assumptions_of(whole.plan))]


def _on_loose(success: Skeleton, whole: Skeleton, effort: Effort) -> tuple[Verdict, ...]:
    """The verdicts where the places that steps empty are not known to be bounded: a bound, and what can never run."""
    reason, assumed = success.loose, assumptions_of(whole.plan)
    found = [Verdict(question, Status.UNKNOWN, reason, assumed) for question in _QUESTIONS]
    if whole.loose:
        dead = [each for each in dead_parts(whole, set(), effort.part(0.3)) if each.status is Status.REFUTED]
        bounded = _bounded(whole, effort.part(0.2))
        found[2:] = [*(dead or found[2:3]), bounded if bounded.status is Status.PROVED else found[3]]
    return tuple(found)


def _searched(skeleton: Skeleton, effort: Effort, most: int) -> _Ends:
    """The ends of a skeleton: all of them where they are few, else those that dives find, and then the first ones."""
    small = reduced(skeleton.net)
    check_size(small.net)
    search = Search(small.net)
    near = False

    def grow(most: int) -> None:
        before = search.states
        search.grow(before + effort.states(small.net, STUBBORN, most))
        effort.spend(small.net, search.states - before, STUBBORN)

    def endings() -> Endings:
        return Endings(skeleton, small, search.terminals().graph)

    grow(min(most, QUICK))
    if not search.is_finished:
        # A proof from the arcs answers for the cycles, whatever the number of states, so that the search only has to
        # find ends.
        near = an_end_is_always_near(small.net)
        before = search.states
        # Breadth first finds the ends of a wide fork last, after every interleaving of its branches. A dive comes to
        # some at once.
        search.dive(effort.states(small.net, STUBBORN, QUICK))
        effort.spend(small.net, search.states - before, STUBBORN)
        judge = endings()
        # With a bad end found and the cycles proved, both questions have their answers. Otherwise the rest of the
        # states has to say whether there is a bad end.
        if not near or all(judge.is_end(state) for state in search.terminals().dead):
            grow(most)
    return _Ends(small, search.terminals(), endings(), near)


def always_ends(skeleton: Skeleton, limit: int) -> bool:
    """Whether an end is proved to be reachable from every marking that can be reached."""
    small = reduced(skeleton.net)
    ends = terminals_of(small.net, limit)
    # A search that was cut off proves nothing by itself; the siphons of a free-choice net may prove it all the same.
    if ends.circles or not (ends.complete or is_proved_sound(small.net)):
        return False
    whole = WholeMarkings(skeleton.net, small, ends.graph)
    markings = map(whole.marking, ends.dead)
    return all(skeleton.is_final(marking) or skeleton.gives_up(marking) for marking in markings)


def assumptions_of(plan: Plan) -> tuple[str, ...]:
    """The assumptions of every verdict about a plan."""
    found = [*ALWAYS]
    if plan.timeout >= 0:
        found.append("the execution is over before its `timeout_s`")
    for step in plan.steps:
        if step.waits:
            found.append(f"the gate of `{step.name}` opens in the end")
    grows = {(heard.step, heard.level) for heard in plan.loop_signals if heard.verb == MORE}
    for index, level in sorted(grows):
        which = (
            f"loop {level + 1} of `{plan.steps[index].name}`" if level else f"the loop of `{plan.steps[index].name}`"
        )
        found.append(f"{which} is closed in the end")
    for task in plan.tasks:
        if task.kind == "wait":
            found.append(f"what `{plan.steps[task.step].name}` waits for in `{task.name}` comes")
        elif task.kind == "playbook":
            found.append(child_ends(plan, task))
    return tuple(found)


def child_ends(plan: Plan, task: Task) -> str:
    """The assumptions of a task that calls a playbook."""
    return f"the child called in `{plan.steps[task.step].name}`, task `{task.name}`, ends"


def _stuck(skeleton: Skeleton, ends: _Ends, effort: Effort) -> Iterator[Verdict]:
    question, assumed = STUCK, assumptions_of(skeleton.plan)
    graph, endings = ends.terminals.graph, ends.endings
    kinds: dict[int, list[int]] = {}
    for state in [state for state in _nearest(ends, ends.terminals.dead) if not endings.is_end(state)]:
        # Ends that leave the same tokens are one fault. An author reads it once, with the shortest run to it.
        kinds.setdefault(endings.left(state), []).append(state)
    told: dict[tuple[str, ...], Verdict] = {}
    untold: TooLong | None = None
    tried = 0
    for states in kinds.values():
        # Looking for data costs far more than looking for ends. Both limits are counts, so that the same faults are
        # told everywhere.
        if tried >= MAX_TRIED or sum(each.script is not None for each in told.values()) == MAX_STORIES:
            break
        marking = endings.marking(states[0])
        left = tuple(left_over(skeleton, marking)) or (StoryLine("tokens are left in the net", None),)
        key = tuple(line.text for line in left)
        if key in told and told[key].script is not None:
            continue
        end = "; ".join(key)
        about = tuple(sorted({_owner(skeleton, place) for place in _marked_in_flow(skeleton, marking)}))
        for state in states[:MAX_RUNS]:
            try:
                run = ends.small.run(graph.path_to(state))
            except TooLong as error:
                untold = error
                continue
            story = story_of(skeleton, run, end, (*left, *forks_behind(skeleton, run)))
            verdict = Verdict(question, Status.REFUTED, end, assumed, about, left[0].span, story, sought=True)
            told.setdefault(key, verdict)
            script = script_of(skeleton.plan, story.run, shows=nothing_besides)
            tried += 1
            if script is not None:
                told[key] = verdict._replace(script=script)
                break
    # Runs that replay come first: they are certain. Sorting is stable, so that shorter ones stay before longer ones.
    yield from sorted(told.values(), key=lambda each: each.script is None)[:MAX_STORIES]
    # Another fault may have a run that can be told. Only where none has, nothing is claimed.
    if not told and untold is not None:
        raise untold
    if not told:
        yield _by_search(question, "every marking in which nothing can happen is an end", ends, assumed, effort)


def _nearest(ends: _Ends, states: Iterable[int]) -> list[int]:
    """States, those with the shortest runs first."""
    depths = depths_of(ends.terminals.graph)
    return sorted(states, key=depths.__getitem__)


def _cycles(skeleton: Skeleton, ends: _Ends, effort: Effort) -> Iterator[Verdict]:
    question, assumed = CYCLES, assumptions_of(skeleton.plan)
    small, graph = ends.small, ends.terminals.graph
    first = [(circle, _nearest(ends, circle)[0]) for circle in ends.terminals.circles]
    # Where a token beside the circle can only fail, the run ends with that failure and proves nothing about the
    # circle (NET.md).
    endless = [(circle, state) for circle, state in first if not ends.endings.gives_up(state)]
    for circle, state in endless[:MAX_STORIES]:
        inside = covered([small.origins[each] for member in circle for each in graph.enabled[member]])
        steps = {skeleton.transition(number).step for number in inside}
        names = [step.name for number, step in enumerate(skeleton.plan.steps) if number in steps]
        end = "no end can be reached from " + " and ".join(f"`{name}`" for name in names)
        rows = [step for number, step in enumerate(skeleton.plan.steps) if number in steps]
        related = [StoryLine(f"`{step.name}` runs again and again", step.span) for step in rows]
        story = story_of(skeleton, small.run(graph.path_to(state)), end, related)
        yield Verdict(question, Status.REFUTED, end, assumed, tuple(names), rows[0].span, story)
    if not endless and skeleton.shut and _goes_round_for_ever(skeleton, effort):
        # That a token stays at its gate is an end of another run: it is no way out of a cycle whose gates all open.
        yield Verdict(question, Status.UNKNOWN, "an end was found only where a gate stays shut", assumed)
    elif not endless:
        proof = "an end can be reached from everywhere"
        # A complete search says more, namely how many states were seen.
        if ends.near and not ends.terminals.complete:
            yield Verdict(question, Status.PROVED, f"{proof} (by the arcs that lead nearer to one)", assumed)
        else:
            yield _by_search(question, proof, ends, assumed, effort)


def _goes_round_for_ever(skeleton: Skeleton, effort: Effort) -> bool:
    """Whether there may be a cycle without an exit where every gate opens."""
    kept = [number for number, id in enumerate(skeleton.net.transitions) if not id.startswith(SHUT)]
    found = _searched(chosen_of(skeleton, kept), effort, QUICK)
    circles = (_nearest(found, circle)[0] for circle in found.terminals.circles)
    return not found.terminals.complete or not all(found.endings.gives_up(state) for state in circles)


def _by_search(question: str, proof: str, ends: _Ends, assumed: tuple[str, ...], effort: Effort) -> Verdict:
    states = len(ends.terminals.graph.markings)
    if ends.terminals.complete:
        return Verdict(question, Status.PROVED, f"{proof} ({states} states)", assumed)
    if is_proved_sound(ends.small.net):
        return Verdict(question, Status.PROVED, f"{proof} (free choice: every siphon has a marked trap)", assumed)
    return Verdict(question, Status.UNKNOWN, f"the limit of {states} states was hit", assumed)


def _dead(success: Skeleton, whole: Skeleton, ends: _Ends, effort: Effort) -> Iterator[Verdict]:
    graph = graph_of(ends.small.net, effort.states(ends.small.net, most=QUICK))
    effort.spend(ends.small.net, len(graph.markings))
    # Stubborn sets leave transitions out that can fire. What they did fire is alive all the same, and the rest is
    # asked about one by one.
    rows = graph.enabled if graph.complete else ends.terminals.graph.enabled
    alive = {_element(success.transition(number)) for number in _covered(ends.small, rows)}
    return dead_parts(whole, alive, effort)


def dead_parts(whole: Skeleton, alive: set[tuple[int, str]], effort: Effort) -> Iterator[Verdict]:
    """The verdicts on what can run, of a skeleton of all runs; `alive` are elements that are known to."""
    question, assumed = PARTS, assumptions_of(whole.plan)
    parts = ((number, whole.transition(number)) for number in range(len(whole.origin)))
    asked = [number for number, t in parts if _is_part(whole.plan, t) and _element(t) not in alive]
    dead, open_ = dead_among(whole.net, asked, effort) if asked else (frozenset[int](), frozenset[int]())
    # An arc has several transitions, such as those of different places in an inclusive chain. It is dead only when
    # all of them are.
    alive = {_element(whole.transition(number)) for number in asked if number not in dead}
    dead = frozenset(number for number in dead if _element(whole.transition(number)) not in alive)
    seen = {_element(whole.transition(number)) for number in asked if number not in dead and number not in open_}
    open_ = frozenset(number for number in open_ if _element(whole.transition(number)) not in seen)
    # Where a step never runs, its tasks and arcs do not either. Only the step is told.
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


def dead_among(net: Petri, asked: Sequence[int], effort: Effort) -> tuple[frozenset[int], frozenset[int]]:
    """Of some transitions, those that can never fire, and those of which nothing is known."""
    small = reduced(net)
    check_size(small.net)
    graph = graph_of(small.net, effort.states(small.net, most=QUICK))
    effort.spend(small.net, len(graph.markings))
    rest = set(asked) - _covered(small, graph.enabled)
    if graph.complete:
        return frozenset(rest), frozenset()
    # The relation has more than can happen and never less: what it excludes is proved dead, however many markings
    # there are.
    relation = concurrency_of(small.net)
    possible = covered([origin for number, origin in enumerate(small.origins) if relation.allows(small.net, number)])
    dead = rest - possible
    if rest & possible:
        search = Search(small.net)
        # Dives show what is alive before anything is searched for by itself, which costs a reduction for each part.
        search.dive(effort.states(small.net, STUBBORN, QUICK))
        effort.spend(small.net, search.states, STUBBORN)
        rest -= _covered(small, search.terminals().graph.enabled)
    unsure = sorted(rest & possible)
    for number in unsure[: effort.budget.singly]:
        if effort.is_spent:
            break
        found = searched(net, net.inputs[number], effort)
        if isinstance(found, Never):
            dead.add(number)
        # With the limit hit, the part stays among those of which nothing is known.
        if not isinstance(found, Open):
            rest.discard(number)
    return frozenset(dead), frozenset(rest - dead)


def _covered(small: Reduced, rows: Sequence[Sequence[int]]) -> set[int]:
    """The transitions of the net that stand behind those of the reduced one that fired."""
    return covered([small.origins[number] for number in {each for row in rows for each in row}])


def _bounded(skeleton: Skeleton, effort: Effort) -> Verdict:
    question, assumed = BOUNDED, assumptions_of(skeleton.plan)
    if (skeleton.plan.cancels or settles(skeleton.plan)) and not skeleton.loose:
        # A net in which more is left behind reduces, and bounds this one.
        unemptied = unemptied_skeleton(skeleton.plan)._replace(loose="more is left than in a run")
        loose = _bounded(unemptied, effort.part(0.5))
        if loose.status is Status.PROVED:
            return loose
    small = reduced_for_bounds(skeleton.net, skeleton.transient())
    # The cheapest proof comes first.
    if is_safe(small.net):
        return Verdict(question, Status.PROVED, "one token of a run at most in each place, and items in loops", assumed)
    nodes = effort.states(small.net, COVERED, effort.budget.nodes)
    # Ranks prove that there are finitely many markings, in time that grows with the arcs. A longer tree is grown only
    # where they do not, and of a net that is too large for a short one only then.
    ranked = Verdict(question, Status.PROVED, "no arcs lead round, so that each run makes a number of them", assumed)
    if nodes < QUICK_TREE and every_run_ends(small.net):
        return ranked
    check_size(small.net)
    tree = coverability_of(small.net, min(nodes, QUICK_TREE))
    if nodes >= QUICK_TREE and not tree.complete and tree.pump is None and every_run_ends(small.net):
        return ranked
    if not tree.complete and tree.pump is None:
        tree = coverability_of(small.net, nodes)
    effort.spend(small.net, len(tree.nodes), COVERED)
    if tree.pump is not None:
        return _pumped(skeleton, small, tree.pump, question, assumed)
    if tree.complete:
        most = max(tree.bound(place) or 0 for place in range(len(small.net.places)))
        return Verdict(question, Status.PROVED, f"at most {most} tokens in a place, and items in loops", assumed)
    limit = effort.states(small.net)
    graph = graph_of(small.net, limit)
    if graph.complete:
        return Verdict(question, Status.PROVED, f"all {len(graph.markings)} markings were seen", assumed)
    why = f"the limits of {nodes} nodes and {limit} states were hit"
    return Verdict(question, Status.UNKNOWN, why, assumed)


def _pumped(skeleton: Skeleton, small: Reduced, pump: Pump, question: str, assumed: tuple[str, ...]) -> Verdict:
    """The verdict that a pump refutes."""
    places, steps = skeleton.plan.net.places, skeleton.plan.steps
    # Twice round, so that the story shows the second token come to a place that has one.
    run = small.run(pump.path + 2 * pump.cycle)
    cycle = small.run(pump.cycle)
    grown = [places[small.places[place]] for place in pump.places if small.places[place] >= 0]
    names = tuple(dict.fromkeys(steps[place.step].name for place in grown))
    end = f"it can go on like this without end, and ever more tokens come to {' and '.join(f'`{n}`' for n in names)}"
    round_ = dict.fromkeys(skeleton.transition(number).step for number in cycle)
    related = [StoryLine(f"`{steps[step].name}` is on the cycle", steps[step].span) for step in round_]
    span = grown[0].span if grown else None
    return Verdict(question, Status.REFUTED, end, assumed, names, span, story_of(skeleton, run, end, related))


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


def _marked_in_flow(skeleton: Skeleton, marking: PetriMarking) -> list[int]:
    roles = ("free", "idle", "cold", "slot")
    places = skeleton.plan.net.places
    counted = zip(places, marking, strict=False)
    return [number for number, (place, tokens) in enumerate(counted) if tokens and place.role not in roles]


def _owner(skeleton: Skeleton, place: int) -> str:
    return skeleton.plan.steps[skeleton.plan.net.places[place].step].name
