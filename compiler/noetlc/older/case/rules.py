"""Parts that the passes for `case` share: its rules in order, their chains as tasks, and routes as arcs."""

from collections.abc import Iterable, Iterator

from noetl_ir.expr import Attribute, Binary, Const, Expr, Name, walk
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import Choose, Tasks
from noetlc.ast.playbook import Guard, Pairs, Rule, Step, Task, Value
from noetlc.ast.walk import expressions_in
from noetlc.expr.counting import again
from noetlc.expr.generated import constant, expression_of, generated_name, guard, jump, noop
from noetlc.expr.shorthand import (
    FALSE,
    OUTCOME_ERROR,
    OUTCOME_OK,
    TRUE,
    both,
    compared,
    negated,
    otherwise,
    path,
)
from noetlc.expr.templates import guard_with, native, rule_with
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.case.settings import reached_parts, route_of, winner
from noetlc.older.chains import named_in_chain, read_in, renamed_chain, with_inner, with_own_names
from noetlc.older.events import EXIT, LOOP, events_in, on_failure, on_success
from noetlc.older.hoisting import with_meanings
from noetlc.older.legacy_names import ITSELF, Meanings, own_meanings, renamed
from noetlc.older.page_nodes import tool_at
from noetlc.older.patching import OUTCOME, kept, meanings_after
from noetlc.older.repetition import Repetition


class Ready(NamedTuple):
    """A rule that is ready to become rules and tasks.

    `label` is `case` and its number in the file. `success` and `failure` are its guard for either outcome of the tool,
    `false` where the rule is not about that outcome. `sets` is what its first action sets, if it only sets; `tasks` the
    rest of its chain, in which noops stand for routes.
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
        """The route that its chain takes when nothing else runs."""
        return winner(reached_parts(self.tasks)[1])

    @property
    def work(self) -> Tasks:
        """The tasks of its chain that run when nothing else does."""
        return reached_parts(self.tasks)[0]


def in_order(case: Case) -> list[tuple[int, CaseRule]]:
    """The rules with their numbers in the file, by priority where that is asked for."""
    numbered = list(enumerate(case.rules))
    # The sort is stable: among rules of one priority the first in the file is asked first.
    return sorted(numbered, key=lambda pair: -pair[1].priority) if case.order == "priority" else numbered


def events_of(rule: CaseRule) -> frozenset[str]:
    """The events that a rule names."""
    return frozenset() if rule.when is None else events_in(rule.when.expr)


def is_for_exit(rule: CaseRule) -> bool:
    """Whether a rule is about the end of its step, which comes behind the end of the call."""
    names = events_of(rule)
    # A rule that names `call.done` besides is about the call. So is one that names no event, as 265 public rules: it
    # is asked of the call's success.
    return bool(names) and names <= EXIT


def is_for_loop(rule: CaseRule, step: Step) -> bool:
    """Whether a rule is about the end of its step's loop."""
    names = events_of(rule)
    return step.loop is not None and bool(names) and names <= LOOP


def only_routes(rules: Iterable[CaseRule]) -> bool:
    """Whether rules look at `event`, `ctx` and `workload` only and do nothing but route (LANGUAGE §6). A rule that does
    nothing leads nowhere when it is taken, and takes a failure.
    """
    roots = {"event", "ctx", "workload", "vars"}
    for rule in rules:
        if rule.again is not None or not rule.chain or any(route_of(task) is None for task in rule.chain):
            return False
        if rule.when is not None and any(isinstance(p, Name) and p.name not in roots for p in walk(rule.when.expr)):
            return False
    return True


def sees_cause(step: Step, rule: CaseRule) -> bool:
    """Whether a rule reads the error of a tool that is retried. An arc would see `retry.exhausted`, a rule
    the cause.
    """
    if rule.when is None or on_failure(rule.when.expr) == FALSE:
        return False
    # Only a retry puts `retry.exhausted` in the place of the cause. Without one, arcs and rules see the same error.
    if not any(one.directive == "retry" for one in split(step)[1].rules):
        return False
    routes = [route for task in rule.chain if (route := route_of(task)) is not None]
    exprs = [rule.when.expr] if rule.when is not None else []
    exprs += [e for route in routes for arc in route.arcs if arc.args is not None for e, _ in expressions_in(arc.args)]
    return any(_is_error(part) for expr in exprs for part in walk(expr))


