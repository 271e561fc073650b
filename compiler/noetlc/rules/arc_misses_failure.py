"""arc-misses-failure: an arc is meant for a failure, and is never asked on one.

Why it matters
    An arc is asked on a failure only if its guard reads `event.name`, `event.status` or `event.error`. A guard
    that reads only `event.outcome` is not asked: the failure that the arc was written for ends the execution.
Example
    - step: load
      tool: {kind: http, url: "{{ workload.url }}"}
      next: {arcs: [{step: later, when: "{{ event.outcome.status == 'error' }}"}, {step: report}]}
Instead
    next: {arcs: [{step: later, when: "{{ event.status == 'error' }}"}, {step: report}]}
When to ignore
    Never: without a rule that lets an error pass, the guard is false whenever it is asked.
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr
from noetlc.ast.pipeline import lets_errors_pass
from noetlc.ast.playbook import Guard
from noetlc.ast.truth import Facts, path_of, takes_part_on_failure, truth_of
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.expr.closed import needs_all
from noetlc.rules import LintRule, Unit

_STATUS = "event.outcome.status"
_OF_HTTP = ("event", "outcome", "http", "status")
_WENT_WELL = Facts({("event", "outcome", "status"): "ok"})
_FAILING = 400


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs of steps that let no error pass, whose guards only an error makes true."""
    for step in unit.playbook.steps:
        arcs = step.router.arcs if step.router is not None and step.loop is None else ()
        # A look at the text first: few files ask arcs for outcomes.
        if not any(arc.when is not None and "event.outcome" in arc.when.text for arc in arcs):
            continue
        # An error that a rule lets pass ends the step well, and its outcome does come to the arcs.
        if any(lets_errors_pass(task) for task in step.tasks):
            continue
        for arc in arcs:
            if arc.when is not None and not takes_part_on_failure(arc) and _is_for_errors(arc.when):
                yield _finding(unit, arc.when)


def _is_for_errors(guard: Guard) -> bool:
    return truth_of(guard, _WENT_WELL) is False or (needs_all(guard.expr) and _asks_for_a_bad_status(guard.expr))


def _asks_for_a_bad_status(expr: Expr) -> bool:
    match expr:
        case Compare(first=first, rest=(("==" | ">=" | ">" as op, Const(value=int(value))),)):
            return path_of(first) == _OF_HTTP and value >= _FAILING - (op == ">")
    return False


def _finding(unit: Unit, guard: Guard) -> Diagnostic:
    fix, at = None, guard.node.text.find(_STATUS) if guard.node is not None else -1
    # Only where this is all that is asked of the outcome: other parts of it are not there after a failure.
    if guard.node is not None and at >= 0 and guard.node.text.count("event.outcome") == 1:
        span = unit.source.inner_span(guard.node, at, at + len(_STATUS))
        fix = Fix(span, "event.status", "write `event.status`", safe=False)
    help = "read `event.status`" if fix is not None else "write `event.name == 'step.failed' and …`"
    return RULE.finding(
        "no failure comes to this arc: its guard reads `event.outcome` only", guard.span, help=help, fix=fix
    )


RULE = LintRule("NL614", Severity.WARNING, "ast", check)
