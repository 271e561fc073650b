"""Data that make a run of the skeleton a run of the playbook: workload values and outcomes under which every guard on
the way decides as the run does. Guards are asked by the evaluator itself, so what is found here replays.

The run is walked transition by transition. Where something is asked (a guard, the rules of a task, the items of a
loop), values are tried for the paths that the expression reads: those it compares with, their neighbours, and some of
each type. What turns out wrong later is taken back: not the last decision, but the last one that what went wrong
depends on (backjumping: Prosser 1993). `MAX_TRIES` and `MAX_ASKED` bound that. The walk keeps `ctx` and `iter` as the
rules write them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import TypeAlias

from noetl_ir.evaluate import Fault, compile_guard, compile_template
from noetl_ir.evaluate.access import rows_of
from noetl_ir.expr import Expr, Json, Name, Template, entries_of, expressions_of, walk
from noetl_ir.net import Transition
from noetl_ir.outcome import kind_of_error
from noetl_ir.paths import paths_in, static_path
from noetl_ir.plan import Plan, Rule
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PlayScope
from noetlc.analysis.iterations import allows, are_told, indexes_of, sizes_of
from noetlc.analysis.outcomes import (
    OUTCOMES,
    Outcomes,
    Trees,
    event_of_loop,
    event_of_run,
    result_of,
    results_of,
)
from noetlc.analysis.starts import starts_of
from noetlc.analysis.surroundings import Surroundings
from noetlc.analysis.trials import (
    PLAIN,
    Candidates,
    NoValue,
    TrialPath,
    constants_in,
    guard_of,
    tree_of,
)
from noetlc.analysis.unknown import UNKNOWN, reads_undefined, unknown_call
from noetlc.analysis.walk_state import NOTHING, WalkState, depends_on, is_chosen, reduce_key, with_end, with_failure
from noetlc.analysis.workloads import Workloads

MAX_TRIES, MAX_ASKED = 4_000, 4_000
"""States of one walk, and questions to guards and templates in it."""

MAX_VALUES = 400
"""Combinations of values that are tried for one guard."""

GATE = -2
"""Stands for the number of an outcome where a token asks to enter: its event is that of another step."""

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
    """Values by path; what is not named may be anything. `payload` has those of the workload, and inputs that must be
    brought; `known` are the data at the places that were asked for.
    """

    values: dict[TrialPath, Json]
    payload: dict[str, Json]
    known: tuple[KnownData, ...]

    def outcome(self, number: int) -> dict[str, Json]:
        """The fields of an outcome beside its status."""
        return tree_of(self.values, ("outcome", number))


_Fits: TypeAlias = Callable[[WalkState], bool]
"""Whether a state has what is wanted."""

_Asked: TypeAlias = Callable[[PlayScope], bool]
"""A guard, compiled."""


def has_words(t: Transition, *, tried: bool = False) -> bool:
    """Whether a script can tell a transition; where it is `tried` first, what parks may come out as it says."""
    return t.role not in UNSCRIPTED and (tried or t.role != "park")


def witness_of(
    plan: Plan,
    run: Sequence[Transition],
    behind: Sequence[int] = (),
    *,
    tried: bool = False,
    loose: frozenset[int] = frozenset(),
    ends: int = 0,
) -> Witness | None:
    """Values for a run of the plan's net, and the data `behind` so many of its transitions each; None when none were
    found. Where it is `tried` before anything is said of it, the outcome of a task that parks is one of the values. The
    loops that begin at `loose` have any number of items from one on; of the last outcomes, so many as `ends`, nothing
    is asked.
    """
    # A script has no words for these, so that a run with one of them cannot be replayed, whatever its data are.
    asking = {row[:2] for row in (*plan.loop_ends, *plan.loop_signals)}
    if not all(has_words(each, tried=tried) for each in run) or any(
        each.role in COUNTING and (each.step, each.level) in asking for each in run
    ):
        return None
    if not tried and not are_told(plan, run):
        return None
    walk_ = _Walk(plan, run, frozenset(range(len(run))) if tried else loose, len(run) - ends)
    states = [NOTHING._replace(ctx=starts_of(plan))]
    ways = [walk_.after(states[0], run[0], 0)] if run else []
    blame: list[frozenset[TrialPath]] = [frozenset()]
    for _ in range(MAX_TRIES):
        if len(ways) < len(states) or not ways:
            values = states[-1].values  # some of what is read early is chosen late
            known = tuple([walk_.known(states[each]._replace(values=values)) for each in behind])
            return Witness(values, walk_.payload(values), known)
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
            if depends_on(guilty, states[-1], after, len(ways) - 1):
                break
        # The blame goes along: when the decision has no further value, it is to what was behind all of its failures
        # that the walk goes back.
        blame[-1] |= guilty
        # Questions are counted, not seconds, so that every machine gives up at the same one. A run without data is
        # then no proof that there are none: the verdict is `unknown`.
        if walk_.asked > MAX_ASKED:
            return None
    return None


class _Walk:
    def __init__(self, plan: Plan, run: Sequence[Transition], loose: frozenset[int], end: int) -> None:
        self._plan, self._any_items, self._end = plan, loose, end
        self._outcomes, self._around = Outcomes(plan, run), Surroundings(plan)
        self._sizes, self._indexes = sizes_of(run), indexes_of(plan, run)
        self._workloads = Workloads(plan)
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
            paths = set(self._paths(expr, NOTHING, t.step, -1))
            names = {each.name for each in walk(expr) if isinstance(each, Name)}
            # Only such a guard can be asked at once, whatever the rest of the run does: the workload never changes.
            if len(paths) == 1 and len(names) == 1 and next(iter(paths))[0] == "workload":
                wanted = t.role in ("take", "admit")
                found.setdefault(next(iter(paths)), {})[guard, wanted] = compile_guard(expr)
        return {path: [(asked, key[1]) for key, asked in rows.items()] for path, rows in found.items()}

    def reads(self, state: WalkState, t: Transition) -> frozenset[TrialPath]:
        """The paths of earlier decisions that decide whether a transition can be the next."""
        found: set[TrialPath] = set()
        for expr in self._exprs(t):
            found.update(self._paths(expr, state, t.step, -1))
            for each in walk(expr):
                if isinstance(each, Name):
                    found.update(self._behind(each.name, state, t.step))
        if (t.role in OUTCOMES or t.role == "start") and state.outcomes < len(self._outcomes.before):
            found.update(("outcome", each) for each in self._outcomes.before[state.outcomes].tasks.values())
        return frozenset(found)

    def _behind(self, name: str, state: WalkState, step: int) -> Iterator[TrialPath]:
        """The paths that a name of an expression may stand for."""
        if name in ("ctx", "iter"):
            yield from state.behind
        elif name == "workload":
            yield ("workload",)
        elif name in self._workloads.least:
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
            case "start":
                task = self._plan.tasks[t.task]
                rows = [task.fields, task.args]
            case "expand" | "empty" if t.level <= 0:
                loop = self._plan.steps[t.step].loops[0]
                rows = [loop.items, loop.in_flight]
            case role if role in OUTCOMES:
                for rule in self._plan.tasks[t.task].rules:
                    rows += [rule.when, *(row for _, row in (*rule.set_ctx, *rule.set_iter))]
            case _:
                pass
        return [expr for row in rows if row >= 0 for expr in expressions_of(self._plan.templates[row])]

    def after(self, state: WalkState, t: Transition, at: int) -> Iterator[WalkState]:
        """The states after a transition, the likeliest first; `at` is its place in the run."""
        match t.role:
            case "take":
                return self._taken(state, t)
            case "pass" if self._guards[t.arc] >= 0:
                return self._asked(state, self._guards[t.arc], False, t.step, -1)
            case "admit" | "deny" if self._admits[t.step] >= 0:
                return self._asked(state, self._admits[t.step], t.role == "admit", t.step, GATE)
            case "begin" if t.level < 1:
                # Each run of a step begins with an empty `iter`.
                return iter((state._replace(iters={**state.iters, t.step: {}}),))
            case "start" if (number := self._outcomes.of_start.get(at, -1)) >= 0:
                return self._called(state, t, number)
            case "expand" | "empty":
                return self._sized(state, t, self._sizes.get(at, 0), any_items=at in self._any_items)
            case "bad" if t.level == 0:
                return iter((with_failure(state, t.step, self._indexes[at]),))
            case "close" | "close_failed" if t.level == 0:
                return iter((self._closed(state, t),))
            case role if role in OUTCOMES and at >= self._end:
                return iter((state._replace(outcomes=state.outcomes + 1),))
            case role if role in OUTCOMES:
                return self._ruled(state, t, at)
            case _:
                return iter((state,))

    def _closed(self, state: WalkState, t: Transition) -> WalkState:
        """A loop is over. Of the `iter` of its iterations the step keeps what is the compiler's own."""
        own = {key: value for key, value in state.iters.get(t.step, {}).items() if key.startswith("__")}
        state = state._replace(iters={**state.iters, t.step: own})
        if t.role == "close_failed":
            return state._replace(failed=state.failed | {t.step})
        lists = {**state.lists, t.step: state.ended.get(t.step, ())}
        return state._replace(failed=state.failed - {t.step}, lists=lists)

    def _ruled(self, state: WalkState, t: Transition, at: int) -> Iterator[WalkState]:
        """An outcome, and the rule that gives the directive."""
        number = state.outcomes
        failed = state.failed | {t.step} if t.role == "fail" else state.failed - {t.step}
        behind = state.behind | self.reads(state, t) if _writes(self._plan, t) else state.behind
        state = state._replace(outcomes=number + 1, failed=failed, shown={**state.shown, t.step: number})
        # Nobody can read the result of most tasks that lowering made.
        if not self._plan.tasks[t.task].generated or self._outcomes.gives_result(number):
            if self._plan.steps[t.step].loops:
                state = with_end(state, t.step, self._indexes[at], number)
            else:
                fresh = {} if t.role == "fail" else {t.step: number}
                state = state._replace(last={**state.last, t.step: number}, results={**state.results, **fresh})
        rules, attempt = self._plan.tasks[t.task].rules, self._outcomes.before[number].attempt
        states: list[Iterator[WalkState]] = []
        for chosen, rule in enumerate(rules):
            if rule_fits(self._plan, rule, t) and not _is_used_up(rule, attempt):
                # Each rule with that directive is a way, the first in the file first. The rules before it must not
                # match, as in the engine, but for retries that are used up: these only keep it from `else`.
                before = [row for row in rules[:chosen] if rule.when < 0 or not _is_used_up(row, attempt)]
                states.append(self._first(state, t, before, rule))
        if t.role == "continue" and (not rules or rules[-1].when >= 0):
            states.append(self._first(state, t, rules, None))
        if not rules:
            states.append(iter((state,)))
        if _writes(self._plan, t):
            behind |= {("outcome", number), ("rule", at)}
        return (each._replace(behind=behind) for way in states for each in way)

    def _first(
        self, state: WalkState, t: Transition, before: Sequence[Rule], chosen: Rule | None
    ) -> Iterator[WalkState]:
        """The states in which the rules before do not match and the chosen one does."""
        number = state.outcomes - 1
        states: Iterator[WalkState] = iter((state,))
        for rule in before:
            states = self._all(states, rule.when, False, t, number)
        if chosen is not None and chosen.when >= 0:
            states = self._all(states, chosen.when, True, t, number)
        if chosen is None:
            return states
        return (after for each in states for after in self._written(each, chosen, t, number))

    def _all(
        self, states: Iterator[WalkState], guard: int, wanted: bool, t: Transition, number: int
    ) -> Iterator[WalkState]:
        for state in states:
            yield from self._asked(state, guard, wanted, t.step, number)

    def _written(self, state: WalkState, rule: Rule, t: Transition, number: int) -> Iterator[WalkState]:
        """The states after a rule's patches, none of which may be undefined."""
        told = {name: row for name, row in (("code", rule.code), ("message", rule.message)) if row >= 0}
        rows = [template for pairs in (rule.set_ctx, rule.set_iter, told.items()) for _, template in pairs]
        for each in self._defined(state, rows, t.step, number):
            scope = self._scope(each, t.step, number)
            ctx, own = dict(each.ctx), dict(each.iters.get(t.step, {}))
            for pairs, target in ((rule.set_ctx, ctx), (rule.set_iter, own)):
                target.update((key, compile_template(self._plan.templates[row])(scope)) for key, row in pairs)
            for reducer in self._plan.reducers:
                reduce_key(ctx, each.ctx, reducer)
            said = {name: compile_template(self._plan.templates[row])(scope) for name, row in told.items()}
            if "code" in said:
                said["kind"] = kind_of_error(said["code"])
            said["rule"] = self._plan.tasks[t.task].rules.index(rule)
            yield each._replace(ctx=ctx, iters={**each.iters, t.step: own}, said={**each.said, number: said})

    def _taken(self, state: WalkState, t: Transition) -> Iterator[WalkState]:
        """The states in which an arc's guard is true, and its args and delay have values."""
        arc, guard = self._plan.arcs[t.arc], self._guards[t.arc]
        states = self._asked(state, guard, True, t.step, -1) if guard >= 0 else iter((state,))
        rows = [row for row in (arc.args, arc.delay) if row >= 0]
        return (after for each in states for after in self._defined(each, rows, t.step, -1))

    def _defined(self, state: WalkState, rows: list[int], step: int, number: int) -> Iterator[WalkState]:
        """The states in which some templates can be rendered."""
        templates = [self._plan.templates[row] for row in rows]
        compiled = [compile_template(template) for template in templates]

        def fits(trial: WalkState) -> bool:
            scope = self._scope(trial, step, number)
            for render in compiled:
                render(scope)  # raises where something is undefined
            return True

        exprs = [expr for template in templates for expr in expressions_of(template)]
        return self._tried(state, exprs, PLAIN, fits, step, number)

    def _called(self, state: WalkState, t: Transition, number: int) -> Iterator[WalkState]:
        """The states in which the fields of a task read nothing that is undefined: else it would fail unscripted."""
        task = self._plan.tasks[t.task]
        parts = [part for row in (task.fields, task.args) for part in _parts_of(self._plan, row)]
        exprs = [expr for part in parts for expr in expressions_of(part)]
        if not exprs:
            return iter((state,))
        renders = [compile_template(part) for part in parts]
        keys = entries_of(self._plan.templates[task.args]) if task.args >= 0 else None
        args = dict.fromkeys(keys or {}, UNKNOWN)

        def fits(trial: WalkState) -> bool:
            scope = self._scope(trial, t.step, number).with_args(args)
            return not any(reads_undefined(render, scope) for render in renders)

        return self._tried(state, exprs, ["x"], fits, t.step, number)

    def _sized(self, state: WalkState, t: Transition, size: int, *, any_items: bool) -> Iterator[WalkState]:
        """A loop begins, with as many items as the run has, or with any from one on."""
        if t.level > 0:
            return iter((state,))
        loop = self._plan.steps[t.step].loops[0]
        # One by one, a loop asks for no limit.
        numbers = (loop.items,) if loop.sequential else (loop.items, loop.in_flight)
        rows = [self._plan.templates[row] for row in numbers if row >= 0]
        items, *limit = [compile_template(row) for row in rows]

        def fits(trial: WalkState) -> bool:
            scope = self._scope(trial, t.step, GATE)
            found = rows_of(items(scope))
            if not isinstance(found, list | dict) or not all(allows(each(scope), size) for each in limit):
                return False
            return bool(found) == bool(size) if any_items else len(found) == size

        state = state._replace(ended={**state.ended, t.step: (-1,) * size}, broken={**state.broken, t.step: {}})
        if not size:
            state = state._replace(failed=state.failed - {t.step}, lists={**state.lists, t.step: ()})
        exprs = [expr for row in rows for expr in expressions_of(row)]
        return self._tried(state, exprs, [[*range(1, size + 1)], size, max(1, size)], fits, t.step, GATE)

    def _asked(self, state: WalkState, guard: int, wanted: bool, step: int, number: int) -> Iterator[WalkState]:
        """The states in which a guard is what it must be."""
        expr = guard_of(self._plan.templates[guard])
        compiled = compile_guard(expr)

        def fits(trial: WalkState) -> bool:
            return compiled(self._scope(trial, step, number)) == wanted

        return self._tried(state, [expr], constants_in(expr), fits, step, number)

    def _tried(
        self, state: WalkState, exprs: list[Expr], values: list[Json], fits: _Fits, step: int, number: int
    ) -> Iterator[WalkState]:
        paths = [path for expr in exprs for path in self._paths(expr, state, step, number)]
        free = [path for path in dict.fromkeys(paths) if not is_chosen(path, state)]
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

    def _may_stay(self, state: WalkState, free: list[TrialPath]) -> bool:
        """Whether what was just decided about the workload agrees with what guards on the way ask of it later."""
        if any(path[0] == "workload" for path in free) and not self._workloads.may_start(
            tree_of(state.values, ("workload",))
        ):
            return False
        asked = [row for path in free for row in self._certain.get(path, ())]
        if not asked:
            return True
        self.asked += len(asked)
        # A value that a later guard of the run refuses is refused here (forward checking). Otherwise the walk would
        # find out after all that lies between, and go all the way back.
        scope = PlayScope({"workload": self._workload_with(state.values)})
        return all(_truth(guard, scope) is wanted for guard, wanted in asked)

    def _holds(self, fits: _Fits, state: WalkState) -> bool:
        # Guards are asked by the evaluator that the engine uses. A value with which one raises is none under which
        # the run goes on.
        self.asked += 1
        try:
            return fits(state)
        except Fault:
            return False

    def _paths(self, expr: Expr, state: WalkState, step: int, number: int) -> Iterator[TrialPath]:
        """The reads of an expression that a script or a payload can choose."""
        for names in paths_in(expr, lambda part: static_path(part) or None):
            path = self._meant(names, state, step, number)
            if path is not None:
                yield path

    def _meant(self, names: tuple[str, ...], state: WalkState, step: int, number: int) -> TrialPath | None:
        root, rest = names[0], names[1:]
        last, shown = state.last.get(step, -1), state.shown.get(step, -1)
        match root:
            case "workload":
                return names if rest else None
            case "outcome" if number >= 0 and self._outcomes.is_free(number, rest):
                return ("outcome", number, *rest)
            case _ if number >= 0 and root in self._outcomes.before[number].tasks:
                return ("outcome", self._outcomes.before[number].tasks[root], "result", *rest)
            case "event" if number == GATE or self._plan.steps[step].loops:
                return None
            case "event" if rest[:1] == ("result",) and last >= 0 and self._outcomes.is_free(last, rest):
                return ("outcome", last, *rest)
            # Of an outcome its event has no result, and the error may be the rule's own.
            case "event" if rest[:1] == ("error",) and rest[1:] and shown >= 0 and self._outcomes.is_free(shown, rest):
                return ("outcome", shown, *rest)
            case "event" if rest[:1] == ("outcome",) and rest[1:2] != ("result",) and shown >= 0:
                return ("outcome", shown, *rest[1:]) if self._outcomes.is_free(shown, rest[1:]) else None
            case _ if root in self._numbers:
                found = state.results.get(self._numbers[root], -1)
                is_free = found >= 0 and self._outcomes.is_free(found, ("result",))
                return ("outcome", found, "result", *rest) if is_free else None
            case _ if root in self._workloads.least:
                return ("workload", *names)
            case _:
                return None

    def payload(self, values: dict[TrialPath, Json]) -> dict[str, Json]:
        """The payload of a run with these values."""
        return self._workloads.payload(tree_of(values, ("workload",)))

    def _workload_with(self, values: dict[TrialPath, Json]) -> dict[str, Json]:
        """The workload with the values of a payload."""
        return self._workloads.with_chosen(tree_of(values, ("workload",)))

    def known(self, state: WalkState) -> KnownData:
        """The data at a place of the run."""
        return KnownData(
            state.ctx,
            state.iters,
            results_of(self._plan, state.results, state.lists, self._outcomes.trees(state.values)),
        )

    def _scope(self, state: WalkState, step: int, number: int) -> PlayScope:
        """The names where something is asked of a step, with the outcome of that number; raises Fault where no tool
        gives what was chosen.
        """
        trees = self._outcomes.trees(state.values)
        names: dict[str, object] = {
            "workload": self._workload_with(state.values),
            "ctx": state.ctx,
            "iter": state.iters.get(step, {}),
            "args": self._around.args(step),
            "event": UNKNOWN if number == GATE else self._event(state, step, trees),
            "outcome": trees.get(number, {}),
            "execution_id": "1",
            "action_id": "1",
            "keychain": UNKNOWN,
            "now": unknown_call,
            "ref": unknown_call,
        }
        results = results_of(self._plan, state.results, state.lists, trees)
        if number < 0:
            return PlayScope(names, results=results)
        before = self._outcomes.before[number]
        names["iter"] = {**self._around.item(step), **state.iters.get(step, {})}
        names |= {"_attempt": before.attempt, "_prev": result_of(trees, before.previous), "_elapsed": UNKNOWN}
        tasks = {name: result_of(trees, each) for name, each in before.tasks.items()}
        return PlayScope(names, results=results, tasks=tasks, iterators=self._around.iterators(step))

    def _event(self, state: WalkState, step: int, trees: Trees) -> dict[str, Json]:
        """The event of a step that has ended."""
        looped, done = bool(self._plan.steps[step].loops), step not in state.failed
        event: dict[str, Json] = {
            "name": ("loop.done" if looped else "step.done") if done else "step.failed",
            "status": "ok" if done else "error",
            "step": self._plan.steps[step].name,
            "step_run_id": UNKNOWN,
            "ts": UNKNOWN,
        }
        if looped:
            numbers = state.broken.get(step, {})
            errors = {index: self._error(state, trees, number) for index, number in numbers.items()}
            return event | event_of_loop(trees, state.ended.get(step, ()), errors, done=done)
        shown = state.shown.get(step, -1)
        error = None if done or shown < 0 else self._error(state, trees, shown)
        return event | event_of_run(trees, state.last.get(step, -1), shown, error)

    def _error(self, state: WalkState, trees: Trees, number: int) -> dict[str, Json]:
        return self._outcomes.error(trees, number, state.said.get(number, {}))


def _truth(guard: _Asked, scope: PlayScope) -> bool | None:
    """The truth of a guard; None where it raises."""
    try:
        return guard(scope)
    except Fault:
        return None


def _parts_of(plan: Plan, row: int) -> list[Template]:
    """The templates of a row, of a mapping each by itself: one that a run alone knows says nothing of the others."""
    if row < 0:
        return []
    entries = entries_of(plan.templates[row])
    return [plan.templates[row]] if entries is None else [*entries.values()]


def _is_used_up(rule: Rule, attempt: int) -> bool:
    """Whether a rule that tries again does so no more after an attempt."""
    return rule.directive == "retry" and attempt >= rule.attempts


def _writes(plan: Plan, t: Transition) -> bool:
    return any(rule.set_ctx or rule.set_iter for rule in plan.tasks[t.task].rules)


def rule_fits(plan: Plan, rule: Rule, t: Transition) -> bool:
    """Whether a rule has the directive of a transition."""
    if rule.directive != t.role.removesuffix("_later"):
        return False
    return rule.to < 0 or t.id.removesuffix(" later").endswith(f" jump {plan.tasks[rule.to].name}")