def _is_error(expr: Expr) -> bool:
    match expr:
        case Name(name="error" | "_err" | "status_code" | "this" | "response"):
            return True
        case Attribute(of=Name(name="event"), name="error" | "outcome" | "result"):
            return True
        case _:
            return False


def apart(step: Step, case: Case) -> Case:
    """The case with unique names of tasks: where the step or an earlier branch has the name, the branch is
    added to it.
    """
    taken = {task.name for task in step.tasks}
    rules: list[CaseRule] = []
    for number, rule in enumerate(case.rules):
        rules.append(rule._replace(chain=with_own_names(rule.chain, taken, f"case{number}")))
        taken |= {task.name for task in rule.chain if not task.generated}
    return case._replace(rules=tuple(rules))


def ready(step: Step, number: int, rule: CaseRule) -> Ready:
    """A rule with its guards and its chain."""
    label = f"case{number}"
    expr = TRUE if rule.when is None else rule.when.expr
    tasks = named_in_chain(generated_name(step.name, label), rule.chain)
    sets = None
    is_whole = rule.retry is not None and rule.retry.scope == "chain"  # it begins anew with what it sets
    # A first action that only sets becomes part of the rule that leads to the branch: one task less, as somebody
    # would write it by hand.
    if not is_whole and tasks and _is_patch(tasks[0]):
        sets, tasks = tasks[0].rules[0], tasks[1:]
    failure = FALSE if rule.when is None else on_failure(expr)
    return Ready(label, number, on_success(expr), failure, sets, tasks, rule)


def _is_patch(task: Task) -> bool:
    """Whether a task of a chain only sets something."""
    return task.generated and bool(task.rules) and bool(task.rules[0].set_ctx + task.rules[0].set_iter)


def success_guard(rule: Ready) -> Guard | None:
    """The guard of a rule in the tool's policy where the tool succeeds; None where it is not about that."""
    if rule.success == FALSE:
        return None
    return guard(OUTCOME_OK if rule.success == TRUE else both(OUTCOME_OK, rule.success), span_of(rule))


def later_guard(rule: Ready, main: Task, known: frozenset[str]) -> Guard | None:
    """The guard of a rule behind the tool, where it has succeeded."""
    if rule.success == FALSE:
        return None
    after = meanings_after(main)
    meanings = {**after, ("outcome",): path("iter", OUTCOME), ("outcome", "result"): after["result",]}
    return guard_with(guard(rule.success, span_of(rule)), renamed(meanings, known))


def failures(rules: list[Ready]) -> list[tuple[Ready, Guard]]:
    """The rules about a failure in the order in which they are asked."""
    return [(rule, _failing(rule, rule.failure)) for rule in rules if rule.failure != FALSE]


def _failing(rule: Ready, asked: Expr) -> Guard:
    return guard(OUTCOME_ERROR if asked == TRUE else both(OUTCOME_ERROR, asked), span_of(rule))


def of_now(rules: Iterable[Rule], main: Task) -> tuple[Rule, ...]:
    """Rules for the policy of the tool, in which the tool's name means the result that it has just given."""
    # As a plain name it would be the result of an earlier run, or none. Nothing can hide the name in the task's policy.
    names = renamed(own_meanings(main.name), frozenset())
    return tuple(rule_with(rule, names) for rule in rules)


def span_of(rule: Ready) -> Span:
    """Where the rule asks."""
    return rule.rule.span if rule.rule.when is None else rule.rule.when.span


def in_chain(step: Step, tasks: Tasks, known: frozenset[str]) -> Tasks:
    """The tasks of chains, whose old words are replaced by names for what the tool of the step gave."""
    meanings = meanings_behind(step)
    return tuple(with_meanings(task, meanings, known) for task in renamed_chain(tasks, renamed(meanings, known)))


_WHOLE = (
    ("result",), ("data",), ("this", "data"), ("this", "result"), ("output", "data"), ("output", "result"),
)  # fmt: skip
"""What stands for all that a step gives, where `response` is the last answer."""


