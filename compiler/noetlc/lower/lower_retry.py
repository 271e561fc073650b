"""lower_retry: `retry` as a mapping, a number or a truth value becomes rules (LANGUAGE §6, formal §7, case §4).

    retry: {max_attempts: 5}             →  [{when: error, then: retry 5}, {else: continue}]
    retry: {retry_when: g}               →  [{when: error and not g, then: fail}, {when: g, then: retry 3}, …]
    retry: {stop_when: s}                →  [{when: ok and s, then: continue}, {when: s, then: fail}, {else: retry 3}]

A retry that is used up fails with `retry.exhausted`; so no rule with a `when` may follow it that takes an error.
The policy of a step is the default of its tasks (order: tool, then, step); `on_error` is one for tasks without any.
"""

from noetl_ir.expr import Literal
from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks, change_lists, taken, taken_of
from noetlc.ast.playbook import Guard, Playbook, Rule, Step, Task
from noetlc.ast.repeat import OnError, Pages, Poll, Retry
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Class, Note
from noetlc.expr.generated import guard
from noetlc.expr.legacy_names import IN_RULES, Meanings, renamed
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, negated, path
from noetlc.expr.templates import guard_with
from noetlc.expr.values import constant_of

BY = "lower_retry"
_TEXT: Meanings = {("error",): path("outcome", "error", "message")}
"""In retry conditions the bare `error` is a message."""


def lower_retry(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which every repetition of a failure is a rule."""
    known = frozenset([step.name for step in playbook.steps]) | {key for key, _ in playbook.workload}
    playbook = replace_steps(playbook, _inherited)

    def retried(tasks: Tasks) -> Tasks:
        return tuple(_retried(task, known, note) for task in tasks)

    return change_lists(playbook, lambda _, tasks: retried(tasks))


def _inherited(step: Step) -> Step:
    """The step's policies as those of its tasks: a list, a poll and `on_error` too."""
    retry, step = taken_of(step, Retry)
    pages, step = taken_of(step, Pages)
    poll, step = taken_of(step, Poll)
    on_error, step = taken_of(step, OnError)
    if retry is None and pages is None and poll is None and on_error is None:
        return step

    def with_default(task: Task) -> Task:
        own = any(isinstance(extra, Retry | Pages) for extra in task.extras)
        if retry is not None and not own and not task.generated:
            task = task._replace(extras=(*task.extras, retry))
        elif on_error is not None and not own and not task.rules and not task.generated:
            task = task._replace(extras=(*task.extras, on_error))
        return task

    step = step._replace(tasks=tuple(with_default(task) for task in step.tasks))
    last = step.tasks[-1]
    added = tuple(extra for extra in (pages, poll) if extra is not None)
    return step._replace(tasks=(*step.tasks[:-1], last._replace(extras=(*last.extras, *added))))


def _retried(task: Task, known: frozenset[str], note: Note) -> Task:
    retry, task = taken(task, Retry)
    on_error, task = taken(task, OnError)
    if retry is not None:
        klass: Class = "review" if retry.until is not None and retry.when is None else "safe"
        note(Change(BY, retry.span, "`retry`", klass, _said(retry)))
        if isinstance(retry.attempts.template, Literal) and retry.attempts.template.value == 1:
            return task
        return task._replace(rules=(*_rules(retry, known), *task.rules) if task.rules else _whole(retry, known))
    if on_error is not None and not task.rules:
        note(Change(BY, on_error.span, "`on_error`", "safe", "the policy of tasks that have none"))
        return task._replace(rules=_on_error(on_error))
    return task


def _said(retry: Retry) -> str:
    if retry.until is not None and retry.when is None:
        return "rules that repeat a success too, until `stop_when` is true"
    return "rules that retry; used up, they fail with `retry.exhausted`"


def _whole(retry: Retry, known: frozenset[str]) -> tuple[Rule, ...]:
    """The rules with what happens when none of them matches: success goes on."""
    rules = _rules(retry, known)
    return rules if rules[-1].when is None else (*rules, Rule(None, "continue", retry.span))


def _rules(retry: Retry, known: frozenset[str]) -> tuple[Rule, ...]:
    span = retry.span
    most = constant_of(retry.attempts.template.value) if isinstance(retry.attempts.template, Literal) else None
    meanings = {**IN_RULES, **_TEXT}
    if most is not None:
        meanings["max_attempts",] = most
    names = renamed(meanings, known)
    when = None if retry.when is None else guard_with(retry.when, names)
    until = None if retry.until is None else guard_with(retry.until, names)
    stops: tuple[Rule, ...] = ()
    if until is not None:
        done = guard(both(OUTCOME_OK, until.expr), until.span)
        stops = (Rule(done, "continue", until.span), Rule(until, "fail", until.span))
    if when is None:
        asked = None if until is not None else guard(OUTCOME_ERROR, span)
        return (*stops, _retry(retry, asked, span))
    unless = guard(both(OUTCOME_ERROR, negated(when.expr)), when.span)
    return (*stops, Rule(unless, "fail", when.span), _retry(retry, when, when.span))


def _retry(retry: Retry, when: Guard | None, span: Span) -> Rule:
    value = retry.attempts.template.value if isinstance(retry.attempts.template, Literal) else 3
    return Rule(
        when,
        "retry",
        span,
        attempts=value if isinstance(value, int) else 3,
        backoff=retry.backoff,
        delay=retry.delay,
        multiplier=retry.multiplier,
        max_delay=retry.max_delay,
        jitter=retry.jitter,
    )


def _on_error(on_error: OnError) -> tuple[Rule, ...]:
    span = on_error.span
    match on_error.mode:
        case "ignore":
            return (Rule(None, "continue", span),)
        case "retry":
            return (Rule(guard(OUTCOME_ERROR, span), "retry", span), Rule(None, "continue", span))
        case _:
            return ()
