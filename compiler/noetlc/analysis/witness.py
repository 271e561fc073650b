"""Data that make a run of the skeleton a run of the playbook: workload values and outcomes under which every guard on
the way decides as the run does. Guards are asked by the evaluator itself, so what is found here replays.

The run is walked transition by transition. Where something is asked (a guard, the rules of a task, the items of a
loop), values are tried for the paths that the expression reads: those it compares with, their neighbours, and some of
each type. What turns out wrong later is taken back; `MAX_TRIES` bounds that. The walk keeps `ctx` and `iter` as the
rules write them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import TypeAlias

from noetl_ir.evaluate import Fault, compile_guard, compile_template
from noetl_ir.expr import Attribute, Expr, Item, Json, expressions_of, walk
from noetl_ir.net import Transition
from noetl_ir.plan import Plan, Rule
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PlayScope
from noetlc.analysis.trials import PLAIN, Candidates, Path, constants_in, guard_of, merged, tree_of, workload_of
from noetlc.expr.shorthand import static_path

MAX_TRIES = 20_000
MAX_VALUES = 400
"""Combinations of values that are tried for one guard."""

OUTCOMES = frozenset({"continue", "break", "fail", "retry", "jump", "jump_later"})
UNSCRIPTED = frozenset({"fault", "lost", "expire", "skip", "stop", "admit_fault", "expand_fault", "err"})
"""Roles that are not scripted: faults of the playbook, lost workers, what a failing loop does to its others."""


class Witness(NamedTuple):
    """Values by path; what is not named may be anything."""

    values: dict[Path, Json]

    def workload(self) -> dict[str, Json]:
        """The payload."""
        return tree_of(self.values, ("workload",))

    def outcome(self, number: int) -> dict[str, Json]:
        """The fields of an outcome beside its status."""
        return tree_of(self.values, ("outcome", number))


class _State(NamedTuple):
    """The facts that are known on the way.

    `absent` are paths that were found to be without a value, `last` is the latest outcome of each step that gives a
    result, `results` that of its latest success, `failed` the steps whose latest outcome was a failure. Generated tasks
    give no result.
    """

    values: dict[Path, Json]
    absent: frozenset[Path]
    ctx: dict[str, Json]
    iters: dict[int, dict[str, Json]]
    last: dict[int, int]
    results: dict[int, int]
    failed: frozenset[int]
    outcomes: int


_Fits: TypeAlias = Callable[[_State], bool]
"""Whether a state has what is wanted."""


def witness_of(plan: Plan, run: Sequence[Transition]) -> Witness | None:
    """Values for a run of the plan's net; None when none were found."""
    if any(each.role in UNSCRIPTED or each.role == "park" for each in run):
        return None
    walk_ = _Walk(plan)
    ways: list[Iterator[_State]] = [iter((_State({}, frozenset(), {}, {}, {}, {}, frozenset(), 0),))]
    for _ in range(MAX_TRIES):
        state = next(ways[-1], None)
        if state is None:
            ways.pop()
            if not ways:
                return None
        elif len(ways) > len(run):
            return Witness(state.values)
        else:
            ways.append(walk_.after(state, run[len(ways) - 1]))
    return None


