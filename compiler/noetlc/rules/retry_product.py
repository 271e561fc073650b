"""retry-product: retries multiply to very many attempts, or to a very long wait.

Why it matters
    A service that is down gets thousands of requests more, and the execution hangs for days before it says that it
    failed.
Example
    loop: {in: "{{ range(500) }}", iterator: n}
    tool: {kind: http, url: "{{ workload.url }}", spec: {policy: {rules: [
      {when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 50, backoff: exponential}}]}}}
Instead
    {do: retry, attempts: 5, backoff: exponential, delay: 1s, max_delay: 1m}
When to ignore
    Where the task waits for something that is known to take that long.
"""

from collections.abc import Iterator

from noetl_ir.expr import Call, Const, Literal, Name, Native
from noetl_ir.kinds import grown, seconds_of
from noetlc.ast.playbook import Loop, Rule, Step, Value
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit

MOST_ATTEMPTS = 10_000
LONGEST = 7 * 24 * 3600.0
"""Seconds that the delays of one task run may take."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Retry rules whose attempts, times the sizes of loops that are written out, or whose delays pass a limit."""
    for step in unit.playbook.steps:
        rounds = _rounds(step)
        for task in step.tasks:
            for rule in task.rules:
                if rule.directive != "retry":
                    continue
                # Loops that only the run knows count once: a guess about data would be an alarm about nothing.
                attempts, wait = rule.attempts * rounds, _waits(rule)
                if attempts > MOST_ATTEMPTS:
                    times = f" in {rounds} iterations" if rounds > 1 else ""
                    message = f"`{task.name}` may be tried {attempts:,} times: {rule.attempts} attempts{times}"
                    yield RULE.finding(
                        message, rule.span, help="lower `attempts`, or let the first failures end the loop"
                    )
                elif wait > LONGEST:
                    days = f"{wait / 86400:,.0f} days" if wait < 1e12 else "for ever"
                    message = f"the delays of `{task.name}` add up to {days}"
                    yield RULE.finding(message, rule.span, help="write `max_delay`, or lower `attempts`")


def _rounds(step: Step) -> int:
    rounds = 1
    for loop in loops_of(step):
        rounds *= _size(loop)
    return rounds


def _size(loop: Loop) -> int:
    """The items of a loop that are written out, 1 where only the run knows."""
    match loop.items.template:
        case Literal(value=list(items)):
            return max(1, len(items))
        case Native(expr=Call(callee=Name(name="range"), args=(Const(value=int(end)),))):
            return max(1, end)
        case _:
            return 1


def _waits(rule: Rule) -> float:
    """The seconds of all delays of one task run, as far as they are written out."""
    delay, most = _seconds(rule.delay, 1.0), _seconds(rule.max_delay, float("inf"))
    count = rule.attempts - 1
    if rule.backoff == "none" or count <= 0:
        return count * min(delay, most)
    if rule.backoff == "linear":
        # Bounded, since `attempts` may be any number; what is beyond has passed the limit long before.
        return sum(min(delay * n, most) for n in range(1, min(count, MOST_ATTEMPTS) + 1))
    total = 0.0
    for n in range(min(count, 1_000)):
        total += min(grown(delay, rule.multiplier, n), most)
        # An exponential delay leaves every limit soon, and floats would overflow.
        if total > 1e12:
            break
    return total


def _seconds(value: Value | None, otherwise: float) -> float:
    if value is None or not isinstance(value.template, Literal):
        return otherwise
    found = seconds_of(value.template.value)
    return otherwise if found is None else found


RULE = LintRule("NL512", Severity.WARNING, "ast", check, about=("retry",))
