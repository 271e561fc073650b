"""Rules of a `case` that try the tool again: in the tool's own policy, before anything that stands behind it.

A rule whose attempts are used up does the rest of what it says. One without a rest leaves the outcome to later rules,
and to nothing else: no `else` and no `next` of the step takes it (LANGUAGE §4).
"""

from collections.abc import Iterable

from noetl_ir.expr import Expr, walk
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Rule
from noetlc.expr.generated import guard
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, either, negated
from noetlc.expr.values import expression_of
from noetlc.older.case.rules import Policy, Ready, span_of
from noetlc.older.events import FALSE, TRUE
from noetlc.older.legacy_names import Meanings, renamed
from noetlc.older.repetition import retrying


def repeated(rule: Ready, when: Guard) -> Rule | None:
    """The rule that repeats the tool, where the action is `retry`."""
    return None if rule.rule.again is None else retrying(rule.rule.again, when, rule.rule.span)


def only_repeats(rule: Ready) -> bool:
    """Whether a rule does nothing but repeat the tool."""
    return rule.rule.again is not None and not rule.tasks and rule.sets is None


def but_for_used_up(policy: Policy, rules: list[Ready]) -> list[Ready]:
    """The rules, of which an `else` takes no success that is to be repeated."""
    used = _used_up(policy, rules)
    if not used:
        return rules
    other = FALSE if TRUE in used else negated(either(*used))
    return [rule._replace(success=other) if rule.rule.when is None else rule for rule in rules]


def left_over(policy: Policy, rules: list[Ready], *, behind: bool = False) -> Expr:
    """A success that no rule of the case takes, or with `behind` one that goes on to where they are asked; FALSE where
    there is none. One that the tool's own `retry` or a rule that only repeats asks for is none: used up it fails.
    """
    taking = [rule.success for rule in rules if not only_repeats(rule) and rule.success != FALSE]
    used = _used_up(policy, rules)
    if TRUE in taking or not used:
        return OUTCOME_OK
    if TRUE in used:
        return both(OUTCOME_OK, either(*taking)) if behind and taking else FALSE
    if behind:
        return both(OUTCOME_OK, either(*dict.fromkeys((negated(either(*used)), *taking))))
    return both(OUTCOME_OK, *(negated(expr) for expr in used))


def going_on(policy: Policy, rules: list[Ready], span: Span) -> tuple[Rule, ...]:
    """What the tool does with a success where the rules are asked behind it: it is repeated, or the run goes on."""
    left = as_set(left_over(policy, rules, behind=True), policy)
    onward = () if left == FALSE else (Rule(guard(left, span), "continue", span),)
    return (*_retries(policy, rules), *onward)


def _retries(policy: Policy, rules: Iterable[Ready]) -> tuple[Rule, ...]:
    """The rules that repeat the tool on success: each but for what one before it takes, and with what the tool's policy
    is about to set.
    """
    found: list[Rule] = []
    before: list[Expr] = []
    for rule in (rule for rule in rules if rule.success != FALSE):
        parts = [part for part in (rule.success, *(negated(expr) for expr in before)) if part != TRUE]
        when = guard(as_set(both(OUTCOME_OK, *parts), policy), span_of(rule))
        if (retry := repeated(rule, when)) is not None and negated(TRUE) not in parts:
            found.append(retry)
        before += [] if only_repeats(rule) else [rule.success]
    return tuple(found)


def as_set(expr: Expr, policy: Policy) -> Expr:
    """An expression with what the tool's policy sets on success in the place of the names that it sets."""
    if policy.ok is None:
        return expr
    meanings: Meanings = {
        (scope, key): expression_of(value.template)
        for scopes, pairs in ((("ctx", "vars"), policy.ok.set_ctx), (("iter",), policy.ok.set_iter))
        for key, value in pairs
        for scope in scopes
    }
    return rewritten(expr, renamed(meanings, ())) if meanings else expr


def _used_up(policy: Policy, rules: Iterable[Ready]) -> list[Expr]:
    """What the tool's own `retry` and rules that only repeat ask of a success."""
    own = [rule.when.expr for rule in policy.before if rule.directive == "retry" and rule.when is not None]
    asked = [expr for expr in own if not any(part == OUTCOME_ERROR for part in walk(expr))]
    return [*asked, *(rule.success for rule in rules if only_repeats(rule) and rule.success != FALSE)]
