"""The most that one run of a pipeline does: attempts of its tasks, and events of the log for them.

Tasks and the ways between them are a graph. Without jumps back the dearest way through it is the answer. A circle of
jumps is bounded by its counter (`counters`): the ways that ask it are taken out, and what is left is gone through once
before each of them and once behind the last.

    first · (passes - 1) × middle · last

A circle that nothing counts is bounded by `limits.max_tasks_per_run`.
"""

from collections.abc import Iterable, Sequence

from noetl_ir.plan import Plan, Task
from noetl_ir.records import NamedTuple
from noetlc.analysis.counters import END, Counters, RuleWay, ways_of
from noetlc.analysis.formulas import ZERO, Formula, largest, number, plus, times
from noetlc.analysis.sizes import Sizes
from noetlc.ast.components import components_of

DEEPEST = 8
"""Circles inside each other that are looked into."""


class PipelineWork(NamedTuple):
    """Attempts and events."""

    attempts: Formula
    events: Formula

    def times(self, count: Formula) -> "PipelineWork":
        """As often as that."""
        return PipelineWork(times(self.attempts, count), times(self.events, count))


NOTHING = PipelineWork(ZERO, ZERO)


def together(parts: Iterable[PipelineWork]) -> PipelineWork:
    """One after the other, or side by side."""
    rows = list(parts)
    return PipelineWork(plus(row.attempts for row in rows), plus(row.events for row in rows))


def either(parts: Iterable[PipelineWork]) -> PipelineWork:
    """One of them, whichever does more."""
    rows = list(parts)
    return PipelineWork(largest(row.attempts for row in rows), largest(row.events for row in rows))


class Pipeline(NamedTuple):
    """The most of one run. `is_counted` is false where only `limits.max_tasks_per_run` bounds it."""

    work: PipelineWork
    is_counted: bool


def pipeline_of(plan: Plan, sizes: Sizes, tasks: Sequence[int]) -> Pipeline:
    """One run of a step's tasks, or of one iteration."""
    work = {task: _visit(plan.tasks[task]) for task in tasks}
    ways = [way for way in ways_of(plan, tasks) if way.target != END]
    found = _Walks(Counters(plan, sizes, tasks), work).longest(frozenset(tasks), ways, frozenset(tasks[:1]), None, 0)
    if found is not None:
        return Pipeline(found, True)
    return Pipeline(either(work.values()).times(number(plan.limits.max_tasks_per_run)), False)


def _visit(task: Task) -> PipelineWork:
    """One arrival at a task with all its attempts: started, done; patches of `ctx`; timers and signals it waits for."""
    retries = [rule for rule in task.rules if rule.directive == "retry"]
    attempts = max([1, *(rule.attempts for rule in retries)])
    # An attempt has two events, started and done, and one more where a rule writes to `ctx`.
    again, last = 2 + any(rule.set_ctx for rule in retries), 2 + any(rule.set_ctx for rule in task.rules)
    later = any(rule.directive == "jump" and rule.delay >= 0 for rule in task.rules)
    parked = 2 if task.kind == "wait" else int(task.kind == "playbook" and task.timeout >= 0)
    # Sent, or over time and sent nonetheless.
    parked += int(task.kind == "signal")
    events = (attempts - 1) * (again + 1) + last + later + attempts * parked
    return PipelineWork(number(attempts), number(events))


class _Walks:
    def __init__(self, counters: Counters, work: dict[int, PipelineWork]) -> None:
        self._counters = counters
        self._work = work

    def longest(
        self,
        tasks: frozenset[int],
        ways: list[RuleWay],
        sources: frozenset[int],
        goals: frozenset[int] | None,
        depth: int,
    ) -> PipelineWork | None:
        """The dearest walk from a source to a goal, or to anywhere; None where nothing bounds it."""
        names = sorted(tasks)
        index = {task: at for at, task in enumerate(names)}
        targets: list[list[int]] = [[] for _ in names]
        for way in ways:
            targets[index[way.source]].append(index[way.target])
        best: dict[int, PipelineWork | None] = {}
        for members in components_of(targets):  # each after all that it leads to
            inside = frozenset(names[member] for member in members)
            after = [best[at] for member in members for at in targets[member] if at not in members]
            rest = [work for work in after if work is not None]
            if not rest and goals is not None and goals.isdisjoint(inside):
                best.update(dict.fromkeys(members))
                continue
            own = self._work[names[members[0]]]
            if len(members) > 1 or members[0] in targets[members[0]]:
                into = {way.target for way in ways if way.target in inside and way.source not in inside}
                entries = inside & (sources | into)
                within = [way for way in ways if way.source in inside and way.target in inside]
                circle = self._circle(inside, within, entries, depth) if entries else NOTHING
                if circle is None:
                    return None
                own = circle
            best.update(dict.fromkeys(members, together((own, either(rest)))))
        found = [work for source in sources if (work := best[index[source]]) is not None]
        return either(found)

    def _circle(
        self, tasks: frozenset[int], ways: list[RuleWay], entries: frozenset[int], depth: int
    ) -> PipelineWork | None:
        """The dearest walk inside tasks that lead to each other."""
        # Each circle that is looked into asks four times about the rest. Deeper ones count as unbounded, which is
        # always right.
        if depth == DEEPEST:
            return None
        for key in self._counters.keys(tasks):
            limits = {way: limit for way in ways if (limit := self._counters.below(key, way)) is not None}
            if not limits or not self._grows(key, tasks, ways, frozenset(limits)):
                continue
            # Several ways may ask the counter with different bounds. The largest is above all of them.
            passes = self._counters.passes(key, tasks, largest(limits.values()))
            # Where this key is also set to what is no written number, another counter of the circle may bound it.
            if passes is None:
                continue
            rest = [way for way in ways if way not in limits]
            asked, behind = frozenset(w.source for w in limits), frozenset(w.target for w in limits)
            parts = (
                self.longest(tasks, rest, entries, None, depth + 1),
                self.longest(tasks, rest, entries, asked, depth + 1),
                self.longest(tasks, rest, behind, asked, depth + 1),
                self.longest(tasks, rest, behind, None, depth + 1),
            )
            without, first, middle, last = parts
            if without is None or first is None or middle is None or last is None:
                continue
            if passes == ZERO:
                return without
            return either((without, together((first, middle.times(_less_one(passes)), last))))
        return None

    def _grows(self, key: str, tasks: frozenset[int], ways: list[RuleWay], asking: frozenset[RuleWay]) -> bool:
        """Whether the counter grows from each time that it is asked to the next."""
        after: dict[int, list[int]] = {task: [] for task in tasks}
        for way in ways:
            # A walk from one asking to the next that never counts up could go round for ever below the bound.
            if not self._counters.counts(key, way) and way not in asking:
                after[way.source].append(way.target)
        sources = {way.source for way in asking}
        seen = {way.target for way in asking if not self._counters.counts(key, way)}
        waiting = list(seen)
        while waiting:
            task = waiting.pop()
            if task in sources:
                return False
            fresh = [each for each in after[task] if each not in seen]
            seen.update(fresh)
            waiting += fresh
        return True


def _less_one(passes: Formula) -> Formula:
    """One less where that is a number; a size as it is."""
    count = passes.value({})
    return passes if count is None else number(count - 1)
