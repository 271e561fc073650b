"""Everything that the analysis says about a plan or a net, in the order in which it is shown.

A universal question is refuted, and `reachable` proved, only by a run that replays as a script; a run for which no
data were found leaves the question unknown, and the story says what guards would have to allow.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from noetl_ir.collecting import uncollected
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.bounds import Bounds, bounds_of
from noetlc.analysis.census import Census, census_of
from noetlc.analysis.children import called_by, refined, verdicts_of
from noetlc.analysis.claims import Shows, comes_about, needed_for, shown_by
from noetlc.analysis.concurrency import is_safe
from noetlc.analysis.effort import STANDARD, Budget, Effort
from noetlc.analysis.extents import Extent, extents_of
from noetlc.analysis.knowledge import informed
from noetlc.analysis.petri import Petri
from noetlc.analysis.queries import Query, QueryError, Reachable, Reaches, query_of
from noetlc.analysis.query_checks import check_query, scripted
from noetlc.analysis.reaching import GOES_ROUND
from noetlc.analysis.regions import asked_of, region_verdicts, regions_of
from noetlc.analysis.script import goes_otherwise, script_in_turns, script_of
from noetlc.analysis.siphons import theory_of
from noetlc.analysis.skeleton import success_skeleton, whole_skeleton
from noetlc.analysis.soundness import QUICK, assumptions_of, verdicts_on
from noetlc.analysis.story import told_in_part
from noetlc.analysis.turn_search import found_in_turns
from noetlc.analysis.verdict import BOUNDED, PARTS, Status, Story, StoryLine, Verdict, attempted, failed
from noetlc.analysis.waves import folded_joins
from noetlc.analysis.witness import has_words

EXCLUDED = "guards exclude what free choices would allow"
LAGS = (
    "only places grow that are left in the turn in which they are reached: what leaves them may lag behind in the net,"
    " and does not in a run"
)
MAYBE = "no data were found with which a run does this: guards may exclude it"
OTHERWISE = "no run was found that does this: what follows by itself comes first"


class AnalysisReport(NamedTuple):
    """The verdicts about one plan or net. `census` is there when it was asked for, `extents` and `bounds` of plans."""

    name: str
    verdicts: tuple[Verdict, ...]
    assumptions: tuple[str, ...]
    extents: tuple[Extent, ...]
    bounds: Bounds | None
    census: Census | None

    def has(self, status: Status) -> bool:
        """Whether any verdict has that status."""
        return any(verdict.status is status for verdict in self.verdicts)

    @property
    def is_broken(self) -> bool:
        """Whether a mistake of ours left a question open."""
        return any(verdict.bug is not None for verdict in self.verdicts)


def report_of(plan: Plan, queries: Sequence[str] = (), budget: Budget = STANDARD) -> AnalysisReport:
    """The report on a plan and the children that it embeds; raises QueryError."""
    asked = [query_of(text) for text in queries]
    with uncollected():
        return _report(plan, list(zip(asked, queries, strict=True)), Effort(budget))


def _report(plan: Plan, queries: Sequence[tuple[Query, str]], effort: Effort) -> AnalysisReport:
    # A plan leaves as much of the account to each of its children as it takes itself.
    verdicts = sound(plan, effort.part(1 / (1 + len(plan.children))))
    for query, text in queries:
        verdicts.append(query_verdict(plan, query, text, effort))
    report = AnalysisReport(plan.name, tuple(verdicts), assumptions_of(plan), (), None, None)
    proved = all(verdict.status is Status.PROVED for verdict in verdicts)
    # How often steps run matters little for a plan that is wrong or open, and its net may be endless.
    counting = effort.part(0.5) if proved else effort.part(0.5, QUICK)
    report = _and(report, "how often steps run", lambda: _with_extents(report, plan, counting))
    return _and(report, "the children", lambda: _with_children(report, plan, effort)) if plan.children else report


def _and(report: AnalysisReport, question: str, more: Callable[[], AnalysisReport]) -> AnalysisReport:
    """The report with more; with a verdict that this is unknown where a mistake of ours is in the way."""
    try:
        return more()
    except Exception as error:
        return report._replace(verdicts=(*report.verdicts, failed(question, error)))


def _with_extents(report: AnalysisReport, plan: Plan, effort: Effort) -> AnalysisReport:
    extents = extents_of(plan, effort)
    return report._replace(extents=extents, bounds=bounds_of(plan, extents))


def _with_children(report: AnalysisReport, plan: Plan, effort: Effort) -> AnalysisReport:
    children = called_by(plan, lambda child: sound(child, effort.part(1 / len(plan.children))))
    assumed = refined(plan, children, report.assumptions)
    verdicts = [each._replace(assumptions=assumed) for each in report.verdicts]
    return report._replace(verdicts=(*verdicts, *verdicts_of(plan, children)), assumptions=assumed)


def with_budget(report: AnalysisReport, allowed: Json) -> AnalysisReport:
    """The report with a verdict on each limit of the playbook's `x-budget`; raises BudgetError."""
    from noetlc.analysis.budget import budget_of, check_budget

    if report.bounds is None:
        return report
    return report._replace(verdicts=(*report.verdicts, *check_budget(report.bounds, budget_of(allowed))))


