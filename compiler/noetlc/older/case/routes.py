"""Routes of a `case`: what a run records of them, the arcs that take them, and what the arcs give."""

from collections.abc import Callable, Set

from noetl_ir.expr import Const, Expr, MapTemplate, Name, Template, walk
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Arc, Guard, Pairs, Router, Step, Task, Value
from noetlc.ast.walk import expressions_in, loops_of
from noetlc.expr.generated import (
    PLAIN_SPEC,
    computed,
    constant,
    expression_of,
    generated_name,
    guard,
    guard_as_value,
    jump,
    noop,
)
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import chosen, defined, equal, otherwise, path, result_of
from noetlc.expr.templates import arc_with, guard_with, maybe_with, native
from noetlc.older.branching import branch_arcs, branch_name
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.case.rules import Ready, is_for_loop
from noetlc.older.case.settings import route_of
from noetlc.older.chains import renamed_chain
from noetlc.older.legacy_names import ROOTS, Meanings, own_meanings, renamed, rule_meanings
from noetlc.older.patching import OUTCOME
from noetlc.older.targets import Targets

ROUTE = "__route"
"""Where a run records which rule routes (LANGUAGE §6)."""
ARGS = "__args"
"""Where an iteration records what its route gives."""

_RESULT = Name("result")


def recorded_rule(rule: Ready) -> Pairs:
    """The value for `iter` that records that the rule routes."""
    return ((ROUTE, constant(rule.label, rule.rule.span)),)


def carried(rule: Ready) -> Pairs:
    """The values for `iter` that the end of a branch in a loop sets: which rule routes, and the args of its route.

    Empty where the args read nothing of the iteration: the arc itself can evaluate them then.
    """
    route = rule.route
    return () if route is None or route.carried is None else (*recorded_rule(rule), (ARGS, route.carried))


def carried_first(route: Route) -> Pairs:
    """The value for `iter` that records a route's args where another rule of the iteration may have routed before."""
    if route.carried is None:
        return ()
    # The first rule that routes wins. A later one must not put its args in the place of the winner's.
    before = otherwise(path("iter", ARGS), Const(None))
    value = chosen(defined(path("iter", ROUTE)), before, expression_of(route.carried.template))
    return ((ARGS, computed(value, route.span)),)


def takes(rule: Ready) -> Guard:
    """The guard of the arcs that a recorded rule takes."""
    return guard(equal(path("iter", ROUTE), rule.label), rule.rule.span)


def route_arcs(step: Step, rule: Ready, route: Route, when: Guard | None) -> tuple[tuple[Arc, ...], tuple[Step, ...]]:
    """The arcs of a route and the router where it forks."""
    return branch_arcs(branch_name(step.name, "case", rule.number), route.arcs, when, route.span)


def end_of(step: Step, rule: Ready, target: str, set_iter: Pairs = ()) -> Task:
    """The end of a branch: it jumps to a merge point."""
    span = rule.rule.span
    return noop(generated_name(step.name, rule.label, "merge"), span, (jump(target, span, set_iter=set_iter),))


def after_loop(step: Step, rule: Ready, when: Guard | None, known: Set[str]) -> tuple[Arc, Step]:
    """The arc to a step behind a loop, and that step: it does what a rule about the loop's end does, and routes on."""
    name, span = branch_name(step.name, "case", rule.number), rule.rule.span
    names = renamed(rule_meanings(Name("outcome"), result_of(step.name)), known)
    sets = () if rule.sets is None else (noop(generated_name(step.name, rule.label, "set"), span, (rule.sets,)),)
    tasks = renamed_chain((*sets, *rule.work), names)
    between = Step(name, span, span, "", PLAIN_SPEC, None, tasks, None)
    if rule.route is not None:
        arcs = tuple(arc._replace(args=maybe_with(arc.args, names)) for arc in rule.route.arcs)
        mode = "inclusive" if len(arcs) > 1 and not any(arc.when for arc in arcs) else "exclusive"
        between = between._replace(router=Router(mode, arcs, rule.route.span))
    else:  # where no rule routes, the step's own `next` does
        fallback = tuple(extra for extra in step.extras if isinstance(extra, Targets))
        between = between._replace(router=step.router, extras=fallback)
    return Arc(name, span, when, None, None, 0, span), between


def own_named(step: Step, case: Case, inputs: Set[str]) -> Case:
    """The case in which the step's own name means the result of the present run (LANGUAGE §6); in args of routes the
    name of the step's task does, too.
    """
    own = own_meanings(step.name, _RESULT)
    names = renamed(own, inputs)
    of_task = own if step.tasks[-1].generated else {**own, **own_meanings(step.tasks[-1].name, _RESULT)}
    in_routes = renamed(of_task, inputs)

    def each(rule: CaseRule) -> CaseRule:
        if is_for_loop(rule, step):
            return rule
        when = None if rule.when is None else guard_with(rule.when, names)
        return rule._replace(when=when, chain=_with_routes(renamed_chain(rule.chain, names), in_routes))

    return case._replace(rules=tuple(each(rule) for rule in case.rules))


