"""A repetition of older dialects as a rule."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Rule
from noetlc.older.repeat_nodes import Repetition


def retrying(policy: Repetition, when: Guard | None, span: Span) -> Rule:
    """The rule that retries as the policy says."""
    return Rule(
        when,
        "retry",
        span,
        attempts=policy.attempts,
        backoff=policy.backoff,
        delay=policy.delay,
        multiplier=policy.multiplier,
        max_delay=policy.max_delay,
        jitter=policy.jitter,
    )