def sound(plan: Plan, effort: Effort) -> list[Verdict]:
    """Soundness on free choices, and again with what guards show where no data were found for what that allows; of each
    region.
    """
    found = region_verdicts(plan, lambda region: _sound(region, effort))
    if plan.cancels and any(each.question == PARTS and each.status is Status.PROVED for each in found):
        return _seen_to_run(plan, found, effort)
    return found


def _seen_to_run(plan: Plan, found: list[Verdict], effort: Effort) -> list[Verdict]:
    """The verdicts, of which that on parts stays proved where scripts run all that another step may cancel: a step, its
    tasks, and what its arcs lead to.
    """
    # In the net a token may be admitted, and a task may end, before the step that withdraws them starts. In a run all
    # of what is at hand starts in one turn, in the order of the arcs: the net alone shows nothing of such steps.
    asked = _withdrawn(plan)
    for at, (subject, step) in enumerate(asked):
        part = effort.part(1 / (1 + len(asked) - at))
        query = Reachable(subject)
        if not subject or query_verdict(plan, query, f"reachable({subject})", part).status is not Status.PROVED:
            name = plan.steps[step].name
            why = f"no run was found that comes through `{name}` before a step that cancels it starts"
            open_ = Verdict(PARTS, Status.UNKNOWN, why, assumptions_of(plan), (name,), plan.steps[step].span)
            return [open_ if each.question == PARTS and each.status is Status.PROVED else each for each in found]
    return found


def _withdrawn(plan: Plan) -> list[tuple[str, int]]:
    """The subjects of queries about what is in steps that others cancel, each with its step: the later tasks and what
    the arcs lead to, else the step itself. One is empty where none tells: that another way leads to a step says nothing
    of an arc to it.
    """
    ways = Counter(arc.target for arc in plan.arcs)
    found: list[tuple[str, int]] = []
    for number in sorted({target for cancel in plan.cancels for target in cancel.targets}):
        step = plan.steps[number]
        names = [f"{step.name}.{plan.tasks[task].name}" for task in step.tasks[1:]]
        behind = [plan.arcs[arc].target for arc in step.arcs]
        names += [plan.steps[target].name if ways[target] == 1 else "" for target in behind]
        names = names or [step.name]  # else it runs where these do
        found += [(name, number) for name in names]
    return found


def _sound(plan: Plan, effort: Effort) -> list[Verdict]:
    free = on_free_choices(plan, effort)
    # What free choices prove holds for all guards, and what a run with data refutes is refuted. Only what is open is
    # worth the larger net.
    if all(verdict.status is not Status.UNKNOWN or verdict.bug for verdict in free) or effort.refuses(plan):
        return free
    return with_guards(plan, free, effort)


