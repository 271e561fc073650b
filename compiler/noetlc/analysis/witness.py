"""Data that make a run of the skeleton a run of the playbook: workload values and outcomes under which every guard on
the way decides as the run does. Guards are asked by the evaluator itself, so what is found here replays.

The run is walked transition by transition. Where something is asked (a guard, the rules of a task, the items of a
loop), values are tried for the paths that the expression reads: those it compares with, their neighbours, and some of
each type. What turns out wrong later is taken back: not the last decision, but the last one that what went wrong
depends on (backjumping: Prosser 1993). `MAX_TRIES` and `MAX_ASKED` bound that. The walk keeps `ctx` and `iter` as the
rules write them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import TypeAlias

from noetl_ir.evaluate import Fault, compile_guard, compile_template
from noetl_ir.evaluate.access import rows_of
from noetl_ir.expr import Attribute, Expr, Item, Json, Name, expressions_of, walk
from noetl_ir.net import Transition
from noetl_ir.outcome import kind_of_error
from noetl_ir.plan import Plan, Reducer, Rule
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import Unfit, reduced_value
from noetl_ir.scopes import PlayScope
from noetlc.analysis.iterations import allows, are_told, indexes_of, sizes_of
from noetlc.analysis.outcomes import OUTCOMES, LoopEnds, Outcomes, Trees, event_of_loop, event_of_run, results_of
from noetlc.analysis.starts import starts_of
from noetlc.analysis.trials import (
    PLAIN,
    Candidates,
    NoValue,
    TrialPath,
    constants_in,
    guard_of,
    merged_values,
    tree_of,
    workload_of,
)
from noetlc.expr.shorthand import static_path

MAX_TRIES, MAX_ASKED = 4_000, 4_000
"""States of one walk, and questions to guards and templates in it."""

MAX_VALUES = 400
"""Combinations of values that are tried for one guard."""

UNSCRIPTED = frozenset({
    "fault", "lost", "expire", "interrupt", "skip", "stop", "leave", "empty_failed", "add", "shut", "admit_fault",
    "expand_fault", "err",
})  # fmt: skip
"""Roles that are not scripted: faults of the playbook, lost workers, what a failing loop does to its others, and how
one ends that may have enough.
"""
COUNTING = frozenset({"empty", "close", "close_failed"})
"""Roles of the end of a loop, which are not scripted where it is asked whether it has enough: that is a matter of how
many items it has, of which a run of the net has one.
"""


class KnownData(NamedTuple):
    """The data at one place of a run: `ctx`, `iter` by step, and the results of steps by name."""

    ctx: dict[str, Json]
    iters: dict[int, dict[str, Json]]
    results: dict[str, Json]


class Witness(NamedTuple):
    """Values by path; what is not named may be anything. `known` are the data at the places that were asked for."""

    values: dict[TrialPath, Json]
    known: tuple[KnownData, ...] = ()

    def workload(self) -> dict[str, Json]:
        """The payload."""
        return tree_of(self.values, ("workload",))

    def outcome(self, number: int) -> dict[str, Json]:
        """The fields of an outcome beside its status."""
        return tree_of(self.values, ("outcome", number))


class _State(NamedTuple):
    """The facts that the walk knows at one place of the run.

    `values` are the values that were chosen, by path, `absent` the paths that were chosen to have none. `behind` are
    the paths that values written by rules depend on. `last` has the number of the latest outcome of each step that
    gives a result, `shown` that of any, `results` that of its latest success; `failed` are the steps whose latest
    outcome was a failure. `outcomes` counts the outcomes so far. Tasks made by lowering give no result. `ended` has the
    ends of the iterations of each step's latest loop, `lists` those of its latest loop that ended well, `broken` the
    numbers of the outcomes that failed some, by their indexes. `said` has what a rule says of an outcome that it fails.
    """

    values: dict[TrialPath, Json]
    absent: frozenset[TrialPath]
    ctx: dict[str, Json]
    iters: dict[int, dict[str, Json]]
    last: dict[int, int]
    results: dict[int, int]
    failed: frozenset[int]
    outcomes: int
    ended: dict[int, LoopEnds]
    lists: dict[int, LoopEnds]
    shown: dict[int, int]
    broken: dict[int, dict[int, int]]
    said: dict[int, dict[str, Json]]
    behind: frozenset[TrialPath] = frozenset()


_Fits: TypeAlias = Callable[[_State], bool]
"""Whether a state has what is wanted."""

_Asked: TypeAlias = Callable[[PlayScope], bool]
"""A guard, compiled."""


_NOTHING = _State({}, frozenset(), {}, {}, {}, {}, frozenset(), 0, {}, {}, {}, {}, {})
"""What is known at the beginning."""


def has_words(t: Transition, *, tried: bool = False) -> bool:
    """Whether a script can tell a transition; where it is `tried` first, what parks may come out as it says."""
    return t.role not in UNSCRIPTED and (tried or t.role != "park")


def witness_of(
    plan: Plan, run: Sequence[Transition], behind: Sequence[int] = (), *, tried: bool = False
) -> Witness | None:
    """Values for a run of the plan's net, and the data `behind` so many of its transitions each; None when none were
    found. Where it is `tried` before anything is said of it, the outcome of a task that parks is one of the values.
    """
    # A script has no words for these, so that a run with one of them cannot be replayed, whatever its data are.
    asking = {row[:2] for row in (*plan.loop_ends, *plan.loop_signals)}
    if not all(has_words(each, tried=tried) for each in run) or any(
        each.role in COUNTING and (each.step, each.level) in asking for each in run
    ):
        return None
    if not tried and not are_told(plan, run):
        return None
    walk_ = _Walk(plan, run, tried=tried)
    states = [_NOTHING._replace(ctx=starts_of(plan))]
    ways = [walk_.after(states[0], run[0], 0)] if run else []
    blame: list[frozenset[TrialPath]] = [frozenset()]
    for _ in range(MAX_TRIES):
        if len(ways) < len(states) or not ways:
            values = states[-1].values  # some of what is read early is chosen late
            return Witness(values, tuple([walk_.known(states[each]._replace(values=values)) for each in behind]))
        state = next(ways[-1], None)
        if state is not None:
            at = len(ways)
            states.append(state)
            if at < len(run):
                ways.append(walk_.after(state, run[at], at))
                blame.append(frozenset())
            continue
        # A transition that is impossible now is so because of what it reads, or of what its alternatives have already
        # blamed.
        guilty = blame[-1] | walk_.reads(states[-1], run[len(ways) - 1])
        while True:  # back to the last decision that this depends on
            ways.pop()
            blame.pop()
            if not ways:
                return None
            after = states.pop()
            if _depends(guilty, states[-1], after, len(ways) - 1):
                break
        # The blame goes along: when the decision has no further value, it is to what was behind all of its failures
        # that the walk goes back.
        blame[-1] |= guilty
        # Questions are counted, not seconds, so that every machine gives up at the same one. A run without data is
        # then no proof that there are none: the verdict is `unknown`.
        if walk_.asked > MAX_ASKED:
            return None
    return None


def _depends(guilty: frozenset[TrialPath], before: _State, after: _State, at: int) -> bool:
    """Whether something guilty was decided between two states: by a value, its absence, or the choice of a rule."""
    # The choice of a rule decides what is written, also where it chose no value.
    if ("rule", at) in guilty:
        return True
    fresh = [path for path in after.values if path not in before.values]
    fresh += [path for path in after.absent if path not in before.absent]
    return any(_related(path, other) for path in fresh for other in guilty)


def _related(one: TrialPath, other: TrialPath) -> bool:
    """Whether one path is the other, or lies above or below it."""
    return one[: len(other)] == other or other[: len(one)] == one


class _Walk:
    def __init__(self, plan: Plan, run: Sequence[Transition], *, tried: bool) -> None:
        self._plan = plan
        self._any_items = tried
        self._outcomes = Outcomes(plan, run)
        self._sizes, self._indexes = sizes_of(run), indexes_of(plan, run)
        self._workload = workload_of(plan)
        self.asked = 0
        self._candidates = Candidates(plan)
        self._numbers = {step.name: number for number, step in enumerate(plan.steps)}
        self._guards = {t.arc: t.guard for t in plan.net.transitions if t.role == "take"}
        self._admits = {t.step: t.guard for t in plan.net.transitions if t.role == "admit"}
        self._certain = self._constraints(run)

    def _constraints(self, run: Sequence[Transition]) -> dict[TrialPath, list[tuple[_Asked, bool]]]:
        """The demands of those guards of a run that read one path of the workload and nothing else."""
        found: dict[TrialPath, dict[tuple[int, bool], _Asked]] = {}
        for t in run:
            guards = self._admits if t.role in ("admit", "deny") else self._guards
            guard = guards.get(t.step if guards is self._admits else t.arc, -1)
            if guard < 0 or t.role not in ("take", "pass", "admit", "deny"):
                continue
            expr = guard_of(self._plan.templates[guard])
            paths = set(self._paths(expr, _NOTHING, t.step, -1))
            names = {each.name for each in walk(expr) if isinstance(each, Name)}
            # Only such a guard can be asked at once, whatever the rest of the run does: the workload never changes.
            if len(paths) == 1 and len(names) == 1 and next(iter(paths))[0] == "workload":
                wanted = t.role in ("take", "admit")
                found.setdefault(next(iter(paths)), {})[guard, wanted] = compile_guard(expr)
        return {path: [(asked, key[1]) for key, asked in rows.items()] for path, rows in found.items()}

    def reads(self, state: _State, t: Transition) -> frozenset[TrialPath]:
        """The paths of earlier decisions that decide whether a transition can be the next."""
        found: set[TrialPath] = set()
        for expr in self._exprs(t):
            found.update(self._paths(expr, state, t.step, -1))
            for each in walk(expr):
                if isinstance(each, Name):
                    found.update(self._behind(each.name, state, t.step))
        return frozenset(found)

    def _behind(self, name: str, state: _State, step: int) -> Iterator[TrialPath]:
        """The paths that a name of an expression may stand for."""
        if name in ("ctx", "iter"):
            yield from state.behind
        elif name == "workload":
            yield ("workload",)
        elif name in self._workload:
            yield ("workload", name)
        elif name in ("event", "outcome"):
            ends = [state.last.get(step), state.shown.get(step), *state.ended.get(step, ())]
            ends += state.broken.get(step, {}).values()
            yield from (("outcome", at) for at in ends if at is not None and at >= 0)
        elif name in self._numbers:
            number = self._numbers[name]
            ends = [state.results.get(number), *state.lists.get(number, ())]
            yield from (("outcome", at) for at in ends if at is not None and at >= 0)

    def _exprs(self, t: Transition) -> list[Expr]:
        """The expressions that are asked when a transition fires."""
        rows: list[int] = []
        match t.role:
            case "take":
                arc = self._plan.arcs[t.arc]
                rows = [self._guards[t.arc], arc.args, arc.delay]
            case "pass":
                rows = [self._guards[t.arc]]
            case "admit" | "deny":
                rows = [self._admits[t.step]]
            case "expand" | "empty" if t.level <= 0:
                loop = self._plan.steps[t.step].loops[0]
                rows = [loop.items, loop.in_flight]
            case role if role in OUTCOMES:
                for rule in self._plan.tasks[t.task].rules:
                    rows += [rule.when, *(row for _, row in (*rule.set_ctx, *rule.set_iter))]
            case _:
                pass
        return [expr for row in rows if row >= 0 for expr in expressions_of(self._plan.templates[row])]

    def after(self, state: _State, t: Transition, at: int) -> Iterator[_State]:
        """The states after a transition, the likeliest first; `at` is its place in the run."""
        match t.role:
            case "take":
                return self._taken(state, t)
            case "pass" if self._guards[t.arc] >= 0:
                return self._asked(state, self._guards[t.arc], False, t.step, -1)
            case "admit" | "deny" if self._admits[t.step] >= 0:
                return self._asked(state, self._admits[t.step], t.role == "admit", t.step, -1)
            case "begin" if t.level < 1:
                # Each run of a step begins with an empty `iter`.
                return iter((state._replace(iters={**state.iters, t.step: {}}),))
            case "expand" | "empty":
                return self._sized(state, t, self._sizes.get(at, 0))
            case "bad" if t.level == 0:
                return iter((_with_failure(state, t.step, self._indexes[at]),))
            case "close" | "close_failed" if t.level == 0:
                return iter((self._closed(state, t),))
            case role if role in OUTCOMES:
                return self._ruled(state, t, at)
            case _:
                return iter((state,))

    def _closed(self, state: _State, t: Transition) -> _State:
        """A loop is over. Of the `iter` of its iterations the step keeps what is the compiler's own."""
        own = {key: value for key, value in state.iters.get(t.step, {}).items() if key.startswith("__")}
        state = state._replace(iters={**state.iters, t.step: own})
        if t.role == "close_failed":
            return state._replace(failed=state.failed | {t.step})
        lists = {**state.lists, t.step: state.ended.get(t.step, ())}
        return state._replace(failed=state.failed - {t.step}, lists=lists)

    def _ruled(self, state: _State, t: Transition, at: int) -> Iterator[_State]:
        """An outcome, and the rule that gives the directive."""
        number = state.outcomes
        failed = state.failed | {t.step} if t.role == "fail" else state.failed - {t.step}
        behind = state.behind | self.reads(state, t) if _writes(self._plan, t) else state.behind
        state = state._replace(outcomes=number + 1, failed=failed, shown={**state.shown, t.step: number})
        # Nobody can read the result of a task that lowering made.
        if not self._plan.tasks[t.task].generated:
            if self._plan.steps[t.step].loops:
                state = _with_end(state, t.step, self._indexes[at], number)
            else:
                fresh = {} if t.role == "fail" else {t.step: number}
                state = state._replace(last={**state.last, t.step: number}, results={**state.results, **fresh})
        rules = self._plan.tasks[t.task].rules
        states: list[Iterator[_State]] = []
        for chosen, rule in enumerate(rules):
            if rule_fits(self._plan, rule, t):
                # Each rule with that directive is a way, the first in the file first. The rules before it must not
                # match, as in the engine.
                states.append(self._first(state, t, rules[:chosen], rule))
        if t.role == "continue" and (not rules or rules[-1].when >= 0):
            states.append(self._first(state, t, rules, None))
        if not rules:
            states.append(iter((state,)))
        if _writes(self._plan, t):
            behind |= {("outcome", number), ("rule", at)}
        return (each._replace(behind=behind) for way in states for each in way)

    def _first(self, state: _State, t: Transition, before: Sequence[Rule], chosen: Rule | None) -> Iterator[_State]:
        """The states in which the rules before do not match and the chosen one does."""
        number = state.outcomes - 1
        states: Iterator[_State] = iter((state,))
        for rule in before:
            states = self._all(states, rule.when, False, t, number)
        if chosen is not None and chosen.when >= 0:
            states = self._all(states, chosen.when, True, t, number)
        if chosen is None:
            return states
        return (after for each in states for after in self._written(each, chosen, t, number))

    def _all(self, states: Iterator[_State], guard: int, wanted: bool, t: Transition, number: int) -> Iterator[_State]:
        for state in states:
            yield from self._asked(state, guard, wanted, t.step, number)

    def _written(self, state: _State, rule: Rule, t: Transition, number: int) -> Iterator[_State]:
        """The states after a rule's patches, none of which may be undefined."""
        told = {name: row for name, row in (("code", rule.code), ("message", rule.message)) if row >= 0}
        rows = [template for pairs in (rule.set_ctx, rule.set_iter, told.items()) for _, template in pairs]
        for each in self._defined(state, rows, t.step, number):
            scope = self._scope(each, t.step, number)
            ctx, own = dict(each.ctx), dict(each.iters.get(t.step, {}))
            for pairs, target in ((rule.set_ctx, ctx), (rule.set_iter, own)):
                target.update((key, compile_template(self._plan.templates[row])(scope)) for key, row in pairs)
            for reducer in self._plan.reducers:
                _reduce(ctx, each.ctx, reducer)
            said = {name: compile_template(self._plan.templates[row])(scope) for name, row in told.items()}
            if "code" in said:
                said["kind"] = kind_of_error(said["code"])
            yield each._replace(ctx=ctx, iters={**each.iters, t.step: own}, said={**each.said, number: said})

    def _taken(self, state: _State, t: Transition) -> Iterator[_State]:
        """The states in which an arc's guard is true, and its args and delay have values."""
        arc, guard = self._plan.arcs[t.arc], self._guards[t.arc]
        states = self._asked(state, guard, True, t.step, -1) if guard >= 0 else iter((state,))
        rows = [row for row in (arc.args, arc.delay) if row >= 0]
        return (after for each in states for after in self._defined(each, rows, t.step, -1))

    def _defined(self, state: _State, rows: list[int], step: int, number: int) -> Iterator[_State]:
        """The states in which some templates can be rendered."""
        templates = [self._plan.templates[row] for row in rows]
        compiled = [compile_template(template) for template in templates]

        def fits(trial: _State) -> bool:
            scope = self._scope(trial, step, number)
            for render in compiled:
                render(scope)  # raises where something is undefined
            return True

        exprs = [expr for template in templates for expr in expressions_of(template)]
        return self._tried(state, exprs, PLAIN, fits, step, number)

    def _sized(self, state: _State, t: Transition, size: int) -> Iterator[_State]:
        """A loop begins, with as many items as the run has."""
        if t.level > 0:
            return iter((state,))
        loop = self._plan.steps[t.step].loops[0]
        # One by one, a loop asks for no limit.
        numbers = (loop.items,) if loop.sequential else (loop.items, loop.in_flight)
        rows = [self._plan.templates[row] for row in numbers if row >= 0]
        items, *limit = [compile_template(row) for row in rows]

        def fits(trial: _State) -> bool:
            scope = self._scope(trial, t.step, -1)
            found = rows_of(items(scope))
            if not isinstance(found, list | dict) or not all(allows(each(scope), size) for each in limit):
                return False
            return bool(found) == bool(size) if self._any_items else len(found) == size

        state = state._replace(ended={**state.ended, t.step: (-1,) * size}, broken={**state.broken, t.step: {}})
        if not size:
            state = state._replace(failed=state.failed - {t.step}, lists={**state.lists, t.step: ()})
        exprs = [expr for row in rows for expr in expressions_of(row)]
        return self._tried(state, exprs, [[*range(1, size + 1)], size, max(1, size)], fits, t.step, -1)

    def _asked(self, state: _State, guard: int, wanted: bool, step: int, number: int) -> Iterator[_State]:
        """The states in which a guard is what it must be."""
        expr = guard_of(self._plan.templates[guard])
        compiled = compile_guard(expr)

        def fits(trial: _State) -> bool:
            return compiled(self._scope(trial, step, number)) == wanted

        return self._tried(state, [expr], constants_in(expr), fits, step, number)

    def _tried(
        self, state: _State, exprs: list[Expr], values: list[Json], fits: _Fits, step: int, number: int
    ) -> Iterator[_State]:
        paths = [path for expr in exprs for path in self._paths(expr, state, step, number)]
        free = [path for path in dict.fromkeys(paths) if not _is_set(path, state)]
        # A path without a value is tried first: the script that comes out says no more than it must.
        without = state._replace(absent=state.absent.union(free))
        if self._holds(fits, without) and self._may_stay(without, free):
            yield without
        tried = [self._candidates.values_for(path, values) for path in free]
        # Several paths have as many combinations as the product of their values. Without a free path the one
        # combination was tried already.
        for combination in islice(product(*tried), MAX_VALUES if free else 0):
            rows = dict(zip(free, combination, strict=True))
            chosen: dict[TrialPath, Json] = {
                path: value for path, value in rows.items() if not isinstance(value, NoValue)
            }
            trial = state._replace(
                values={**state.values, **chosen}, absent=state.absent.union(rows.keys() - chosen.keys())
            )
            if self._holds(fits, trial) and self._may_stay(trial, free):
                yield trial

    def _may_stay(self, state: _State, free: list[TrialPath]) -> bool:
        """Whether what was just decided about the workload agrees with what guards on the way ask of it later."""
        asked = [row for path in free for row in self._certain.get(path, ())]
        if not asked:
            return True
        self.asked += len(asked)
        # A value that a later guard of the run refuses is refused here (forward checking). Otherwise the walk would
        # find out after all that lies between, and go all the way back.
        scope = PlayScope({"workload": self._workload_with(state.values)})
        return all(_truth(guard, scope) is wanted for guard, wanted in asked)

    def _holds(self, fits: _Fits, state: _State) -> bool:
        # Guards are asked by the evaluator that the engine uses. A value with which one raises is none under which
        # the run goes on.
        self.asked += 1
        try:
            return fits(state)
        except Fault:
            return False

    def _paths(self, expr: Expr, state: _State, step: int, number: int) -> Iterator[TrialPath]:
        """The reads of an expression that a script or a payload can choose."""
        inner: set[int] = set()
        for each in walk(expr):
            names = static_path(each)
            if not names or id(each) in inner:
                continue
            below: Expr = each
            # Of `a.b.c` only the whole path is a read; `a` and `a.b` are parts of it.
            while isinstance(below, Attribute | Item):
                below = below.of
                inner.add(id(below))
            path = self._meant(names, state, step, number)
            if path is not None:
                yield path

    def _meant(self, names: tuple[str, ...], state: _State, step: int, number: int) -> TrialPath | None:
        root, rest = names[0], names[1:]
        last, shown = state.last.get(step, -1), state.shown.get(step, -1)
        match root:
            case "workload":
                return names if rest else None
            case "outcome" if number >= 0 and self._outcomes.is_free(number, rest):
                return ("outcome", number, *rest)
            case "event" if self._plan.steps[step].loops:
                return None
            case "event" if rest[:1] == ("result",) and last >= 0:
                return ("outcome", last, *rest)
            # Of an outcome its event has no result, and the error may be the rule's own.
            case "event" if rest[:1] == ("error",) and rest[1:] and shown >= 0 and self._outcomes.is_free(shown, rest):
                return ("outcome", shown, *rest)
            case "event" if rest[:1] == ("outcome",) and rest[1:2] != ("result",) and shown >= 0:
                return ("outcome", shown, *rest[1:]) if self._outcomes.is_free(shown, rest[1:]) else None
            case _ if root in self._numbers:
                found = state.results.get(self._numbers[root], -1)
                return ("outcome", found, "result", *rest) if found >= 0 else None
            case _ if root in self._workload:
                return ("workload", *names)
            case _:
                return None

    def _workload_with(self, values: dict[TrialPath, Json]) -> dict[str, Json]:
        """The workload with the values of a payload."""
        payload = tree_of(values, ("workload",))
        return merged_values(self._workload, payload) if payload else self._workload

    def known(self, state: _State) -> KnownData:
        """The data at a place of the run."""
        return KnownData(
            state.ctx,
            state.iters,
            results_of(self._plan, state.results, state.lists, self._outcomes.trees(state.values)),
        )

    def _scope(self, state: _State, step: int, number: int) -> PlayScope:
        """The names where something is asked of a step, with the outcome of that number; raises Fault where no tool
        gives what was chosen.
        """
        trees = self._outcomes.trees(state.values)
        names: dict[str, object] = {
            "workload": self._workload_with(state.values),
            "ctx": state.ctx,
            "iter": state.iters.get(step, {}),
            "args": {},
            "event": self._event(state, step, trees),
            "outcome": trees.get(number, {}),
            "execution_id": "1",
            "action_id": "1",
            "_attempt": 1,
        }
        return PlayScope(names, results=results_of(self._plan, state.results, state.lists, trees))

    def _event(self, state: _State, step: int, trees: Trees) -> dict[str, Json]:
        """The event of a step that has ended."""
        looped, done = bool(self._plan.steps[step].loops), step not in state.failed
        event: dict[str, Json] = {
            "name": ("loop.done" if looped else "step.done") if done else "step.failed",
            "status": "ok" if done else "error",
            "step": self._plan.steps[step].name,
        }
        if looped:
            numbers = state.broken.get(step, {})
            errors = {index: self._error(state, trees, number) for index, number in numbers.items()}
            return event | event_of_loop(trees, state.ended.get(step, ()), errors, done=done)
        shown = state.shown.get(step, -1)
        error = None if done or shown < 0 else self._error(state, trees, shown)
        return event | event_of_run(trees, state.last.get(step, -1), shown, error)

    def _error(self, state: _State, trees: Trees, number: int) -> dict[str, Json]:
        return self._outcomes.error(trees, number, state.said.get(number, {}))


