"""The regions of a plan with phases behind main: each is analysed as a net of its own (EXTENSIONS.md §1).

Phases follow each other, and none begins with a token of the one before; a compensation begins so for each run that is
undone, so that one pass through its region stands for any number. So what is true of every run of each region is
true of all runs, and steps of two of them never run at once. A run in a later phase is no script by itself: it takes
one of main that ends as it has to, so that what it would refute stays unknown.
"""

from collections.abc import Callable, Mapping, Sequence

from noetl_ir.net import Net, Transition
from noetl_ir.plan import Cancel, Plan
from noetl_ir.records import NamedTuple
from noetl_ir.words import COMPENSATION, MAIN, ON_FAILURE
from noetlc.analysis.queries import AtMost, Before, NeverBoth, Query, Reaches, subject_of
from noetlc.analysis.verdict import Status, Verdict

LATER = "it was not looked for how main comes to phase `{}` with such data"


class PhaseRegion(NamedTuple):
    """A phase, the plan in which it is all there is, and the rows of its steps. The tables of the plan are those of the
    whole; its net is the part of these steps.
    """

    phase: str
    plan: Plan
    steps: frozenset[int]


_known: list[tuple[Plan, tuple[PhaseRegion, ...]]] = []
"""The regions of the last plans: what is remembered of a plan, it is by identity, is remembered of its regions then."""


def regions_of(plan: Plan) -> tuple[PhaseRegion, ...]:
    """The regions of a plan, that of main first; of one without phases behind main the plan as it is."""
    if not plan.phases and not plan.compensations:
        return (PhaseRegion(MAIN, plan, frozenset(range(len(plan.steps)))),)
    found = next((regions for each, regions in _known if each is plan), None)
    if found is None:
        found = _parted(plan)
        _known[:] = [(plan, found), *_known[:3]]
    return found


def _parted(plan: Plan) -> tuple[PhaseRegion, ...]:
    undoing = dict.fromkeys(each.target for each in plan.compensations)
    starts = [(f"{COMPENSATION} by {plan.steps[step].name}", step) for step in undoing]
    starts += [(phase.name, phase.step) for phase in plan.phases]
    later = [(name, step, _led_to(plan, step)) for name, step in starts]
    # What nothing leads to belongs to main, where it is told.
    others = frozenset[int]().union(*(steps for _, _, steps in later))
    main = (MAIN, plan.entry, frozenset(range(len(plan.steps))) - others)
    parts = _Parts(plan)
    return tuple([PhaseRegion(name, parts.alone(entry, steps), steps) for name, entry, steps in (main, *later)])


def _led_to(plan: Plan, start: int) -> frozenset[int]:
    found, waiting = {start}, [start]
    while waiting:
        for row in plan.steps[waiting.pop()].arcs:
            target = plan.arcs[row].target
            if target >= 0 and target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)