def on_free_choices(plan: Plan, effort: Effort) -> list[Verdict]:
    """The first pass: guards are not looked at, but where the data for a run are looked for."""
    skeletons = folded_joins(success_skeleton(plan)), folded_joins(whole_skeleton(plan))
    return _without_echoes([_confirmed(plan, verdict) for verdict in verdicts_on(*skeletons, effort)])


def _without_echoes(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts without doubts about what another run has shown to be wrong."""
    # A run that replays is certain. A doubt about the same steps would tell the author the same fault a second time,
    # with less behind it.
    shown: dict[str, set[str]] = {}
    for each in verdicts:
        if each.script is not None:
            shown.setdefault(each.question, set()).update(each.about)
    return [
        each
        for each in verdicts
        if each.status is not Status.UNKNOWN
        or not each.about
        or not shown.get(each.question, set()).issuperset(each.about)
    ]


def with_guards(plan: Plan, free: list[Verdict], effort: Effort) -> list[Verdict]:
    """The second pass: the verdicts of the first, and what guards exclude of them."""
    known = attempted("what guards exclude", lambda: _informed(plan, effort))
    if not known:
        return free
    found: list[Verdict] = [verdict for verdict in known if verdict.bug]
    # A bug in the second pass leaves the first one as it is: its proofs do not rest on the second.
    if found:
        return [*free, *found]
    for question in dict.fromkeys(verdict.question for verdict in free):
        found += _together(*([each for each in side if each.question == question] for side in (free, known)))
    return _without_echoes(found)


def _informed(plan: Plan, effort: Effort) -> list[Verdict]:
    """The verdicts with what guards show; none where they show nothing."""
    plain = folded_joins(success_skeleton(plan)), folded_joins(whole_skeleton(plan))
    skeletons = informed(plain[0]), informed(plain[1])
    # Where guards show nothing, the same nets would be asked once more.
    if skeletons[0] is plain[0] and skeletons[1] is plain[1]:
        return []
    return [_confirmed(plan, verdict) for verdict in verdicts_on(*skeletons, effort)]


def query_verdict(plan: Plan, query: Query, text: str, effort: Effort) -> Verdict:
    """The verdict on a query, on free choices and then with what guards show; raises QueryError."""
    if why := effort.refuses(plan):
        return Verdict(text, Status.UNKNOWN, why, assumptions_of(plan))
    return asked_of(plan, query, text, lambda region: _region_verdict(region, query, text, effort))


def _region_verdict(plan: Plan, query: Query, text: str, effort: Effort) -> Verdict:
    try:
        free = _confirmed_query(plan, query, check_query(plan, query, text, effort.part(0.5)))
        if free.status is not Status.UNKNOWN:
            return free
        known = _confirmed_query(plan, query, check_query(plan, query, text, effort.part(0.5), informed))
        found = _together([free], [known])[0]
        if isinstance(query, Reaches) or not any(_has_no_words(plan, each) for each in (free, known)):
            return found
        # The shortest run is one that no script can tell. A longer one may be: only such a run counts here, since what
        # a part of the net cannot do, the whole one may. Ends of runs are not asked: there a part may be stuck.
        seen = check_query(plan, query, text, effort.part(0.5), lambda each: scripted(informed(each)))
        told = _confirmed_query(plan, query, seen)
        return found if told.script is None else told
    except QueryError:
        raise
    except Exception as error:
        return failed(text, error)


def _confirmed_query(plan: Plan, query: Query, verdict: Verdict) -> Verdict:
    goes_round = isinstance(query, Reaches) and verdict.detail == GOES_ROUND.format(query.x)
    shows = shown_by(plan, query, ends=not goes_round)
    found = confirmed(plan, verdict, shows, behind=isinstance(query, Reaches))
    if verdict.story is None or found.script is not None or verdict.status is Status.UNKNOWN:
        return found
    return _without_more(plan, query, verdict, shows) or _by_the_engine(plan, query, verdict) or found


def _without_more(plan: Plan, query: Query, verdict: Verdict, shows: Shows) -> Verdict | None:
    """The verdict with a script of what its run needs for what it shows; None where there is none."""
    # A run of a small net brings along what happens to be fused with what it needs. Data may be found without that.
    known = {each.id: each for each in plan.net.transitions}
    assert verdict.story is not None
    part = needed_for(plan, query, [known[id] for id in verdict.story.run])
    if len(part) == len(verdict.story.run):
        return None
    story = told_in_part(plan, verdict.story, part)
    script = script_of(plan, story.run, shows=shows, behind=isinstance(query, Reaches))
    return None if script is None else verdict._replace(story=story, script=script)


def _by_the_engine(plan: Plan, query: Query, verdict: Verdict) -> Verdict | None:
    """The verdict with a run of the engine that shows the same; None where none is found."""
    # The net may leave for later what follows by itself in a run, which then takes the tokens of its run away.
    told = script_in_turns(plan, found_in_turns(plan, query))
    if told is None:
        return None
    known = {each.id for each in plan.net.transitions}
    assert verdict.story is not None
    story = told_in_part(plan, verdict.story, [t for t in told[1] if t.id in known])
    return verdict._replace(story=story, script=told[0])


def _has_no_words(plan: Plan, verdict: Verdict) -> bool:
    """Whether what is told is a run with something that scripts have no words for."""
    if verdict.status is not Status.UNKNOWN or verdict.story is None:
        return False
    unscripted = {each.id for each in plan.net.transitions if not has_words(each)}
    return not unscripted.isdisjoint(verdict.story.run)


def _confirmed(plan: Plan, verdict: Verdict) -> Verdict:
    return attempted(verdict.question, lambda: [confirmed(plan, verdict)])[0]


def confirmed(plan: Plan, verdict: Verdict, shows: Shows = comes_about, *, behind: bool = False) -> Verdict:
    """The verdict with a script that replays its story and still `shows` it, or without its claim; `behind` says that
    what comes behind the story counts, too.
    """
    if verdict.story is None or verdict.script is not None or verdict.status is Status.UNKNOWN:
        return verdict
    # Data were looked for already, for several runs to the same end.
    if verdict.sought:
        return verdict._replace(status=Status.UNKNOWN, detail=f"{verdict.detail}; {MAYBE}")
    script = script_of(plan, verdict.story.run, shows=shows, behind=behind)
    if script is not None:
        return verdict._replace(script=script)
    why = OTHERWISE if goes_otherwise(plan, verdict.story.run, shows) else MAYBE
    return verdict._replace(status=Status.UNKNOWN, detail=f"{verdict.detail}; {why}")


def with_census(report: AnalysisReport, plan: Plan, budget: Budget = STANDARD) -> AnalysisReport:
    """The report with the numbers of the plan's whole skeleton."""

    def counted() -> AnalysisReport:
        skeleton = whole_skeleton(regions_of(plan)[0].plan)
        census = census_of(skeleton.net, budget.states)
        # The verdict leaves places aside that are empty between turns, and the census does not. Without a word about
        # that the two would contradict each other.
        bounded = any(each.question == BOUNDED and each.status is Status.PROVED for each in report.verdicts)
        if bounded and census.pump is not None:
            census = census._replace(why=LAGS)
        return report._replace(census=census)

    return _and(report, "how many states there are", counted)


NET_QUESTIONS = (
    "every place is bounded",
    "no marking is dead",
    "every transition can fire",
    "every transition can always fire again",
)


def proved_net(net: Petri) -> AnalysisReport | None:
    """The report on a net of which the arcs alone prove everything, without its markings; None for any other."""
    theory = theory_of(net)
    if theory.live is not True or not is_safe(net):
        return None
    details = ("the arcs alone exclude a second token in a place", theory.why, theory.why, theory.why)
    verdicts = tuple(Verdict(*row) for row in zip(NET_QUESTIONS, [Status.PROVED] * 4, details, strict=True))
    return AnalysisReport(net.name, verdicts, (), (), None, None)


def net_report(net: Petri, budget: Budget = STANDARD) -> AnalysisReport:
    """The report on a net that is no plan's, its markings counted; where a limit was hit, theorems may know more."""
    try:
        return _net_report(net, budget)
    except Exception as error:
        return AnalysisReport(
            net.name, tuple(failed(question, error) for question in NET_QUESTIONS), (), (), None, None
        )


def _net_report(net: Petri, budget: Budget) -> AnalysisReport:
    census = census_of(net, budget.states)
    runs = net.transitions
    bounded = _judged(NET_QUESTIONS[0], census.pump is None, "bounded" in census.open)
    if census.pump is not None:
        run = [runs[number] for number in census.pump.path + census.pump.cycle]
        places = ", ".join(net.places[place] for place in census.pump.places)
        bounded = bounded._replace(detail=f"the cycle can repeat for ever: {places}", story=_story(run, "and again"))
    dead = _judged(NET_QUESTIONS[1], census.deadlock is None, "deadlock" in census.open)
    if census.deadlock is not None:
        dead = dead._replace(story=_story([runs[number] for number in census.deadlock], "nothing can fire"))
    quasi = _judged(NET_QUESTIONS[2], not census.dead, "dead" in census.open)
    if census.dead:
        quasi = quasi._replace(detail=f"never: {', '.join(runs[number] for number in census.dead)}")
    live = _judged(NET_QUESTIONS[3], census.live is True, census.live is None)
    if census.open & {"deadlock", "dead", "live"}:
        # Theorems need no marking, so that they may answer where the count was cut off. They are asked last, for what
        # the count left open.
        theory = theory_of(net)
        dead = _known(dead, theory.deadlock_free, theory.why)
        quasi = _known(quasi, True if theory.live else None, theory.why)
        live = _known(live, theory.live, theory.why)
    return AnalysisReport(net.name, (bounded, dead, quasi, live), (), (), None, census)


def _known(verdict: Verdict, holds: bool | None, why: str) -> Verdict:
    """An open verdict with what a theorem says."""
    if holds is None or verdict.status is not Status.UNKNOWN:
        return verdict
    return verdict._replace(status=Status.PROVED if holds else Status.REFUTED, detail=why)


def _together(free: list[Verdict], known: list[Verdict]) -> list[Verdict]:
    """The verdicts on one question after both passes: what guards exclude is dropped, what they may exclude stays."""
    if all(verdict.status is not Status.UNKNOWN for verdict in free):
        return free
    if all(verdict.status is not Status.UNKNOWN for verdict in known):
        return [each if each.story else each._replace(detail=f"{each.detail}; {EXCLUDED}") for each in known]
    # The second pass has a larger net and may hit a limit that the first did not. Then the first one says more.
    if not any(each.story for each in known):  # a limit was hit
        return free
    kept = [each for each in free if each.status is not Status.UNKNOWN]
    told = {each.detail for each in kept}
    kept += [each for each in known if each.status is Status.REFUTED and each.detail not in told]
    return [*kept, *(each for each in known if each.status is Status.UNKNOWN)]


def _judged(question: str, holds: bool, is_open: bool) -> Verdict:
    if is_open:
        return Verdict(question, Status.UNKNOWN, "a limit was hit")
    return Verdict(question, Status.PROVED if holds else Status.REFUTED, "")


def _story(run: list[str], end: str) -> Story:
    return Story(tuple(StoryLine(each, None) for each in run), end, (), tuple(run))
