"""The most that one execution can do, as formulas over the sizes of its loops.

    attempts   how often tasks are started, retries included
    tokens     how many steps and iterations are in flight at once (a loop of no items counts as one)
    events     how long the log becomes

The cost of a token is computed backwards, from the last steps to the entry: the cost of its step, then that of the
dearest arc of an exclusive router, or of all arcs of an inclusive one. The cost behind a join is charged once: to one
of its sources (`all`), to the fork that skips some of them (`taken`), or, for a join that counts, to the join itself,
once for each wave that it can have. Steps on a cycle have no bound.

No run exceeds a formula. Where nothing is chosen and nothing fails, the run has exactly as many attempts and events.
Not counted are lost claims, pauses, signals that nothing waits for, children (they have logs and bounds of their own),
and the caller's events about children that have phases behind main.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

from noetl_ir.expr import Literal
from noetl_ir.locks import takes_of
from noetl_ir.plan import ENTRY, MORE, SWALLOW, Plan
from noetl_ir.records import NamedTuple
from noetl_ir.resets import renewed_joins
from noetlc.analysis.extents import Extent
from noetlc.analysis.formulas import ONE, ZERO, Formula, largest, number, plus, size, smaller, times, unbounded, widest
from noetlc.analysis.pipelines import NOTHING, PipelineWork, either, pipeline_of, together
from noetlc.analysis.sizes import Sizes
from noetlc.analysis.skeleton import is_forced, settles
from noetlc.ast.components import components_of

EXECUTION = 5
"""Events of any execution: requested, evaluated, started; finished, processed."""


class Bounds(NamedTuple):
    """The formulas, and what is behind them where that is worth saying."""

    attempts: Formula
    tokens: Formula
    events: Formula
    caveats: tuple[str, ...]


class _Load(NamedTuple):
    """The cost of a token: the work that follows from it in total, and the most tokens that it becomes at once."""

    work: PipelineWork
    tokens: Formula


NO_LOAD = _Load(NOTHING, ZERO)


def bounds_of(plan: Plan, extents: Sequence[Extent] = ()) -> Bounds:
    """The bounds of a plan.

    `extents` come from a search of the net; they give `tokens` a number where a fork stands on a cycle and the arcs
    alone give none.
    """
    return _Bounding(plan).bounds(extents)


def _event(count: int) -> PipelineWork:
    return PipelineWork(ZERO, number(count))


class _Bounding:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sizes = Sizes(plan)
        self._index = {step.name: at for at, step in enumerate(plan.steps)}
        # Only arcs of which the net has a transition: nothing comes of any other one.
        built = {t.arc for t in plan.net.transitions if t.role == "take"}
        self._arcs = [[row for row in step.arcs if row in built] for step in plan.steps]
        targets = [[plan.arcs[row].target for row in rows if plan.arcs[row].target >= 0] for rows in self._arcs]
        self._groups = list(components_of(targets))  # strongly connected; each comes after those that it leads to
        self._circles = {
            step: members for members in self._groups for step in members if len(members) > 1 or step in targets[step]
        }
        self._locked = frozenset(takes_of(plan))  # three events a run: waits for its locks, takes them, gives them back
        self._interrupted = frozenset(row.step for row in plan.interrupts)  # two: the signal or timer, and the stop
        self._renewed = renewed_joins(plan)
        # A settled join starts when no further token can come. Off a cycle none comes later, so that the join starts at
        # most as often as its most frequent source. A forced start, because nothing else can move, may have more
        # behind.
        self._may_be_forced = settles(plan) and is_forced(plan)
        self._forks = self._dead_makers()
        self._forked = {join: fork for fork, joins in self._forks.items() for join in joins}
        self._loads: list[_Load] = [NO_LOAD] * len(plan.steps)
        self._uncounted: list[str] = []
        self._limited = {(step, level) for step, level, _ in plan.iteration_limits}
        self._asking = {(end.step, end.level) for end in plan.loop_ends if end.enough >= 0}
        self._growing = {row[:2] for row in plan.loop_signals if row.verb == MORE}
        self._outside = {row[:2] for row in plan.loop_signals if row.verb != MORE}
        self._leaving = {end.step for end in plan.loop_ends if end.rest == SWALLOW}
        self._inner = [self._run(step) for step in range(len(plan.steps))]
        self._undone: dict[int, Formula] = {}
        self._runs = self._most_runs()
        if plan.compensations:  # the tokens of a compensation come from no arc
            self._undone = self._runs_undone()
            self._runs = self._most_runs()
        self._charged: dict[int, str] = {}

    def bounds(self, extents: Sequence[Extent]) -> Bounds:
        for members in self._groups:
            inner = [self._circle(step, members) if step in self._circles else self._load(step) for step in members]
            for step, load in zip(members, inner, strict=True):
                self._loads[step] = load
        roots = [self._root(step) for step in self._counting()]
        starts = [self._plan.entry, *(phase.step for phase in self._plan.phases)]
        entries = [self._arriving(step, ENTRY) for step in starts]
        entries += [self._undoing(target) for target in dict.fromkeys(each.target for each in self._plan.compensations)]
        # A later phase has two events of its own, and its limit of time fires once at most.
        phases = len(self._plan.phases) + bool(self._plan.compensations)
        # `concurrency` adds two events: the execution is queued, where all places are taken, and gets its place.
        places = 2 * (self._plan.concurrency is not None)
        own = _event(EXECUTION + places + (2 + (self._plan.after >= 0)) * phases)
        work = together((*(entry.work for entry in entries), *(root.work for root in roots), own))
        # Phases follow each other.
        tokens = plus((widest([entry.tokens for entry in entries]), *(root.tokens for root in roots)))
        at_once = [self._at_once(extent) for extent in extents]
        if at_once:
            # The extents were counted on the net. They say something where the arcs alone give no bound.
            tokens = smaller(tokens, plus(at_once)) if tokens.why else tokens
        limit = self._plan.limits.max_tasks_per_run
        caveats = [
            f"the jumps of `{name}` end only at `limits.max_tasks_per_run`, {limit:,}" for name in self._uncounted
        ]
        return Bounds(work.attempts, tokens, work.events, tuple(caveats))

    def _undoing(self, target: int) -> _Load:
        """The cost of all compensations that begin at a step: one for each run or iteration that may be undone."""
        load = self._arriving(target, ENTRY)
        return load._replace(work=together((load.work, _event(2))).times(self._undone[target]))

    def _runs_undone(self) -> dict[int, Formula]:
        found: dict[int, list[Formula]] = {each.target: [] for each in self._plan.compensations}
        for each in self._plan.compensations:
            items = [self._sizes.items(loop) for loop in self._plan.steps[each.step].loops]
            found[each.target].append(reduce(times, items, self._runs[each.step]))
        return {target: plus(runs) for target, runs in found.items()}

    def _run(self, number_: int) -> _Load:
        """The cost of one run of a step, from its token to its router's decision, without what follows."""
        step = self._plan.steps[number_]
        pipeline = pipeline_of(self._plan, self._sizes, step.tasks) if step.tasks else None
        if pipeline is not None and not pipeline.is_counted:
            self._uncounted.append(step.name)
        work, tokens = NOTHING if pipeline is None else pipeline.work, ONE
        for level in range(len(step.loops) - 1, -1, -1):
            limited = (number_, level) in self._limited  # one more event where it runs out of time
            arrives = 2 * ((number_, level) in self._growing)  # its signal, and what that adds
            iteration = together((_event(2 + limited + arrives), work))
            items, in_flight = self._items(number_, level)
            # One more where it has enough, and two where it may be closed from outside.
            at = (number_, level)
            events = (2 if level else 1) + (at in self._asking) + 2 * (at in self._outside) + (at in self._growing)
            work = together((_event(events), iteration.times(items)))
            tokens = times(in_flight, tokens)
        # Events of the step itself, without its tasks.
        frame = (
            4 + step.waits + 3 * (number_ in self._locked) + 2 * (number_ in self._interrupted) + (step.timeout >= 0)
        )  # scheduled, started, done, routed; waits; runs out of time
        return _Load(together((_event(frame), work)), widest((ONE, tokens)))

    def _items(self, number_: int, level: int) -> tuple[Formula, Formula]:
        """(items of a loop, items that run at once). Items that signals add are a size of their own: `added to STEP`,
        with the level behind it where that is not the outermost.
        """
        step = self._plan.steps[number_]
        loop = step.loops[level]
        items, in_flight = self._sizes.items(loop), self._sizes.in_flight(loop)
        if (number_, level) in self._growing:
            added = size(f"added to {step.name}" + (f" {level + 1}" if level else ""))
            written = self._plan.templates[loop.in_flight] if loop.in_flight >= 0 else None
            most = written.value if isinstance(written, Literal) else None
            bound = number(most) if isinstance(most, int) else plus((in_flight, added))
            items, in_flight = plus((items, added)), in_flight if loop.sequential else bound
        return items, in_flight

    def _load(self, step: int) -> _Load:
        """The cost of one run of a step that is on no cycle, and of everything that follows from it."""
        after = [self._along(row) for row in self._arcs[step]]
        for join in self._forks.get(step, ()):
            joined, sources = self._loads[join], len(self._plan.steps[join].join.sources)
            after.append(_Load(together((joined.work, _event(sources + 1))), joined.tokens))
        own = self._inner[step]
        if self._plan.steps[step].inclusive:
            following = _Load(together([row.work for row in after]), plus([row.tokens for row in after]))
        else:
            following = _Load(either([row.work for row in after]), widest([row.tokens for row in after]))
        # Iterations that a step leaves behind (`rest: swallow`) run beside all that follows, hence the sum of tokens.
        both = plus if step in self._leaving else widest
        return _Load(together((own.work, following.work)), both((own.tokens, following.tokens)))

    def _circle(self, step: int, members: list[int]) -> _Load:
        """The cost of a step on a cycle: attempts and events without a bound; the tokens of the cycle's widest part, as
        long as nothing in it forks.
        """
        names = " and ".join(f"`{self._plan.steps[each].name}`" for each in sorted(members))
        endless = unbounded(f"{names} can run again and again")
        inside = set(members)
        tokens = [self._inner[each].tokens for each in members]
        for each in members:
            row = self._plan.steps[each]
            # Each round of a cycle with a fork may leave a token behind, so that no number of tokens can be promised
            # from the arcs.
            if each in self._leaving:
                return _Load(
                    PipelineWork(endless, endless), unbounded(f"`{row.name}` leaves iterations behind on a cycle")
                )
            if row.inclusive and len(self._arcs[each]) > 1:
                return _Load(PipelineWork(endless, endless), unbounded(f"`{row.name}` forks on a cycle"))
            outside = [arc for arc in self._arcs[each] if self._plan.arcs[arc].target not in inside]
            tokens += [self._along(arc).tokens for arc in outside]
        attempts = endless if any(self._plan.steps[each].tasks for each in members) else ZERO
        return _Load(PipelineWork(attempts, endless), widest(tokens))

    def _along(self, row: int) -> _Load:
        """The cost of a token that takes an arc."""
        arc = self._plan.arcs[row]
        if arc.target < 0:
            return NO_LOAD
        there = self._arriving(arc.target, self._plan.steps[arc.step].name)
        return there._replace(work=together((there.work, _event(1)))) if arc.delay >= 0 else there

    def _arriving(self, step: int, source: str) -> _Load:
        """The cost of a token that comes to a step from a source: a whole run, or its share in a join."""
        join = self._plan.steps[step].join
        load = self._loads[step]
        if join.mode == "any":
            return load
        if step in self._renewed:  # each token may begin a wave, and be withdrawn
            return _Load(_event(2), ONE)
        if join.mode == "tokens":
            # Each token is charged with a run, though n of them start one. That is too much for n > 1, never too
            # little.
            return _Load(together((load.work, _event(2))), widest((load.tokens, ONE)))
        if join.mode in ("count", "settled"):
            return _Load(_event(1), ONE)
        # Of all tokens that a join takes, one alone is charged with what follows. With each of them charged, the
        # bound would be a multiple of what can happen.
        withdrawn = _event(int(bool(self._plan.cancels)))
        if step in self._forked or source != self._charged_source(step):
            return _Load(withdrawn, ONE)
        joined = 1 if join.mode == "all" else 1 + len(join.sources)
        return _Load(together((load.work, _event(joined), withdrawn)), widest((load.tokens, ONE)))

    def _root(self, step: int) -> _Load:
        """The cost of a join that is charged to none of its tokens (`_counting`): for each wave a run and
        two events.
        """
        waves = self._runs[step]
        load = self._loads[step]
        return _Load(together((load.work, _event(2))).times(waves), times(load.tokens, waves))

    def _counting(self) -> Iterator[int]:
        modes = enumerate(step.join.mode for step in self._plan.steps)
        return (at for at, mode in modes if mode in ("count", "settled") or at in self._renewed)

    def _charged_source(self, step: int) -> str:
        """The source, of a join that waits for all, whose tokens are charged with its runs: the one that sends fewest.

        Remembered, since every arc into the join asks.
        """
        if step not in self._charged:
            self._charged[step] = self._least(step)
        return self._charged[step]

    def _least(self, step: int) -> str:
        sources = self._plan.steps[step].join.sources
        arriving = [(self._sent(source, step), source) for source in sources]
        least = arriving[0]
        for each in arriving[1:]:
            if smaller(least[0], each[0]) != least[0]:
                least = each
        return least[1]

    def _sent(self, source: str, step: int) -> Formula:
        """The tokens that a source can send to a step in all."""
        if source == ENTRY:
            return self._undone.get(step, ONE)
        at = self._index[source]
        arcs = sum(self._plan.arcs[row].target == step for row in self._arcs[at])
        many = arcs if self._plan.steps[at].inclusive else min(arcs, 1)
        return times(self._runs[at], number(many))

    def _most_runs(self) -> list[Formula]:
        """The runs of each step in all, its sources first."""
        self._runs = [ZERO] * len(self._plan.steps)
        for members in reversed(self._groups):
            for step in members:
                if step in self._circles:
                    names = " and ".join(f"`{self._plan.steps[each].name}`" for each in sorted(members))
                    self._runs[step] = unbounded(f"{names} can run again and again")
                    continue
                join = self._plan.steps[step].join
                arriving = [self._sent(source, step) for source in join.sources]
                if step in self._renewed:
                    self._runs[step] = plus(arriving)
                elif step in self._forked:
                    self._runs[step] = self._runs[self._forked[step]]
                elif join.mode in ("any", "tokens") or (join.mode == "settled" and self._may_be_forced):
                    self._runs[step] = plus(arriving)
                elif join.mode not in ("count", "settled"):
                    least = arriving[0] if arriving else ZERO
                    for each in arriving[1:]:
                        least = smaller(least, each)
                    self._runs[step] = least
                else:
                    self._runs[step] = largest(arriving)
        return self._runs

    def _dead_makers(self) -> dict[int, dict[int, None]]:
        """Fork → its `taken` joins, to which it sends a dead token for each branch that it does not take."""
        places, found = self._plan.net.places, dict[int, dict[int, None]]()
        for t in self._plan.net.transitions:
            for arc in t.outputs:
                if places[arc.place].role == "dead" and places[arc.place].step not in self._renewed:
                    found.setdefault(t.step, {})[places[arc.place].step] = None
        return found

    def _at_once(self, extent: Extent) -> Formula:
        if extent.at_once is None:
            return unbounded(f"many runs of `{extent.step}` at once")
        step = self._index[extent.step]
        # Runs that are over may have left iterations running, so that all runs count, not only those at once.
        runs = self._runs[step] if step in self._leaving else number(extent.at_once)
        return times(runs, self._inner[step].tokens)