class _Walk:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._workload = workload_of(plan)
        self._candidates = Candidates(plan)
        self._numbers = {step.name: number for number, step in enumerate(plan.steps)}
        self._guards = {t.arc: t.guard for t in plan.net.transitions if t.role == "take"}
        self._admits = {t.step: t.guard for t in plan.net.transitions if t.role == "admit"}

    def after(self, state: _State, t: Transition) -> Iterator[_State]:
        """The states after a transition, the likeliest first."""
        match t.role:
            case "take":
                return self._taken(state, t)
            case "pass" if self._guards[t.arc] >= 0:
                return self._asked(state, self._guards[t.arc], False, t.step, -1)
            case "admit" | "deny" if self._admits[t.step] >= 0:
                return self._asked(state, self._admits[t.step], t.role == "admit", t.step, -1)
            case "begin" if t.level < 1:
                return iter((state._replace(iters={**state.iters, t.step: {}}),))
            case "expand" | "empty":
                return self._sized(state, t)
            case role if role in OUTCOMES:
                return self._ruled(state, t)
            case _:
                return iter((state,))

    def _ruled(self, state: _State, t: Transition) -> Iterator[_State]:
        """An outcome, and the rule that gives the directive."""
        number = state.outcomes
        failed = state.failed | {t.step} if t.role == "fail" else state.failed - {t.step}
        state = state._replace(outcomes=number + 1, failed=failed)
        if not self._plan.tasks[t.task].generated:
            state = state._replace(last={**state.last, t.step: number})
            if t.role != "fail":
                state = state._replace(results={**state.results, t.step: number})
        rules = self._plan.tasks[t.task].rules
        states: list[Iterator[_State]] = []
        for chosen, rule in enumerate(rules):
            if _fits(self._plan, rule, t):
                states.append(self._first(state, t, rules[:chosen], rule))
        if t.role == "continue" and (not rules or rules[-1].when >= 0):
            states.append(self._first(state, t, rules, None))
        if not rules:
            states.append(iter((state,)))
        return (each for way in states for each in way)

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
            yield from self._asked(state, guard, wanted, t.step, number, status=t.outcome)

    def _written(self, state: _State, rule: Rule, t: Transition, number: int) -> Iterator[_State]:
        """The states after a rule's patches, none of which may be undefined."""
        rows = [template for pairs in (rule.set_ctx, rule.set_iter) for _, template in pairs]
        for each in self._defined(state, rows, t.step, number, t.outcome):
            scope = self._scope(each, t.step, number, t.outcome)
            ctx, own = dict(each.ctx), dict(each.iters.get(t.step, {}))
            for pairs, target in ((rule.set_ctx, ctx), (rule.set_iter, own)):
                target.update((key, compile_template(self._plan.templates[row])(scope)) for key, row in pairs)
            yield each._replace(ctx=ctx, iters={**each.iters, t.step: own})

    def _taken(self, state: _State, t: Transition) -> Iterator[_State]:
        """The states in which an arc's guard is true, and its args and delay have values."""
        arc, guard = self._plan.arcs[t.arc], self._guards[t.arc]
        states = self._asked(state, guard, True, t.step, -1) if guard >= 0 else iter((state,))
        rows = [row for row in (arc.args, arc.delay) if row >= 0]
        return (after for each in states for after in self._defined(each, rows, t.step, -1, "ok"))

    def _defined(self, state: _State, rows: list[int], step: int, number: int, status: str) -> Iterator[_State]:
        """The states in which some templates can be rendered."""
        templates = [self._plan.templates[row] for row in rows]
        compiled = [compile_template(template) for template in templates]

        def fits(trial: _State) -> bool:
            scope = self._scope(trial, step, number, status)
            for render in compiled:
                render(scope)  # raises where something is undefined
            return True

        exprs = [expr for template in templates for expr in expressions_of(template)]
        return self._tried(state, exprs, PLAIN, fits, step, number)

    def _sized(self, state: _State, t: Transition) -> Iterator[_State]:
        """A loop with items, or with none: the run of one item stands for any number."""
        if t.level > 0:
            return iter((state,))
        template = self._plan.templates[self._plan.steps[t.step].loops[0].items]
        compiled = compile_template(template)

        def fits(trial: _State) -> bool:
            items = compiled(self._scope(trial, t.step, -1, ""))
            return isinstance(items, list | dict) and bool(items) == (t.role == "expand")

        return self._tried(state, list(expressions_of(template)), [[1], []], fits, t.step, -1)

    def _asked(
        self, state: _State, guard: int, wanted: bool, step: int, number: int, status: str = "ok"
    ) -> Iterator[_State]:
        """The states in which a guard is what it must be."""
        expr = guard_of(self._plan.templates[guard])
        compiled = compile_guard(expr)

        def fits(trial: _State) -> bool:
            return compiled(self._scope(trial, step, number, status)) == wanted

        return self._tried(state, [expr], constants_in(expr), fits, step, number)

    def _tried(
        self, state: _State, exprs: list[Expr], values: list[Json], fits: _Fits, step: int, number: int
    ) -> Iterator[_State]:
        paths = [path for expr in exprs for path in self._paths(expr, state, step, number)]
        free = [path for path in dict.fromkeys(paths) if not _is_set(path, state)]
        without = state._replace(absent=state.absent.union(free))
        if _holds(fits, without):
            yield without
        tried = [self._candidates.of(path, values) for path in free]
        for combination in islice(product(*tried), MAX_VALUES if free else 0):
            trial = state._replace(values={**state.values, **dict(zip(free, combination, strict=True))})
            if _holds(fits, trial):
                yield trial

    def _paths(self, expr: Expr, state: _State, step: int, number: int) -> Iterator[Path]:
        """The reads of an expression that a script or a payload can choose."""
        inner: set[int] = set()
        for each in walk(expr):
            names = static_path(each)
            if not names or id(each) in inner:
                continue
            below: Expr = each
            while isinstance(below, Attribute | Item):
                below = below.of
                inner.add(id(below))
            path = self._meant(names, state, step, number)
            if path is not None:
                yield path

    def _meant(self, names: tuple[str, ...], state: _State, step: int, number: int) -> Path | None:
        root, rest = names[0], names[1:]
        last = state.last.get(step, -1)
        match root:
            case "workload":
                return names if rest else None
            case "outcome" if number >= 0 and rest and rest[0] != "status":
                return ("outcome", number, *rest)
            case "event" if rest[:1] == ("result",) and last >= 0:
                return ("outcome", last, *rest)
            case "event" if rest[:1] == ("outcome",) and last >= 0 and rest[1:] not in ((), ("status",)):
                return ("outcome", last, *rest[1:])
            case _ if root in self._numbers:
                found = state.results.get(self._numbers[root], -1)
                return ("outcome", found, "result", *rest) if found >= 0 else None
            case _ if root in self._workload:
                return ("workload", *names)
            case _:
                return None

    def _scope(self, state: _State, step: int, number: int, status: str) -> PlayScope:
        plan = self._plan
        last = state.last.get(step, -1)
        ended = tree_of(state.values, ("outcome", last)) if last >= 0 else {}
        looped = bool(plan.steps[step].loops)
        done = step not in state.failed
        event: dict[str, Json] = {
            "name": ("loop.done" if looped else "step.done") if done else "step.failed",
            "status": "success" if done else "error",
            "step": plan.steps[step].name,
            "result": ended.get("result"),
            "outcome": {"status": "ok" if done else "error", **ended},
        }
        outcome = {
            "status": status,
            "result": None,
            **(tree_of(state.values, ("outcome", number)) if number >= 0 else {}),
        }
        results = {
            plan.steps[each].name: tree_of(state.values, ("outcome", at)).get("result")
            for each, at in state.results.items()
        }
        given: dict[str, object] = {
            "workload": merged(self._workload, tree_of(state.values, ("workload",))),
            "ctx": state.ctx,
            "iter": state.iters.get(step, {}),
            "args": {},
            "event": event,
            "outcome": outcome,
            "execution_id": "1",
            "action_id": "1",
            "_attempt": 1,
        }
        return PlayScope(given, results=results)


def _holds(fits: _Fits, state: _State) -> bool:
    try:
        return fits(state)
    except Fault:
        return False


def _fits(plan: Plan, rule: Rule, t: Transition) -> bool:
    """Whether a rule has the directive of a transition."""
    if rule.directive != t.role.removesuffix("_later"):
        return False
    return rule.to < 0 or t.id.removesuffix(" later").endswith(f" jump {plan.tasks[rule.to].name}")


def _is_set(path: Path, state: _State) -> bool:
    """Whether it is settled already what a path, something above it or below it is, or that it is not there."""
    return any(path[: len(other)] == other or other[: len(path)] == path for other in (*state.values, *state.absent))
