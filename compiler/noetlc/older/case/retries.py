"""Rules of a `case` that try the tool again: in the tool's own policy, before anything that stands behind it.

A rule whose attempts are used up does the rest of what it says. One without a rest leaves the outcome to later rules: a
success stops and keeps what there is, a failure is `retry.exhausted` where no later rule takes it.
"""

from collections.abc import Iterable

from noetl_ir.expr import Expr
from noetlc.ast.playbook import Guard, Rule
from noetlc.expr.generated import expression_of, guard
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import FALSE, OUTCOME_OK, TRUE, both, negated
from noetlc.older.case.rules import Policy, Ready, span_of
from noetlc.older.legacy_names import Meanings, renamed
from noetlc.older.repetition import retrying


def repeated(rule: Ready, when: Guard) -> Rule | None:
    """The rule that repeats the tool, where the action is `retry`."""
    return None if rule.rule.again is None else retrying(rule.rule.again, when, rule.rule.span)


def only_repeats(rule: Ready) -> bool:
    """Whether a rule does nothing but repeat the tool."""
    return rule.rule.again is not None and not rule.tasks and rule.sets is None


def repetitions(policy: Policy, rules: Iterable[Ready]) -> tuple[Rule, ...]:
    """The rules that repeat the tool on success, for a case whose other actions are decided in tasks behind the tool.

    The guard of each leaves out what an earlier rule takes. It reads the values that the tool's policy is about to set,
    which are not yet in `ctx` and `iter`.
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
    """An expression in which names that the tool's policy sets on success are replaced by the values that it sets."""
    if policy.ok is None:
        return expr
    meanings: Meanings = {
        (scope, key): expression_of(value.template)
        for scopes, pairs in ((("ctx", "vars"), policy.ok.set_ctx), (("iter",), policy.ok.set_iter))
        for key, value in pairs
        for scope in scopes
    }
    return rewritten(expr, renamed(meanings, ())) if meanings else expr
