"""Runs that reach the parts of a playbook, each as the data that make it: payload and outcomes.

For each part a shortest run of the net is looked for, gone on with to an end, and data under which every guard decides
so.
What of it is worth a case is not decided here: whoever runs them sees what each really reaches.
"""

from collections import deque
from collections.abc import Container, Iterator, Sequence

from noetl_ir.expr import Json
from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetl_ir.plan_family import family_of
from noetl_ir.span import NOWHERE
from noetl_ir.suite import PURE_KINDS, CaseLimits, PlaybookPart, SuiteCase
from noetlc.analysis.effort import STANDARD, Budget, Effort
from noetlc.analysis.goals import Reached, searched
from noetlc.analysis.inputs import brought
from noetlc.analysis.knowledge import informed
from noetlc.analysis.petri import PetriMarking, fired, is_enabled
from noetlc.analysis.reachability import explored
from noetlc.analysis.regions import regions_of
from noetlc.analysis.script import script_of
from noetlc.analysis.skeleton import Skeleton, chosen_of, whole_skeleton
from noetlc.analysis.verdict import WitnessScript
from noetlc.analysis.waves import folded_joins, unfolded_run
from noetlc.analysis.witness import COUNTING, UNSCRIPTED
from noetlc.suites.coverage import parts_of

MOST_STATES = 3_000
"""Markings that are looked at for a way from a part to an end."""

MOST_WAYS = 20
"""Ways through the children of a playbook that are tried."""

MOST_EVENTS = 5_000
"""Events after which a run of such a case is stopped: one that goes round and round is nobody's test."""

ELSEWHERE = frozenset({"add", "shut", "skip", "stop", "leave", "empty_failed"})
"""Roles of loops that no outcome decides, but signals, timers and how many items there are: who runs a script sees to
them, and to the ends of loops of which it is asked whether they have enough.
"""


def witnesses_of(plan: Plan, parts: Sequence[PlaybookPart], budget: Budget = STANDARD) -> tuple[SuiteCase, ...]:
    """Cases for each part for which data were found, without expectations; the same data are one case.

    What children do is not known to the net of whoever calls them: of a part behind a call there is a case for each way
    through a child, under the same name.
    """
    effort = Effort(budget)
    if effort.refuses(plan):
        return ()
    found: dict[str, SuiteCase] = {}
    family = [*family_of(plan)]
    # Behind all others: the first entry that fits is the outcome.
    rest = [*_otherwise(plan), *_giving(family[1:])]
    calls = {(plan.steps[task.step].name, task.name) for task in plan.tasks if task.kind == "playbook"}
    brings, scripts = brought(plan), [*_found(plan, parts, effort)]
    ways = _ways(family[1:], effort) if calls else []
    for part, script in scripts:
        named = _named(plan, script)
        rows = [row for row in named if (row["step"], row["task"]) not in calls]
        wished = [_result(row) for row in named if (row["step"], row["task"]) in calls]
        asked = [_giving(family[1:], result) for result in wished if result is not None]
        for way in [[], *asked, *ways] if wished else [[]]:
            found.setdefault(
                repr((script.payload, rows, way)), _case(part, brings | script.payload, [*rows, *way, *rest])
            )
    # Where locks and joins decide when outcomes come, a script of the net may miss what it is for. What fails alone, as
    # late as it may, is then more likely to be there.
    payloads = {part.name: script.payload for part, script in scripts}
    for part in parts:
        if failing := _failing(plan, part):
            payload = payloads.get(part.name, payloads.get(str(failing["step"]), {}))
            found.setdefault(repr((payload, failing)), _case(part, brings | payload, [failing, *rest]))
    # A run in which everything goes well: where nothing was found, it is a beginning.
    well = PlaybookPart("", "everything goes well", NOWHERE, ())
    for way in [[], *ways]:
        found.setdefault(repr(way), _case(well, brings, [*way, *rest]))
    return tuple(found.values())


def _failing(plan: Plan, part: PlaybookPart) -> dict[str, Json]:
    """The outcome that makes a task fail, where a part is that; nothing for another one."""
    own = {(t.task, t.outcome) for t in plan.net.transitions if t.id in part.transitions and t.task >= 0}
    if part.kind != "outcome" or {outcome for _, outcome in own} != {"error"}:
        return {}
    task = plan.tasks[next(iter(own))[0]]
    # No outcome stands in for these: a child runs, and a wait ends by its signal.
    if task.kind in ("playbook", "wait"):
        return {}
    return {"step": plan.steps[task.step].name, "task": task.name, "outcome": {"status": "error"}}


def _case(part: PlaybookPart, payload: dict[str, Json], outcomes: Sequence[Json]) -> SuiteCase:
    return SuiteCase(part.name, part.span, payload, {"outcomes": [*outcomes]}, (), (), (), (), CaseLimits(MOST_EVENTS))


def _ways(children: Sequence[Plan], effort: Effort) -> list[list[dict[str, Json]]]:
    """Ways through children, each as the outcomes of its tasks."""
    found: dict[str, list[dict[str, Json]]] = {}
    for child in children:
        for _, script in _found(child, parts_of(child)[0], effort):
            rows = _called(child, _named(child, script))
            found.setdefault(repr(rows), rows)
    return [rows for rows in found.values() if rows][:MOST_WAYS]


def _giving(children: Sequence[Plan], result: Json = None) -> list[dict[str, Json]]:
    """Outcomes under which every task of children has a result, and with it most often they themselves."""
    rows = [row for each in children for row in _called(each, _otherwise(each))]
    return [row if result is None else {**row, "outcome": {"result": result}} for row in rows]


