"""What the passes for `case` share: its rules in order, their chains as tasks, and routes as arcs."""

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from noetl_ir.expr import Binary, Const, Expr, ListOf, Name, walk
from noetl_ir.span import Span
from noetlc.ast.bodies import Choose, Tasks
from noetlc.ast.cases import Case, CaseRule, CaseSetting, Route
from noetlc.ast.playbook import Arc, Guard, Rule, Step, Task, Value
from noetlc.ast.repeat import Repetition
from noetlc.ast.walk import expressions_in, rule_guards, rule_values, task_values
from noetlc.expr.branching import branch_arcs, branch_name
from noetlc.expr.counting import again, seconds
from noetlc.expr.events import FALSE, LOOP, TRUE, events_in, on_failure, on_success
from noetlc.expr.generated import computed, constant, generated_name, guard, jump, noop
from noetlc.expr.legacy_names import renamed, rule_meanings
from noetlc.expr.patching import OUTCOME, kept, meanings_after
from noetlc.expr.repeating import retrying
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import (
    OUTCOME_ERROR,
    OUTCOME_OK,
    both,
    compared,
    equal,
    filtered,
    negated,
    otherwise,
    path,
    result_of,
)
from noetlc.expr.templates import Pairs, fields_with, guard_with, maybe_with, native, task_with

ROUTE = "__route"
"""Where a run records which rule routes (LANGUAGE §6)."""

LEFT = "__left"
"""Where a run that waits again keeps the seconds that its timer has left."""


class Ready(NamedTuple):
    """A rule ready to be placed. `success` and `failure` are its guard for either outcome of the tool; `sets` what its
    first action sets; `tasks` the rest of its chain, with the routes among them.
    """

    label: str
    number: int
    success: Expr
    failure: Expr
    sets: Rule | None
    tasks: Tasks
    rule: CaseRule

    @property
    def route(self) -> Route | None:
        """The first route of its chain."""
        return next((found for task in self.tasks if (found := route_of(task)) is not None), None)

    @property
    def work(self) -> Tasks:
        """The tasks before the first route."""
        found: list[Task] = []
        for task in self.tasks:
            if route_of(task) is not None:
                break
            found.append(task)
        return tuple(found)


def settled(step: Step, case: Case) -> tuple[Case, Step]:
    """The case with the settings of its step's spec."""
    for extra in step.extras:
        if isinstance(extra, CaseSetting):
            case = case._replace(**{extra.word: extra.value})
    rest = tuple(extra for extra in step.extras if not isinstance(extra, CaseSetting) and extra is not case)
    return case, step._replace(extras=tuple(extra for extra in rest if not isinstance(extra, Case)))


def in_order(case: Case) -> list[tuple[int, CaseRule]]:
    """The rules with their numbers in the file, by priority where that is asked for."""
    numbered = list(enumerate(case.rules))
    return sorted(numbered, key=lambda pair: -pair[1].priority) if case.order == "priority" else numbered


def events_of(rule: CaseRule) -> frozenset[str]:
    """The events that a rule names."""
    return frozenset() if rule.when is None else events_in(rule.when.expr)


def is_for_loop(rule: CaseRule, step: Step) -> bool:
    """Whether a rule is about the end of its step's loop."""
    names = events_of(rule)
    return step.loop is not None and bool(names) and names <= LOOP


def only_routes(rules: Iterable[CaseRule]) -> bool:
    """Whether rules look at `event`, `ctx` and `workload` only and do nothing but route (LANGUAGE §6)."""
    roots = {"event", "ctx", "workload", "vars"}
    for rule in rules:
        if rule.again is not None or any(route_of(task) is None for task in rule.chain):
            return False
        if rule.when is not None and any(isinstance(p, Name) and p.name not in roots for p in walk(rule.when.expr)):
            return False
    return True


def sends_answer(rule: CaseRule) -> bool:
    """Whether a rule for `call.done` gives its targets something of an answer: an error's is no result of the step."""
    if "call.done" not in events_of(rule):
        return False
    given = [arc.args for task in rule.chain if (route := route_of(task)) is not None for arc in route.arcs]
    names = [part for args in given if args is not None for expr, _ in expressions_in(args) for part in walk(expr)]
    return any(isinstance(part, Name) and part.name in ("result", "response", "data", "this") for part in names)


def is_http(step: Step) -> bool:
    """Whether the step's tool is http."""
    return any(task.kind == "http" for task in step.tasks)


def ready(step: Step, number: int, rule: CaseRule) -> Ready:
    """A rule with its guards and its chain."""
    label = f"case{number}"
    expr = TRUE if rule.when is None else rule.when.expr
    tasks = _named(step, label, rule.chain)
    sets = None
    if tasks and tasks[0].generated and tasks[0].rules and tasks[0].rules[0].set_ctx + tasks[0].rules[0].set_iter:
        sets, tasks = tasks[0].rules[0], tasks[1:]
    failure = FALSE if rule.when is None else on_failure(expr, http=is_http(step))
    return Ready(label, number, on_success(expr), failure, sets, tasks, rule)