def meanings_behind(step: Step) -> Meanings:
    """The meanings of old names once the tool of a step is no longer repeated (REAL.md, flow).

    Where pages are gathered, the result is all of them. A list has no keys, so that `result.total` is the last page's.
    """
    _, main, after = split(step)
    meanings = meanings_after(main)
    for _, value in _gathered(after):
        whole = expression_of(value.template)
        # Pages that are appended are a list, so that `result` alone is all of them, and a key below it is the last
        # page's. Merged pages are a mapping, which has the keys.
        itself = (ITSELF,) if _is_appended(main, whole) else ()
        meanings = {**meanings, **{(*words, *itself): whole for words in (*_WHOLE, (main.name,))}}
    return meanings


def _is_appended(main: Task, gathered: Expr) -> bool:
    """Whether pages are gathered as a list."""
    return any(
        path("iter", name) == gathered and isinstance(expression_of(value.template), Binary)
        for rule in main.rules
        for name, value in rule.set_iter
    )


def _gathered(after: Tasks) -> Pairs:
    """The result of a loop over pages, by the task behind the tool that gives it; empty where nothing is gathered."""
    return tuple(field for task in after if task.name.endswith("__result") for field in task.fields)


def keeping(main: Task, tasks: Tasks, case: Case) -> Task:
    """The tool's task, which keeps what the chains and the routes of a case read of its outcome."""
    return kept(main, tuple(read_by(tasks, case)))


def read_by(tasks: Tasks, case: Case) -> Iterator[Expr]:
    """Every expression of the tasks, in their branches too, and of the routes."""
    yield from read_in(tasks)
    tasks = with_inner(tasks)
    routes = [route for rule in case.rules for task in rule.chain if (route := route_of(task)) is not None]
    for arc in (arc for route in routes for arc in route.arcs):
        for value in (one for one in (arc.args, arc.delay) if one is not None):
            yield from (expr for expr, _ in expressions_in(value))
        if arc.when is not None:
            yield arc.when.expr


def split(step: Step) -> tuple[Tasks, Task, Tasks]:
    """The tasks before the tool, the tool, and what older constructs made of themselves behind it."""
    tasks = step.tasks
    at = tool_at(tasks) % len(tasks)
    return tasks[:at], tasks[at], tasks[at + 1 :]


class Policy(NamedTuple):
    """The rules of a tool's own policy beside a case: `before` are its rules that are asked before those of the
    case, `ok` what it does on success, `ignores` whether it goes on after an error.
    """

    before: tuple[Rule, ...]
    ok: Rule | None
    ignores: bool


def policy_of(main: Task) -> Policy:
    """The parts of the tool's policy. Failing comes last."""
    rules, ok = list(main.rules), None
    # A last rule that plainly fails is taken away: `unmatched` says it again behind the rules of the case, which have
    # to be asked first.
    if rules and rules[-1].when is None and rules[-1].directive == "fail" and rules[-1].code is None:
        rules.pop()
        ignores = False
    else:
        ignores = bool(rules) and not any(_is_about_errors(rule) for rule in rules)
    if rules and rules[-1].directive == "continue" and _takes_success(rules[-1]):
        ok = rules.pop()
    if rules and rules[-1].when is None and rules[-1].directive == "retry" and len(rules) > 1:
        until = rules[-2].when  # a retry until something is true comes before the case that is asked about it
        assert until is not None
        rules[-1] = rules[-1]._replace(when=guard(negated(until.expr), until.span))
        rules = rules[-1:]
    ignores = ignores or any(_ignores_errors(rule) for rule in rules)
    return Policy(tuple(rule for rule in rules if not (_fails_plainly(rule) or _ignores_errors(rule))), ok, ignores)


def _takes_success(rule: Rule) -> bool:
    return rule.when is None or rule.when.expr == OUTCOME_OK


def _is_about_errors(rule: Rule) -> bool:
    return rule.when is not None and any(part == OUTCOME_ERROR for part in walk(rule.when.expr))


def _ignores_errors(rule: Rule) -> bool:
    return rule.when is not None and rule.when.expr == OUTCOME_ERROR and rule.directive == "continue"