def _called(child: Plan, rows: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """The outcomes that a script can give tasks of a child: none of what waits for a signal or a child of its own."""
    parked = {(child.steps[task.step].name, task.name) for task in child.tasks if task.kind in ("wait", "playbook")}
    return [row for row in rows if (row["step"], row["task"]) not in parked]


def _result(row: dict[str, Json]) -> Json:
    outcome = row["outcome"]
    return outcome.get("result") if isinstance(outcome, dict) else None


def _found(plan: Plan, parts: Sequence[PlaybookPart], effort: Effort) -> Iterator[tuple[PlaybookPart, WitnessScript]]:
    """The parts for which there is a script, each with its first."""
    # How main comes to a later phase with such data is not looked for; runs of main go through them all the same.
    region = regions_of(plan)[0].plan
    plain = folded_joins(whole_skeleton(region))
    # The plain net first: its runs are shorter, and many of them have data. What guards show rules out those that have
    # none.
    skeletons = [plain] if (known := informed(plain)) is plain else [plain, known]
    runs = [_Runs(_scripted(each), effort) for each in skeletons]
    for part in parts:
        script = next(_scripts(region, runs, part), None)
        if script is not None:
            yield part, script


def _named(plan: Plan, script: WitnessScript) -> list[dict[str, Json]]:
    """The outcomes of a script that a file of tests may name: a task that lowering made has no name there, and runs."""
    outcomes = script.document["outcomes"]
    assert isinstance(outcomes, list)
    made = {(plan.steps[each.step].name, each.name) for each in plan.tasks if each.generated}
    return [row for row in outcomes if isinstance(row, dict) and (row["step"], row["task"]) not in made]


def _otherwise(plan: Plan) -> list[dict[str, Json]]:
    """Outcomes for tasks that the run does not have: each succeeds, since a case goes on behind the part that it is
    for.
    """
    return [
        {"step": plan.steps[task.step].name, "task": task.name}
        for task in plan.tasks
        if not task.generated and task.kind not in PURE_KINDS
    ]


def _scripted(skeleton: Skeleton) -> Skeleton:
    """The skeleton without what no script says: a fault is often the shortest way, and leads nowhere here."""
    every = range(len(skeleton.origin))
    return chosen_of(skeleton, [n for n in every if skeleton.transition(n).role not in UNSCRIPTED - ELSEWHERE])


class _Runs:
    """Shortest runs to transitions of a skeleton: one graph has those of most of them."""

    def __init__(self, skeleton: Skeleton, effort: Effort) -> None:
        self.skeleton = skeleton
        self._effort = effort
        self._graph = explored(skeleton.net, effort.states(skeleton.net, most=MOST_STATES))
        effort.spend(skeleton.net, len(self._graph.markings))
        self._first: dict[int, int] = {}
        for state, able in enumerate(self._graph.enabled):
            for number in able:
                # States come in the order of their distance, so the first with a transition is the nearest.
                self._first.setdefault(number, state)

    def to(self, number: int) -> tuple[int, ...] | None:
        """A run that ends with a transition; None where none was found."""
        if number in self._first:
            return (*self._graph.path_to(self._first[number]), number)
        if self._graph.complete:
            return None
        found = searched(self.skeleton.net, self.skeleton.net.inputs[number], self._effort)
        return (*found.run, number) if isinstance(found, Reached) else None


def _scripts(plan: Plan, every: Sequence[_Runs], part: PlaybookPart) -> Iterator[WitnessScript]:
    """The scripts of runs to a part: to an end first, then those that stop there."""
    wanted = set(part.transitions)
    asking = {*((row.step, row.level) for row in plan.loop_ends), *((row.step, row.level) for row in plan.loop_signals)}
    for runs in every:
        skeleton = runs.skeleton
        for number in range(len(skeleton.origin)):
            if skeleton.transition(number).id not in wanted or (run := runs.to(number)) is None:
                continue
            # A case that ends says how; one that stops in the middle is better than none.
            for each in (_to_an_end(skeleton, run), run):
                if each is not None:
                    ids = [t.id for t in unfolded_run(skeleton, each) if not _is_elsewhere(t, asking)]
                    script = script_of(plan, ids, tried=True)
                    if script is not None:
                        yield script


def _is_elsewhere(t: Transition, asking: Container[tuple[int, int]]) -> bool:
    return t.role in ELSEWHERE or (t.role in COUNTING and (t.step, t.level) in asking)


def _to_an_end(skeleton: Skeleton, run: Sequence[int]) -> tuple[int, ...] | None:
    """The run gone on with, the shortest way, to a marking in which an execution may end; None where none is near."""
    # A failure is often the shortest way out, and it ends what would still be reached.
    for left_out in (frozenset({"fail"}), frozenset[str]()):
        found = _shortest(skeleton, run, left_out)
        if found is not None:
            return found
    return None


def _shortest(skeleton: Skeleton, run: Sequence[int], left_out: frozenset[str]) -> tuple[int, ...] | None:
    net = skeleton.net
    kept = [n for n in range(len(net.transitions)) if skeleton.transition(n).role not in left_out]
    first = net.initial
    for number in run:
        first = fired(net, first, number)
    came: dict[PetriMarking, tuple[PetriMarking, int] | None] = {first: None}
    waiting = deque([first])
    while waiting and len(came) < MOST_STATES:
        here = waiting.popleft()
        if skeleton.is_final(here):
            return (*run, *_back(came, here))
        for number in kept:
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