def _named(step: Step, label: str, chain: Tasks) -> Tasks:
    """The chain's generated tasks under names of their own, and a chain that repeats as a whole."""
    taken: dict[str, int] = {}
    found: list[Task] = []
    for task in chain:
        if task.generated:
            word = task.name.removeprefix("__")
            taken[word] = taken.get(word, 0) + 1
            name = generated_name(step.name, label, word if taken[word] == 1 else f"{word}{taken[word]}")
            task = _named_inside(task._replace(name=name))
        found.append(task)
    return tuple(found)


def _named_inside(task: Task) -> Task:
    """The task with the generated ones in its branches, which have names in their chain only, named after it."""

    def own(tasks: Tasks) -> Tasks:
        return tuple(t._replace(name=generated_name(task.name, t.name)) if t.generated else t for t in tasks)

    return task._replace(extras=tuple(e.with_bodies(own) if isinstance(e, Choose) else e for e in task.extras))


def route_of(task: Task) -> Route | None:
    """The route that a task of a chain stands for."""
    return next((extra for extra in task.extras if isinstance(extra, Route)), None)


def success_guard(rule: Ready) -> Guard | None:
    """The guard of a rule in the tool's policy where the tool succeeds; None where it is not about that."""
    if rule.success == FALSE:
        return None
    return guard(OUTCOME_OK if rule.success == TRUE else both(OUTCOME_OK, rule.success), _span(rule))


def later_guard(rule: Ready, main: Task, known: frozenset[str]) -> Guard | None:
    """The same behind the tool, where it has succeeded."""
    if rule.success == FALSE:
        return None
    return guard_with(guard(rule.success, _span(rule)), renamed(meanings_after(main), known))


def failure_guard(rule: Ready) -> Guard | None:
    """The guard where the tool fails."""
    if rule.failure == FALSE:
        return None
    return guard(OUTCOME_ERROR if rule.failure == TRUE else both(OUTCOME_ERROR, rule.failure), _span(rule))


def _span(rule: Ready) -> Span:
    return rule.rule.span if rule.rule.when is None else rule.rule.when.span


def recorded(rule: Ready) -> Pairs:
    """What records that the rule routes."""
    return ((ROUTE, constant(rule.label, rule.rule.span)),)


def takes(rule: Ready) -> Guard:
    """The guard of the arcs that a recorded rule takes."""
    return guard(equal(path("iter", ROUTE), rule.label), rule.rule.span)


def route_arcs(step: Step, rule: Ready, route: Route, when: Guard | None) -> tuple[tuple[Arc, ...], tuple[Step, ...]]:
    """The arcs of a route and the router where it forks."""
    return branch_arcs(branch_name(step.name, "case", rule.number), route.arcs, when, route.span)


def in_chain(main: Task, tasks: Tasks, known: frozenset[str]) -> Tasks:
    """The tasks of chains, with the names of what the tool gave."""
    names = renamed(meanings_after(main), known)
    return tuple(_renamed(task, names) for task in tasks)


def _renamed(task: Task, names: Replace) -> Task:
    """The task with other names, in its branches too; its own policy is about its own outcome."""
    task = task_with(task, names) if task.generated and not task.fields else fields_with(task, names)
    return task._replace(extras=tuple(_branches(e, names) if isinstance(e, Choose) else e for e in task.extras))


def _branches(choose: Choose, names: Replace) -> Choose:
    return choose._replace(
        branches=tuple(
            branch._replace(
                when=None if branch.when is None else guard_with(branch.when, names),
                tasks=tuple(_renamed(task, names) for task in branch.tasks),
            )
            for branch in choose.branches
        )
    )


def _with_inner(tasks: Tasks) -> Tasks:
    """The tasks, and those in their branches."""
    inner = [_with_inner(body) for t in tasks for e in t.extras if isinstance(e, Choose) for body in e.bodies()]
    return (*tasks, *(task for body in inner for task in body))


def sending(step: Step, case: Case, known: Set[str]) -> Case:
    """The case whose routes give what the tool's outcome was, not that of the last task of their branch.

    In a loop the outcome of the iteration that routes is not known when the loop is done.
    """
    if step.loop is not None:
        return case
    names = renamed(rule_meanings(path("iter", OUTCOME), result_of(step.name)), known)

    def sent(task: Task) -> Task:
        extras = (
            e._replace(arcs=tuple(arc._replace(args=maybe_with(arc.args, names)) for arc in e.arcs))
            if isinstance(e, Route)
            else e
            for e in task.extras
        )
        return task._replace(extras=tuple(extras)) if task.extras else task

    return case.with_bodies(lambda chain: tuple(sent(task) for task in chain))


def _asked_inside(tasks: Tasks) -> Iterator[Guard]:
    """The guards of branches in the tasks."""
    for task in tasks:
        for extra in task.extras:
            if isinstance(extra, Choose):
                yield from (branch.when for branch in extra.branches if branch.when is not None)


