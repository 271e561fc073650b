"""arc-after-failure: an arc for success leaves a step that never succeeds.

Why it matters
    A task of the kind `fail`, or a rule that fails in any case, ends every run of the step as failed. Only arcs that
    ask for the failure are asked then: what lies behind this one is not reached from here.
Example
    - step: reject
      tool: {kind: fail, code: order.rejected}
      next: {arcs: [{step: tell}]}
Instead
    next: {arcs: [{step: tell, when: "{{ event.name == 'step.failed' }}"}]}
When to ignore
    Never: the arc cannot be taken.
"""

from collections.abc import Iterator

from noetlc.ast.pipeline import always_fails
from noetlc.ast.truth import FAILED_FACTS, takes_part_on_failure, truth_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs of steps whose tasks lead to no good end; what lowering made of an older form is told there."""
    for step in unit.playbook.steps if not unit.playbook.legacy else ():
        arcs = step.router.arcs if step.router is not None else ()
        if not arcs or not always_fails(step):
            continue
        for arc in arcs:
            if takes_part_on_failure(arc) and truth_of(arc.when, FAILED_FACTS) is not False:
                continue
            help = "let its guard ask for the failure (`event.name == 'step.failed'`), or remove it"
            yield RULE.finding(f"`{step.name}` never succeeds: this arc is never taken", arc.span, help=help)


RULE = LintRule("NL615", Severity.WARNING, "ast", check, about=("fail", "retry", "jump"))