class _Parts:
    """The places and transitions of a net by their steps, so that all regions together cost what the net does."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._initial = dict(plan.net.initial)
        self._places: list[list[int]] = [[] for _ in plan.steps]
        self._transitions: list[list[int]] = [[] for _ in plan.steps]
        for number, place in enumerate(plan.net.places):
            self._places[place.step].append(number)
        for number, t in enumerate(plan.net.transitions):
            self._transitions[t.step].append(number)

    def alone(self, entry: int, steps: frozenset[int]) -> Plan:
        """The plan with the part of its net that belongs to some steps, and its entry token at one of them."""
        plan = self._plan
        net, entrance = plan.net, f"in {plan.steps[entry].name} @entry"
        chosen = [net.transitions[each] for each in sorted(each for step in steps for each in self._transitions[step])]
        own = {each for step in steps for each in self._places[step]}
        # What nothing leads to may itself lead into a later phase, and put tokens where nothing takes them.
        used = {arc.place for t in chosen for arc in (*t.inputs, *t.outputs)}
        kept = sorted(own | used)
        numbers = {place: number for number, place in enumerate(kept)}
        marked = {each: 1 if net.places[each].id == entrance else self._initial.get(each, 0) for each in own}
        terminates = tuple([each for each in plan.terminates if each.step in steps])
        cancels = [
            Cancel(step, tuple([each for each in targets if each in steps]))
            for step, targets in plan.cancels
            if step in steps and not steps.isdisjoint(targets)
        ]
        locks = tuple([each for each in plan.locks if each.step in steps])
        # No way leads into a section past its step, so that both are in one region.
        sections = tuple([each for each in plan.sections if each.step in steps])
        part = Net(
            tuple([net.places[each] for each in kept]),
            tuple([_renumbered(t, numbers) for t in chosen]),
            tuple([(numbers[each], marked[each]) for each in kept if marked.get(each)]),
        )
        return plan._replace(
            entry=entry, phases=(), compensations=(), net=part, terminates=terminates, cancels=tuple(cancels),
            locks=locks, sections=sections,
            interrupts=tuple([each for each in plan.interrupts if each.step in steps]),
        )  # fmt: skip


def _renumbered(t: Transition, numbers: Mapping[int, int]) -> Transition:
    inputs, outputs = ([arc._replace(place=numbers[arc.place]) for arc in side] for side in (t.inputs, t.outputs))
    return t._replace(inputs=tuple(inputs), outputs=tuple(outputs))


def region_verdicts(plan: Plan, judge: Callable[[Plan], Sequence[Verdict]]) -> list[Verdict]:
    """The verdicts on a plan, from those on each of its regions."""
    regions = regions_of(plan)
    if len(regions) == 1:
        return list(judge(plan))
    found = [told_of(region.phase, judge(region.plan)) for region in regions]
    questions = dict.fromkeys(verdict.question for verdicts in found for verdict in verdicts)
    return [each for question in questions for each in _one(question, found)]


def _one(question: str, found: Sequence[Sequence[Verdict]]) -> list[Verdict]:
    """The verdicts on one question: proved where it is of each region, else what is not."""
    asked = [verdict for verdicts in found for verdict in verdicts if verdict.question == question]
    rest = [verdict for verdict in asked if verdict.status is not Status.PROVED]
    if rest:
        return rest
    return [asked[0]._replace(detail=f"{asked[0].detail}; the phases behind main, each by itself, as well")]


def told_of(phase: str, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts on the region of a phase as they are told of the plan."""
    return tuple([_named(phase, verdict) for verdict in verdicts])


def _named(phase: str, verdict: Verdict) -> Verdict:
    if phase == MAIN:
        return verdict
    detail = f"in phase `{phase}`: {verdict.detail}"
    if verdict.story is None or verdict.status is not Status.REFUTED:
        return verdict._replace(detail=detail, script=None)
    # Its script is one of a playbook that is that phase alone.
    return verdict._replace(status=Status.UNKNOWN, detail=f"{detail}; {LATER.format(phase)}", script=None)


def asked_of(plan: Plan, query: Query, text: str, verdict_on: Callable[[Plan], Verdict]) -> Verdict:
    """The verdict on a query, from that on the region which it is about; raises QueryError."""
    regions = regions_of(plan)
    if len(regions) == 1:
        return verdict_on(plan)
    named = [subject_of(plan, name).step for name in query if isinstance(name, str)]
    about = [next(region for region in regions if step in region.steps) for step in named]
    first, last = about[0], about[-1]
    if first is not last:
        apart = f"they are in the phases `{first.phase}` and `{last.phase}`, which follow each other"
        if isinstance(query, NeverBoth):
            return Verdict(text, Status.PROVED, apart)
        assert isinstance(query, Before)
        return Verdict(
            text, Status.UNKNOWN, f"{apart}: how far one of them comes before the next begins is not looked for"
        )
    if first.phase.startswith(COMPENSATION) and isinstance(query, Reaches | AtMost):
        # The net of the region has one run of it, and there is one for each run that is undone.
        return Verdict(text, Status.UNKNOWN, "how many runs are undone is not looked for")
    if isinstance(query, Reaches) and first.phase == ON_FAILURE:
        return Verdict(
            text, Status.UNKNOWN, f"only runs whose main has failed or is blocked have the phase `{ON_FAILURE}`"
        )
    verdict = verdict_on(first.plan)
    if first.phase == MAIN or verdict.story is None or verdict.status is Status.UNKNOWN:
        return verdict
    return verdict._replace(status=Status.UNKNOWN, detail=f"{verdict.detail}; {LATER.format(first.phase)}", script=None)