def _with_failure(state: _State, step: int, index: int) -> _State:
    """The state in which the latest outcome of an iteration has failed it."""
    ends = state.ended.get(step, ())
    number = ends[index] if 0 <= index < len(ends) else None
    broken = {**state.broken.get(step, {}), index: state.shown.get(step, -1) if number in (None, -1) else number}
    return _with_end(state, step, index, None)._replace(broken={**state.broken, step: broken})


def _with_end(state: _State, step: int, index: int, end: int | None) -> _State:
    """The state with how an iteration ends, as far as it is known."""
    ends = list(state.ended.get(step, ()))
    if 0 <= index < len(ends):
        ends[index] = end
    return state._replace(ended={**state.ended, step: tuple(ends)})


def _reduce(ctx: dict[str, Json], before: dict[str, Json], reducer: Reducer) -> None:
    """Apply what a rule contributes to a reduced key, as if no other step contributed at the same time."""
    if reducer.key in ctx and reducer.key in before and ctx[reducer.key] is not before[reducer.key]:
        with suppress(Unfit):
            ctx[reducer.key] = reduced_value(reducer.reduce, before[reducer.key], ctx[reducer.key])


def _truth(guard: _Asked, scope: PlayScope) -> bool | None:
    """The truth of a guard; None where it raises."""
    try:
        return guard(scope)
    except Fault:
        return None


def _writes(plan: Plan, t: Transition) -> bool:
    return any(rule.set_ctx or rule.set_iter for rule in plan.tasks[t.task].rules)


def rule_fits(plan: Plan, rule: Rule, t: Transition) -> bool:
    """Whether a rule has the directive of a transition."""
    if rule.directive != t.role.removesuffix("_later"):
        return False
    return rule.to < 0 or t.id.removesuffix(" later").endswith(f" jump {plan.tasks[rule.to].name}")


def _is_set(path: TrialPath, state: _State) -> bool:
    """Whether a choice was made already for a path, for one above it or for one below it."""
    return any(_related(path, other) for other in (*state.values, *state.absent))
