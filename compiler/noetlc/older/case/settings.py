"""The settings of a `case`: how its rules are asked, and which of the words about that change nothing."""

from collections.abc import Iterator

from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Step, Task
from noetlc.older.case.nodes import Case, CaseRule, CaseSetting, Route
from noetlc.older.events import LOOP, events_in


def case_with_settings(step: Step, case: Case) -> tuple[Case, Step]:
    """The case with the settings of its step's spec, and the step without either."""
    for extra in step.extras:
        if isinstance(extra, CaseSetting):
            case = case._replace(**{extra.word: extra.value})
    rest = step._replace(extras=tuple(e for e in step.extras if not isinstance(e, Case | CaseSetting)))
    return case.with_bodies(lambda chain: tuple(_settled(task, case.policy) for task in chain)), rest


def _settled(task: Task, policy: str) -> Task:
    extras = tuple(e._replace(policy=e.policy or policy) if isinstance(e, Route) else e for e in task.extras)
    return task if extras == task.extras else task._replace(extras=extras)


def route_of(task: Task) -> Route | None:
    """The route that a task of a chain stands for."""
    return next((extra for extra in task.extras if isinstance(extra, Route)), None)


def reached_parts(chain: Tasks) -> tuple[Tasks, tuple[Route, ...], Tasks]:
    """The work of a chain, the routes that it comes to, and what is never reached: `defer` alone lets a chain go on."""
    work: list[Task] = []
    routes: list[Route] = []
    for number, task in enumerate(chain):
        route = route_of(task)
        if route is None:
            work.append(task)
            continue
        routes.append(route)
        if route.policy != "defer":
            return tuple(work), tuple(routes), chain[number + 1 :]
    return tuple(work), tuple(routes), ()


def winner(routes: tuple[Route, ...]) -> Route | None:
    """The route that a chain takes: the first, of deferred ones that of the highest priority."""
    if any(route.policy != "defer" for route in routes[:1]):
        return routes[0]
    return max(routes, key=lambda route: route.priority, default=None)


def idle(step: Step) -> Iterator[tuple[Span, str, str]]:
    """Where settings stand that change nothing: place, construct, and why."""
    settings = [extra for extra in step.extras if isinstance(extra, CaseSetting)]
    written = next((extra for extra in step.extras if isinstance(extra, Case)), None)
    if written is None:
        yield from ((setting.span, _key(setting), "the step has no `case`") for setting in settings)
        return
    case, _ = case_with_settings(step, written)
    inside = [rule for rule in case.rules if step.loop is None or not _is_about_loop(rule)]
    routes = [route for rule in inside for task in rule.chain if (route := route_of(task)) is not None]
    for setting in settings:
        if why := _idle_setting(setting, case, routes):
            yield setting.span, _key(setting), why
    for rule in case.rules:
        if rule.priority_span is not None and case.order != "priority":
            yield rule.priority_span, "`priority` of a rule", "the rules are in the order of the file"
        yield from _idle_routes(rule, case)


def _idle_setting(setting: CaseSetting, case: Case, routes: list[Route]) -> str:
    """Why a setting changes nothing; "" where it does."""
    if setting.word == "order" and all(rule.priority_span is None for rule in case.rules):
        return "no rule has a `priority`"
    if setting.word == "policy" and not routes:
        return "no rule routes"
    if setting.word == "policy" and case.mode == "exclusive" and not any(_goes_on(rule) for rule in case.rules):
        return "one rule fires, and its `next` is the last action"
    return ""


def _is_about_loop(rule: CaseRule) -> bool:
    names = frozenset() if rule.when is None else events_in(rule.when.expr)
    return bool(names) and names <= LOOP


def _goes_on(rule: CaseRule) -> bool:
    """Whether something stands behind the first `next` of a chain."""
    at = next((n for n, task in enumerate(rule.chain) if route_of(task) is not None), len(rule.chain))
    return at + 1 < len(rule.chain)


def _idle_routes(rule: CaseRule, case: Case) -> Iterator[tuple[Span, str, str]]:
    for task in rule.chain:
        route = route_of(task)
        if route is None:
            continue
        if route.priority_span is not None and route.policy != "defer":
            yield route.priority_span, "`priority` of `next`", "the first `next` that is reached wins"
        if route.policy_span is not None and case.mode == "exclusive" and not _goes_on(rule):
            yield route.policy_span, "`policy` of `next`", "one rule fires, and its `next` is the last action"
    for task in reached_parts(rule.chain)[2]:
        yield task.span, "an action behind `next`", "it is never reached"


def _key(setting: CaseSetting) -> str:
    return {"mode": "`case_mode`", "eval": "`eval_mode`", "order": "`branch_order`"}.get(setting.word, "`next_policy`")
