"""Tokens that wait at gates for ever, as nobody gives the locks back that they need: who holds these, and where."""

from collections.abc import Iterable, Iterator, Sequence

from noetl_ir.locks import takes_of, tests_of
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.resets import owners_of
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.resets import played, rows_of
from noetlc.analysis.skeleton import Skeleton, success_skeleton, unemptied_skeleton
from noetlc.analysis.story import story_of, ways_to
from noetlc.analysis.verdict import Defect, Story


class Locked(NamedTuple):
    """A step at whose gate a token waits for a lock, and the steps at which tokens hold it then. `story` is the run
    that leads there, and `sure` whether it replays.
    """

    step: int
    lock: str
    at: tuple[int, ...]
    story: Story
    sure: bool


def locked_of(plan: Plan, claims: Iterable[Defect]) -> tuple[Locked, ...]:
    """The gates at which tokens wait for locks in the runs of some claims, each gate and lock once."""
    found: dict[tuple[int, str], Locked] = {}
    skeleton = success_skeleton(plan)
    rows = rows_of(plan, skeleton.net, skeleton.origin)
    for claim in sorted(claims, key=lambda claim: not claim.sure):
        run = [rows[id] for id in claim.verdict.story.run] if claim.verdict.story is not None else []
        for step, lock, at in _waiting(plan, played(skeleton.net, run)):
            if (step, lock) not in found:
                found[step, lock] = Locked(
                    step, lock, at, _story(skeleton, [each[0] for each in run], (step, lock, at)), claim.sure
                )
    return tuple([found[each] for each in sorted(found)])


def _story(skeleton: Skeleton, run: Sequence[int], waiting: tuple[int, str, tuple[int, ...]]) -> Story:
    """The part of a run in steps that lead to the waiting gate, or to the steps that hold the lock."""
    plan, (step, lock, at) = skeleton.plan, waiting
    ways = ways_to(plan, (step, *at))
    told = [number for number in run if skeleton.transition(number).step in ways]
    names = ", ".join(f"`{plan.steps[each].name}`" for each in at)
    return story_of(skeleton, told, f"`{plan.steps[step].name}` waits for the lock `{lock}`, held at {names}")


def _waiting(plan: Plan, marking: tuple[int, ...]) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    owners, takes = list(owners_of(plan)), takes_of(plan)
    for number, tests in tests_of(plan).items():
        admit = plan.net.transitions[number]
        if not marking[admit.inputs[0].place]:
            continue
        for lock, test in zip(sorted(takes[admit.step]), tests, strict=True):
            waves = [wave.got for wave in test.waves if marking[wave.idle]]
            at = sorted({owners[place] for place in (*test.places, *waves) if marking[place]})
            if at:
                yield admit.step, lock, tuple(at)


def contended_in(plan: Plan) -> frozenset[str]:
    """The locks for which, as far as the arcs alone tell, a token may be at a gate while another one holds them."""
    takes = takes_of(plan)
    if not takes:
        return frozenset()
    # The net without its locks: with them, a token never holds a lock while another one passes its gate.
    relation = concurrency_of(unemptied_skeleton(plan._replace(locks=(), sections=())).net)
    found: set[str] = set()
    for number, tests in tests_of(plan).items():
        admit = plan.net.transitions[number]
        gate = admit.inputs[0].place
        for lock, test in zip(sorted(takes[admit.step]), tests, strict=True):
            places = (*test.places, *(wave.got for wave in test.waves))
            if lock not in found and any(relation.together(gate, place) for place in places):
                found.add(lock)
    return frozenset(found)
