"""lower_retry: `retry` as a mapping, a number or a truth value becomes rules (LANGUAGE §6, formal §7, case §4).

    retry: {max_attempts: 5}             →  [{when: error, then: retry 5}, {else: continue}]
    retry: {retry_when: g}               →  [{when: error and not g, then: fail}, {when: g, then: retry 3}, …]
    retry: {stop_when: s}                →  [{when: ok and s, then: continue}, {when: s, then: fail}, {else: retry 3}]

A retry that is used up fails with `retry.exhausted`; so no rule with a `when` may follow it that takes an error.
The policy of a step is the default of its tasks, then that of the executor (order: tool, then, step, executor);
`on_error` is one for tasks without any, and the executor's for those without any policy.
"""

from collections.abc import Callable

from noetl_ir.expr import Const
from noetlc.ast.bodies import Tasks, change_lists, taken, taken_of
from noetlc.ast.cases import Case, CaseRule
from noetlc.ast.playbook import Playbook, Rule, Step, Task
from noetlc.ast.repeat import OnError, Pages, Poll, Repetition, Retry
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Class, Note
from noetlc.expr.generated import guard
from noetlc.expr.legacy_names import IN_RULES, Meanings, renamed
from noetlc.expr.repeating import retrying
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, negated, path
from noetlc.expr.templates import guard_with

BY = "lower_retry"
_TEXT: Meanings = {("error",): path("outcome", "error", "message")}
"""In retry conditions the bare `error` is a message."""


def lower_retry(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which every repetition of a failure is a rule."""
    known = frozenset([step.name for step in playbook.steps]) | {key for key, _ in playbook.workload}
    executor = playbook.executor
    default = next((extra for extra in executor.extras if isinstance(extra, Retry)), None)
    rest = tuple(extra for extra in executor.extras if not isinstance(extra, Retry))
    playbook = playbook._replace(executor=executor._replace(extras=rest)) if default is not None else playbook
    playbook = replace_steps(playbook, lambda step: _inherited(step, default))

    def retried(tasks: Tasks) -> Tasks:
        return tuple(_retried(task, known, note) for task in tasks)

    return change_lists(playbook, lambda _, tasks: retried(tasks))


def _inherited(step: Step, default: Retry | None) -> Step:
    """The step's policies as those of its tasks: a list, a poll and `on_error` too; `default` is the executor's."""
    retry, step = taken_of(step, Retry)
    pages, step = taken_of(step, Pages)
    poll, step = taken_of(step, Poll)
    on_error, step = taken_of(step, OnError)
    default = None if pages is not None else default  # a list is a policy too
    chains = any(isinstance(extra, Case) for extra in step.extras)
    if retry is None and pages is None and poll is None and on_error is None and default is None and not chains:
        return step

    def with_default(task: Task) -> Task:
        own = any(isinstance(extra, Retry | Pages) for extra in task.extras)
        if retry is not None and not own and not task.generated:
            task = task._replace(extras=(*task.extras, retry))
        elif on_error is not None and not own and not task.rules and not task.generated:
            task = task._replace(extras=(*task.extras, on_error))
        elif default is not None and not own and not task.rules and not task.generated:
            task = task._replace(extras=(*task.extras, default))
        return task

    step = step._replace(tasks=tuple(with_default(task) for task in step.tasks))
    step = step._replace(extras=tuple(_chains(extra, with_default) for extra in step.extras))
    last = step.tasks[-1]
    added = tuple(extra for extra in (pages, poll) if extra is not None)
    return step._replace(tasks=(*step.tasks[:-1], last._replace(extras=(*last.extras, *added))))


def _chains(extra: Sugar, with_default: Callable[[Task], Task]) -> Sugar:
    """The chains of a case: each inherits its own policy before that of the step."""
    if not isinstance(extra, Case):
        return extra

    def of_rule(rule: CaseRule) -> CaseRule:
        own = rule.retry
        if own is None or own.scope == "chain":
            return rule._replace(chain=tuple(with_default(task) for task in rule.chain))
        added = tuple(
            task
            if task.generated or any(isinstance(e, Retry | Pages) for e in task.extras)
            else task._replace(extras=(*task.extras, Retry(own, own.span)))
            for task in rule.chain
        )
        return rule._replace(chain=added)

    return extra._replace(rules=tuple(of_rule(rule) for rule in extra.rules))


def _retried(task: Task, known: frozenset[str], note: Note) -> Task:
    found, task = taken(task, Retry)
    on_error, task = taken(task, OnError)
    if found is not None:
        retry = found.policy
        klass: Class = "review" if retry.until is not None and retry.when is None else "safe"
        note(Change(BY, retry.span, "`retry`", klass, _said(retry)))
        if retry.attempts == 1:
            return task
        return task._replace(rules=(*_rules(retry, known), *task.rules) if task.rules else _whole(retry, known))
    if on_error is not None and not task.rules:
        note(Change(BY, on_error.span, "`on_error`", "safe", "the policy of tasks that have none"))
        return task._replace(rules=_on_error(on_error))
    return task


def _said(retry: Repetition) -> str:
    if retry.until is not None and retry.when is None:
        return "rules that repeat a success too, until `stop_when` is true"
    return "rules that retry; used up, they fail with `retry.exhausted`"


def _whole(retry: Repetition, known: frozenset[str]) -> tuple[Rule, ...]:
    """The rules with what happens when none of them matches: success goes on."""
    rules = _rules(retry, known)
    return rules if rules[-1].when is None else (*rules, Rule(None, "continue", retry.span))


def _rules(retry: Repetition, known: frozenset[str]) -> tuple[Rule, ...]:
    span = retry.span
    names = renamed({**IN_RULES, **_TEXT, ("max_attempts",): Const(retry.attempts)}, known)
    when = None if retry.when is None else guard_with(retry.when, names)
    until = None if retry.until is None else guard_with(retry.until, names)
    stops: tuple[Rule, ...] = ()
    if until is not None:
        done = guard(both(OUTCOME_OK, until.expr), until.span)
        stops = (Rule(done, "continue", until.span), Rule(until, "fail", until.span))
    if when is None:
        asked = None if until is not None else guard(OUTCOME_ERROR, span)
        return (*stops, retrying(retry, asked, span))
    unless = guard(both(OUTCOME_ERROR, negated(when.expr)), when.span)
    return (*stops, Rule(unless, "fail", when.span), retrying(retry, when, when.span))


def _on_error(on_error: OnError) -> tuple[Rule, ...]:
    span = on_error.span
    match on_error.mode:
        case "ignore":
            return (Rule(None, "continue", span),)
        case "retry":
            return (Rule(guard(OUTCOME_ERROR, span), "retry", span), Rule(None, "continue", span))
        case _:
            return ()
