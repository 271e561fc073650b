"""Why a join starves: which sources it has tokens of, which are missing, and what kept those away.

choice   an exclusive router led to one of its sources and so not to another
gate     a step on the way was not admitted
itself   the missing source runs only after the join
cycle    it counts on a cycle, and a source outside of it delivers once
rest     it counts tokens, and fewer are left than it needs
""       the token of the missing source ended elsewhere
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from noetl_ir.net import PlaceClass, Transition
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import PetriMarking
from noetlc.analysis.resets import played, rows_of
from noetlc.analysis.skeleton import success_skeleton
from noetlc.analysis.story import story_of, ways_to
from noetlc.analysis.verdict import Defect, Story

Cause: TypeAlias = Literal["choice", "gate", "itself", "cycle", "rest", ""]

_LYING = frozenset({"in", "held", "dead", "merge"})
"""Roles of places in which a token waits for those of other sources."""


REST = ""
"""Stands for the tokens that lie in a merge, which does not ask where they come from."""


class Starved(NamedTuple):
    """A join (by number of its step) that has tokens of `has` and waits for `missing`, sources by name.

    `culprit` is the step that chose or did not admit, -1 where there is none. `story` is the run's part in it, and
    `sure` whether it replays.
    """

    step: int
    has: tuple[str, ...]
    missing: tuple[str, ...]
    cause: Cause
    culprit: int
    story: Story
    sure: bool


def starved_of(plan: Plan, claims: Iterable[Defect]) -> tuple[Starved, ...]:
    """The joins that starve in the runs of some claims, each once, those that are sure first."""
    found: dict[int, Starved] = {}
    finder = _Finder(plan)
    # A run that replays is the better story of a join that starves in several.
    for claim in sorted(claims, key=lambda claim: not claim.sure):
        for starved in finder.starved_by(claim):
            found.setdefault(starved.step, starved)
    return tuple(found[step] for step in sorted(found))


class _Finder:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._skeleton = success_skeleton(plan)
        self._rows = rows_of(plan, self._skeleton.net, self._skeleton.origin)
        self._names = {step.name: number for number, step in enumerate(plan.steps)}
        self._targets = [[plan.arcs[arc].target for arc in step.arcs] for step in plan.steps]

    def starved_by(self, claim: Defect) -> Iterator[Starved]:
        rows = [self._rows[id] for id in claim.verdict.story.run] if claim.verdict.story is not None else []
        marking = played(self._skeleton.net, rows)
        run = [each[0] for each in rows]
        transitions = [self._skeleton.transition(number) for number in run]
        for step, has in self._lying(marking).items():
            missing = tuple(source for source in self._plan.steps[step].join.sources if source not in has)
            if missing or has == (REST,) or self._counts_on_a_cycle(step):
                cause, culprit = self._cause(step, missing, transitions)
                yield Starved(step, has, missing, cause, culprit, self._story(step, run, claim), claim.sure)

    def _story(self, join: int, run: Sequence[int], claim: Defect) -> Story:
        """The events on the ways to the join."""
        ways = ways_to(self._plan, (join,))
        steps = [number for number in run if self._skeleton.transition(number).step in ways]
        end = f"`{self._plan.steps[join].name}` has "
        told = claim.verdict.story.related if claim.verdict.story is not None else ()
        return story_of(
            self._skeleton, steps, claim.verdict.detail, [line for line in told if line.text.startswith(end)]
        )

    def _lying(self, marking: PetriMarking) -> dict[int, tuple[str, ...]]:
        """Step → the sources of which tokens lie there; the rest of a wave that is done with is left out."""
        marked = [place for place, tokens in zip(self._plan.net.places, marking, strict=False) if tokens]
        idle = {place.step for place in marked if place.role == "idle"}
        found: dict[int, tuple[str, ...]] = {}
        for place in marked:
            step = self._plan.steps[place.step]
            waits = place.kind is PlaceClass.CONTROL or place.step in idle
            if place.role in _LYING and step.join.mode != "any" and waits:
                if place.role == "merge":
                    found[place.step] = (REST,)
                    continue
                found[place.step] = (*found.get(place.step, ()), place.id[len(f"{place.role} {step.name} ") :])
        return found

    def _cause(self, join: int, missing: Sequence[str], run: Sequence[Transition]) -> tuple[Cause, int]:
        if self._plan.steps[join].join.mode == "tokens":
            return "rest", -1
        if self._counts_on_a_cycle(join):
            return "cycle", -1
        wanted = {self._names[source] for source in missing if source in self._names}
        if wanted.isdisjoint(self._from([self._plan.entry], join)):
            return "itself", -1
        # From the end: the last gate that kept a token away is nearest to the join that waits for it.
        for t in reversed(run):
            if t.role == "deny" and (t.step in wanted or wanted & self._from(self._targets[t.step], join)):
                return "gate", t.step
        for t in reversed(run):
            if t.role in ("take", "none") and not self._plan.steps[t.step].inclusive:
                taken = [self._plan.arcs[t.arc].target] if t.arc >= 0 else []
                kept = self._sources(t.step, taken, join)
                lost = self._sources(t.step, self._targets[t.step], join) - kept
                # The first router from the end that had a way to the missing source and left it. Where it kept
                # another way to the join, it chose between its sources.
                if wanted & lost:
                    return ("choice" if kept else ""), t.step
        return "", -1

    def _sources(self, step: int, targets: list[int], join: int) -> set[int]:
        """The sources of the join that are, or come behind, a step that takes arcs to some targets."""
        behind = {each for each in self._from(targets, join) if join in self._targets[each]}
        return behind | ({step} if join in targets else set())

    def _from(self, first: list[int], join: int) -> set[int]:
        """The steps that some lead to without passing the join, themselves included."""
        found = {step for step in first if step >= 0 and step != join}  # -1 is no step
        waiting = list(found)
        while waiting:
            for target in self._targets[waiting.pop()]:
                if target >= 0 and target != join and target not in found:
                    found.add(target)
                    waiting.append(target)
        return found

    def _counts_on_a_cycle(self, join: int) -> bool:
        mode = self._plan.steps[join].join.mode
        return mode == "count" and any(join in self._targets[step] for step in self._from(self._targets[join], join))
