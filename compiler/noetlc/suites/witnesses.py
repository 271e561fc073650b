"""Runs that reach the parts of a playbook, each as the data that make it: payload and outcomes.

For each part a shortest run of the net is looked for, gone on with to an end, and data under which every guard decides
so.
What of it is worth a case is not decided here: whoever runs them sees what each really reaches.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.span import NOWHERE
from noetl_ir.suite import PURE_KINDS, CaseLimits, PlaybookPart, SuiteCase
from noetlc.analysis.effort import STANDARD, Budget, Effort
from noetlc.analysis.goals import Reached, searched
from noetlc.analysis.knowledge import informed
from noetlc.analysis.petri import PetriMarking, fired, is_enabled
from noetlc.analysis.regions import regions_of
from noetlc.analysis.script import script_of
from noetlc.analysis.skeleton import Skeleton, whole_skeleton
from noetlc.analysis.verdict import WitnessScript
from noetlc.analysis.waves import folded, unfolded
from noetlc.analysis.witness import UNSCRIPTED

MOST_STATES = 3_000
"""Markings that are looked at for a way from a part to an end."""


def witnesses_of(plan: Plan, parts: Sequence[PlaybookPart], budget: Budget = STANDARD) -> tuple[SuiteCase, ...]:
    """A case for each part for which one was found, without expectations; the same data are one case."""
    effort = Effort(budget)
    found: dict[str, SuiteCase] = {}
    if effort.refuses(plan):
        return ()
    # How main comes to a later phase with such data is not looked for; runs of main go through them all the same.
    region = regions_of(plan)[0].plan
    plain = folded(whole_skeleton(region))
    skeletons = [plain] if (known := informed(plain)) is plain else [plain, known]
    rest = _otherwise(plan)
    for part in parts:
        script = next(_scripts(region, skeletons, part, effort), None)
        if script is not None:
            outcomes = _named(region, script)
            document: dict[str, Json] = {"outcomes": [*outcomes, *rest]}
            case = SuiteCase(part.name, part.span, script.payload, document, (), (), (), (), CaseLimits())
            found.setdefault(repr((script.payload, outcomes)), case)
    # A run in which everything goes well: where nothing was found, it is a beginning.
    found.setdefault(
        "", SuiteCase("everything goes well", NOWHERE, {}, {"outcomes": rest}, (), (), (), (), CaseLimits())
    )
    return tuple(found.values())


def _named(plan: Plan, script: WitnessScript) -> list[Json]:
    """The outcomes of a script that a file of tests may name: a task that lowering made has no name there, and runs."""
    outcomes = script.document["outcomes"]
    assert isinstance(outcomes, list)
    made = {(plan.steps[each.step].name, each.name) for each in plan.tasks if each.generated}
    return [row for row in outcomes if isinstance(row, dict) and (row["step"], row["task"]) not in made]


def _otherwise(plan: Plan) -> list[Json]:
    """Outcomes for tasks that the run does not have: each succeeds, since a case goes on behind the part that it is
    for.
    """
    return [
        {"step": plan.steps[task.step].name, "task": task.name}
        for task in plan.tasks
        if not task.generated and task.kind not in PURE_KINDS
    ]


def _scripts(plan: Plan, skeletons: Sequence[Skeleton], part: PlaybookPart, effort: Effort) -> Iterator[WitnessScript]:
    """The scripts of runs to a part: to an end first, then those that stop there."""
    wanted = set(part.transitions)
    for skeleton in skeletons:
        for number in range(len(skeleton.origin)):
            if skeleton.transition(number).id not in wanted:
                continue
            found = searched(skeleton.net, skeleton.net.inputs[number], effort)
            if not isinstance(found, Reached):
                continue
            run = (*found.run, number)
            for each in (_to_an_end(skeleton, run), run):
                if each is not None:
                    script = script_of(plan, [t.id for t in unfolded(skeleton, each)], tried=True)
                    if script is not None:
                        yield script


def _to_an_end(skeleton: Skeleton, run: Sequence[int]) -> tuple[int, ...] | None:
    """The run gone on with, the shortest way, to a marking in which an execution may end; None where none is near."""
    # A fault is often the shortest way out, and none that a script can give. So is a failure, and it ends what would
    # still be reached.
    for left_out in (UNSCRIPTED | {"fail"}, UNSCRIPTED):
        found = _shortest(skeleton, run, left_out)
        if found is not None:
            return found
    return None


def _shortest(skeleton: Skeleton, run: Sequence[int], left_out: frozenset[str]) -> tuple[int, ...] | None:
    net = skeleton.net
    scripted = [n for n in range(len(net.transitions)) if skeleton.transition(n).role not in left_out]
    first = net.initial
    for number in run:
        first = fired(net, first, number)
    came: dict[PetriMarking, tuple[PetriMarking, int] | None] = {first: None}
    waiting = deque([first])
    while waiting and len(came) < MOST_STATES:
        here = waiting.popleft()
        if skeleton.is_final(here):
            return (*run, *_back(came, here))
        for number in scripted:
            if is_enabled(net, here, number) and (there := fired(net, here, number)) not in came:
                came[there] = (here, number)
                waiting.append(there)
    return None


def _back(came: dict[PetriMarking, tuple[PetriMarking, int] | None], last: PetriMarking) -> list[int]:
    found: list[int] = []
    at = came[last]
    while at is not None:
        found.append(at[1])
        at = came[at[0]]
    return found[::-1]
