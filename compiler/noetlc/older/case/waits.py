"""The extras that a `case` on events has besides: a wait that is begun again, and a tool before it that rules are
asked about.
"""

from noetl_ir.expr import Attribute, Binary, Conditional, Const, ListOf, Name, walk
from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Guard, Rule, Task, Value
from noetlc.expr.counting import seconds
from noetlc.expr.generated import computed, guard, jump
from noetlc.expr.shorthand import FALSE, OUTCOME_OK, equal, filtered, path
from noetlc.expr.templates import guard_with
from noetlc.older.case.nodes import Case
from noetlc.older.case.rules import Ready, policy_of, read_by, span_of
from noetlc.older.events import on_failure, on_success
from noetlc.older.legacy_names import renamed, rule_meanings
from noetlc.older.patching import keeps

CALLED = "__called"
"""Where a run that waits keeps the outcome of its tool."""

LEFT = "__left"
"""Where a run that waits again keeps the seconds that its timer has left, none once it has fired."""

TIMER = "timer.fired"
"""The event of a timer, whose id is `event.data.timer_id`."""

TIMEOUT = "timeout"
"""The id of the timer that `step.spec.timeout` starts, which the wait gives as the name."""


def when_called(rule: Ready) -> Ready:
    """A rule about events, with the guards that hold for the end of the tool before the wait.

    A rule without such a guard, as `else`, does not fire then: it is for events that may still come.
    """
    own = rule.rule.own
    if own is None:
        return rule._replace(success=FALSE, failure=FALSE)
    return rule._replace(success=on_success(own.expr), failure=on_failure(own.expr))


def guard_when_called(rule: Ready, known: frozenset[str]) -> Guard | None:
    """The guard of a rule of `when_called` in a task behind the tool; None where it is not about the tool's success."""
    if rule.success == FALSE:
        return None
    outcome = path("iter", CALLED)
    return guard_with(
        guard(rule.success, span_of(rule)), renamed(rule_meanings(outcome, path("iter", CALLED, "result")), known)
    )


def tool_before_wait(tool: Task, failing: tuple[Rule, ...], tasks: Tasks, case: Case) -> Task:
    """The tool before a wait, with rules about its failure; it keeps its outcome for what reads that later."""
    policy = policy_of(tool)
    onward = (policy.ok or Rule(None, "continue", tool.span))._replace(when=guard(OUTCOME_OK, tool.span))
    rules = (*policy.before, *failing, onward, Rule(None, "continue" if policy.ignores else "fail", tool.span))
    tool = tool._replace(rules=rules) if failing else tool
    read = any(isinstance(p, Attribute) and p.name == CALLED for expr in read_by(tasks, case) for p in walk(expr))
    return keeps(tool, ((CALLED, computed(Name("outcome"), tool.span)),)) if read else tool


def waiting_again(wait: str, timeout: Value | None, span: Span) -> Rule:
    """The rule that waits again for an event that no rule took. The timer gets the seconds that are left, once."""
    if timeout is None:
        return jump(wait, span)
    left = filtered(ListOf((Const(0), Binary("-", seconds(timeout), Name("_elapsed")))), "max")
    rest = Conditional(equal(path("outcome", "result", "name"), TIMEOUT), Const(None), left)
    return jump(wait, span, set_iter=((LEFT, computed(rest, span)),))