def unmatched(policy: Policy, merge: str, span: Span) -> Rule:
    """The rules for an outcome that no rule takes: it fails, or its error is ignored and no rule routes."""
    # Failures that no rule takes fail the step (REAL.md, flow). Without this last rule the default would let the
    # error pass, and an error page would be stored as a success.
    if not policy.ignores:
        return Rule(None, "fail", span)
    when = guard(OUTCOME_ERROR, span)
    return jump(merge, span, when=when) if merge else Rule(when, "break", span)


def sets_first(ok: Rule | None) -> bool:
    """Whether the tool's own policy sets what the guards of a case may read (formal §3.4: first `vars`, then it)."""
    return ok is not None and bool(ok.set_ctx or ok.set_iter)


def _fails_plainly(rule: Rule) -> bool:
    """Whether a rule says no more than the default does with an error."""
    if rule.directive != "fail" or rule.code is not None or rule.when is None:
        return False
    return _is_about_errors(rule)


class _Whole(NamedTuple):
    """A chain that is repeated as a whole: its first task, its counter in `iter`, and the task it is called after."""

    first: str
    label: str
    shown: str
    retry: Repetition

    def chain_with(self, tasks: Tasks) -> Tasks:
        """Tasks of the chain, each of which begins it anew when it fails."""
        return tuple(self._repeating(task) for task in tasks)

    def _repeating(self, task: Task) -> Task:
        # Generated tasks that only lead on or set cannot fail for a cause that a repetition could mend.
        if task.generated and not task.fields:
            inner = tuple(
                extra.with_bodies(self.chain_with) if isinstance(extra, Choose) else extra for extra in task.extras
            )
            return task._replace(extras=inner)
        span = self.retry.span
        # The counter is the chain's own and counts from 0: a policy's attempts count one task, and several tasks may
        # fail in turn here.
        left = compared(path("iter", self.label), "<", Const(self.retry.attempts - 1))
        when = guard(both(OUTCOME_ERROR, left), span)
        message = constant(f"the chain of `{self.shown}` did not succeed", span)
        rules = (
            again(self.label, self.first, span, when=when, delay=self.retry.delay),
            Rule(guard(OUTCOME_ERROR, span), "fail", span, code=constant("retry.exhausted", span), message=message),
        )
        own = task.rules or (Rule(None, "continue", span),)
        at = next((n for n, rule in enumerate(own) if rule.when is None), len(own))  # what it does anyway is asked last
        return task._replace(rules=(*own[:at], *rules, *own[at:]))


def repeated_chain(step: Step, rule: Ready, tasks: Tasks) -> Tasks:
    """A chain that is repeated as a whole when a task of it fails (case §4.1)."""
    retry = rule.rule.retry
    if retry is None or retry.scope != "chain" or retry.attempts == 1 or not tasks:
        return tasks
    label, span = generated_name(step.name, rule.label, "chain"), retry.span
    shown = next((task.name for task in tasks if not task.generated), step.name)
    # The counter begins at each entry. Without that, a step that runs again would go on from the attempts of the run
    # before.
    begin = Rule(None, "continue", span, set_iter=((label, constant(0, span)),))
    return (noop(label, span, (begin,)), *_Whole(tasks[0].name, label, shown, retry).chain_with(tasks))


def merged_result(main: Task, name: str, tasks: Tasks, *, after: Tasks, tool: str) -> Task:
    """The merge point `name` of the branches, a noop that keeps the step's result where tasks of a chain have results.

    That is the result of one of the generated tasks behind the tool (`after`), else that of the tool `main`, else,
    where `main` is a wait that never began, that of `tool`.
    """
    # Generated tasks have no result of their own: the tool's result stays what the step gives, and the merge point
    # needs none.
    if all(task.generated for task in tasks):
        return noop(name, main.span)
    gathered = _gathered(after)
    if gathered:
        return noop(name, main.span, (), gathered)
    # A name that is no identifier cannot be read in an expression, so that there is no way to give its result on.
    if not main.name.isidentifier():
        return noop(name, main.span)
    value: Expr = Name(main.name)
    # A wait that never began has given nothing: rules about the tool itself ended the step before. Its result is the
    # tool's then.
    if tool.isidentifier():
        value = otherwise(value, Name(tool))
    return noop(name, main.span, (), (("result", Value(native(otherwise(value, Const(None))), main.span, None)),))
