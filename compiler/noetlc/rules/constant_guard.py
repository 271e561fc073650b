"""constant-guard: a guard is never true, or never false.

Why it matters
    The arc or rule of the guard is never taken, or always: the guard does not ask what it was meant to ask.
Example
    when: "{{ outcome.status == 'error' and outcome.status == 'ok' }}"
Instead
    when: "{{ outcome.status == 'error' }}"
    An arc that is to be taken after success and failure says so with `{{ event.status in ['ok', 'error'] }}`, of which
    nothing is said: without a guard it would be for success only.
When to ignore
    Where a branch is switched off for a while with `{{ false }}`.
"""

from collections.abc import Iterator

from noetl_ir.expr import Const, Expr
from noetlc.analysis.choices import choice_of
from noetlc.ast.once import Once
from noetlc.ast.playbook import Guard, Step
from noetlc.ast.truth import takes_part_on_failure
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import strange_words, words_compared
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Guards of arcs, admissions and policies that have one truth whenever they are asked; lowering may make such."""
    for step in unit.playbook.steps if not unit.playbook.legacy else ():
        for guard, moments in _asked(step):
            if not _is_told(guard, "loop.done" if step.loop is None else "step.done"):
                found = _TRUTHS[moments](guard.expr)
                if not (found and "step.failed" in moments):  # left out, the arc would be for success only
                    yield from _judged(guard, found)


def _asked(step: Step) -> Iterator[tuple[Guard, str]]:
    """The guards of a step, each with the moments at which it is asked, a word each."""
    for rule in step.spec.admit.rules if step.spec.admit is not None else ():
        if rule.when is not None:
            yield rule.when, "any"
    for arc in step.router.arcs if step.router is not None else ():
        if arc.when is not None:
            done = "step.done" if step.loop is None else "loop.done"
            yield arc.when, f"{done} step.failed" if takes_part_on_failure(arc) else done
    for task in step.tasks:
        for policy in task.rules:
            if policy.when is not None:
                yield policy.when, "ok error"


def _is_told(guard: Guard, other: str) -> bool:
    """Whether other rules say what is wrong with it, as that it waits for the `other` event, or it is `true`."""
    return (
        guard.expr == Const(True)
        or bool(strange_words(guard.expr))
        or any(path == ("event", "name") and const.value == other for path, const in words_compared(guard.expr))
    )


def _judged(guard: Guard, truth: bool | None) -> Iterator[Diagnostic]:
    if truth is False:
        yield RULE.finding("this guard is never true", guard.span, help="ask what can be so, or remove what it guards")
    elif truth:
        yield RULE.finding("this guard is always true", guard.span, help="leave it out, or ask what can be otherwise")


def _only_truth(moments: str) -> Once[Expr, bool | None]:
    """The truth of a guard that has but one at some moments; worked out once for all playbooks."""

    def ask(expr: Expr) -> bool | None:
        # Each moment by itself: a guard may be always true after a success and never after a failure.
        choices = [choice_of((expr,), moment, frozenset()) for moment in moments.split()]
        if not any(choice.may(0) for choice in choices):
            return False
        return True if all(choice.always(0) for choice in choices) else None

    return Once(ask)


_TRUTHS = {
    moments: _only_truth(moments)
    for moments in ("any", "ok error", "step.done", "loop.done", "step.done step.failed", "loop.done step.failed")
}

RULE = LintRule("NL611", Severity.WARNING, "ast", check)