def keeping(main: Task, tasks: Tasks, case: Case) -> Task:
    """The tool's task, which keeps what the chains and the routes of a case read of its outcome."""
    tasks = _with_inner(tasks)
    values = [value for task in tasks for value in (*task_values(task), *rule_values(task))]
    exprs = [expr for value in values for expr, _ in expressions_in(value)]
    exprs += [when.expr for task in tasks for when in rule_guards(task)]
    exprs += [when.expr for when in _asked_inside(tasks)]
    sent = [arc.args for rule in case.rules for t in rule.chain if (r := route_of(t)) is not None for arc in r.arcs]
    exprs += [expr for args in sent if args is not None for expr, _ in expressions_in(args)]
    return kept(main, tuple(exprs))


def split(step: Step) -> tuple[Tasks, Task, Tasks]:
    """The tasks before the tool, the tool, and what older constructs made of themselves behind it."""
    tasks = step.tasks
    at = max((n for n, task in enumerate(tasks) if not task.generated), default=len(tasks) - 1)
    return tasks[:at], tasks[at], tasks[at + 1 :]


def policy_before(main: Task) -> tuple[tuple[Rule, ...], Rule | None]:
    """The rules that go before those of a case, and what the tool does on success. Failing comes last."""
    rules = list(main.rules)
    ok = rules.pop() if rules and rules[-1].when is None and rules[-1].directive == "continue" else None
    if rules and rules[-1].when is None and rules[-1].directive == "retry" and len(rules) > 1:
        until = rules[-2].when  # a retry until something is true comes before the case that is asked about it
        assert until is not None
        rules = [rules[-1]._replace(when=guard(negated(until.expr), until.span))]
    return tuple(rule for rule in rules if not _fails_plainly(rule)), ok


def sets_first(ok: Rule | None) -> bool:
    """Whether the tool's own policy sets what the guards of a case may read (formal §3.4: first `vars`, then it)."""
    return ok is not None and bool(ok.set_ctx or ok.set_iter)


def _fails_plainly(rule: Rule) -> bool:
    """Whether a rule says no more than the default does with an error."""
    if rule.directive != "fail" or rule.code is not None or rule.when is None:
        return False
    return any(part == OUTCOME_ERROR for part in walk(rule.when.expr))


def waiting_again(wait: str, timeout: Value | None, span: Span) -> Rule:
    """The rule that waits again for what no rule has taken; the timer goes on."""
    if timeout is None:
        return jump(wait, span)
    left = Binary("-", seconds(timeout), Name("_elapsed"))
    rest = filtered(ListOf((Const(0), left)), "max")
    return jump(wait, span, set_iter=((LEFT, computed(rest, span)),))


def repeated(rule: Ready, when: Guard) -> Rule | None:
    """The rule that repeats the tool, where the action is `retry`."""
    return None if rule.rule.again is None else retrying(rule.rule.again, when, rule.rule.span)


def chained(step: Step, rule: Ready, tasks: Tasks) -> Tasks:
    """A chain that is repeated as a whole when a task of it fails (case §4.1)."""
    retry = rule.rule.retry
    if retry is None or retry.scope != "chain" or not tasks:
        return tasks
    label, span = generated_name(step.name, rule.label, "chain"), retry.span
    begin = Rule(None, "continue", span, set_iter=((label, constant(0, span)),))
    return (noop(label, span, (begin,)), *(_repeating(task, tasks[0].name, label, retry) for task in tasks))


def _repeating(task: Task, first: str, label: str, retry: Repetition) -> Task:
    if task.generated and not task.fields:
        return task
    span = retry.span
    left = compared(path("iter", label), "<", Const(retry.attempts - 1))
    rules = (
        again(label, first, span, when=guard(both(OUTCOME_ERROR, left), span), delay=retry.delay),
        Rule(
            guard(OUTCOME_ERROR, span),
            "fail",
            span,
            code=constant("retry.exhausted", span),
            message=constant(f"the chain of `{first}` did not succeed", span),
        ),
    )
    return task._replace(rules=(*task.rules, *rules) if task.rules else (*rules, Rule(None, "continue", span)))


def merged_result(main: Task, name: str, tasks: Tasks) -> Task:
    """The merge point; where tasks of a chain have results, the step keeps the tool's."""
    if not any(not task.generated for task in tasks) or not main.name.isidentifier():
        return noop(name, main.span)
    value = native(otherwise(Name(main.name), Const(None)))
    return noop(name, main.span, (), (("result", Value(value, main.span, None)),))


def end_of(step: Step, rule: Ready, target: str, set_iter: Pairs = ()) -> Task:
    """The end of a branch: it jumps to a merge point."""
    span = rule.rule.span
    return noop(generated_name(step.name, rule.label, "merge"), span, (jump(target, span, set_iter=set_iter),))