_EVENT: Meanings = {
    ("event", "error"): Name("error"),
    ("event", "result"): _RESULT,
    ("event", "status"): path("this", "status"),
    ("event", "outcome"): Name("this"),
}
"""What `event` tells of the tool, where no event is looked at."""


def about_tool(step: Step, case: Case, known: Set[str]) -> Case:
    """The case with rules for tasks: guards ask about the tool's outcome, and args of routes read that outcome, not the
    outcome of the last task of their branch.
    """
    events = renamed(_EVENT, frozenset())
    asked = [rule if is_for_loop(rule, step) else _asked(rule, events) for rule in case.rules]
    # Arcs of a loop are asked once, when it is done: what a route gives of an item has to be recorded in the
    # iteration.
    if step.loop is not None:
        return case._replace(rules=tuple(rule if is_for_loop(rule, step) else _carrying(step, rule) for rule in asked))
    sent = renamed(rule_meanings(path("iter", OUTCOME), result_of(step.name)), known)
    return case._replace(
        rules=tuple(_of_branch(step, rule._replace(chain=_with_routes(rule.chain, sent))) for rule in asked)
    )


def _asked(rule: CaseRule, names: Replace) -> CaseRule:
    when, own = (None if one is None else guard_with(one, names) for one in (rule.when, rule.own))
    return rule._replace(when=when, own=own, chain=_with_routes(renamed_chain(rule.chain, names), names))


def _with_routes(chain: Tasks, names: Replace) -> Tasks:
    return tuple(_with_route(task, lambda route: _sent(route, names)) for task in chain)


def _with_route(task: Task, change: Callable[[Route], Route]) -> Task:
    if route_of(task) is None:
        return task
    return task._replace(extras=tuple(change(e) if isinstance(e, Route) else e for e in task.extras))


def _sent(route: Route, names: Replace) -> Route:
    return route._replace(arcs=tuple(arc_with(arc, names) for arc in route.arcs))


def _carrying(step: Step, rule: CaseRule) -> CaseRule:
    """The rule whose routes give what an iteration recorded, where they read anything of it: the arcs are asked when
    the loop is done.
    """
    inside = {*_OF_TASK, "iter", "loop_index", *(loop.iterator for loop in loops_of(step))}
    inside |= {task.name for task in (*step.tasks, *rule.chain)}
    return rule._replace(chain=tuple(_with_route(task, lambda route: _recording(route, inside)) for task in rule.chain))


def _of_branch(step: Step, rule: CaseRule) -> CaseRule:
    """The rule whose routes give what tasks of its branch gave as it was recorded: arcs know results of steps only.

    Where it is recorded the step has not ended: its own name is the result of its tool.
    """
    inside = {task.name for task in rule.chain if not task.generated}
    tool = step.tasks[-1].name
    own = renamed({(step.name,): Name(tool)} if tool.isidentifier() else {}, frozenset())

    def recording(route: Route) -> Route:
        made = _recording(route, inside)
        return made if made is route else made._replace(carried=maybe_with(made.carried, own))

    return rule._replace(chain=tuple(_with_route(task, recording) for task in rule.chain)) if inside else rule


_OF_TASK = ROOTS - {"vars"}


def _recording(route: Route, inside: Set[str]) -> Route:
    kept: dict[str, Template] = {}
    arcs = []
    for number, arc in enumerate(route.arcs):
        # A route may lead to one step twice, with other args each time.
        key = arc.target if [other.target for other in route.arcs].count(arc.target) == 1 else f"{arc.target}{number}"
        if arc.args is not None and any(_reads(expr, inside) for expr, _ in expressions_in(arc.args)):
            kept[key] = arc.args.template
            arc = arc._replace(args=computed(path("iter", ARGS, key), arc.args.span))
        if arc.when is not None and _reads(arc.when.expr, inside):
            # The decision is recorded, not the value: what a guard takes for true (the text `false` is not) is
            # settled where it is evaluated.
            kept[f"{key}__when"] = native(chosen(guard_as_value(arc.when.expr), Const(True), Const(False)))
            arc = arc._replace(when=guard(path("iter", ARGS, f"{key}__when"), arc.when.span))
        if arc.delay is not None and any(_reads(expr, inside) for expr, _ in expressions_in(arc.delay)):
            kept[f"{key}__delay"] = arc.delay.template
            arc = arc._replace(delay=computed(path("iter", ARGS, f"{key}__delay"), arc.delay.span))
        arcs.append(arc)
    if not kept:
        return route
    return route._replace(arcs=tuple(arcs), carried=Value(MapTemplate(tuple(kept.items())), route.span, None))


def _reads(expr: Expr, names: Set[str]) -> bool:
    return any(isinstance(part, Name) and part.name in names for part in walk(expr))
