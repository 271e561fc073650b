"""arc-beside-termination: a step ends the execution when it succeeds, and has an arc for that success.

Why it matters
    Both cannot be: after `terminate` there is no token left that the arc could send on.
Example
    - step: enough
      spec: {policy: {terminate: completed}}
      next: {arcs: [{step: report}]}
Instead
    - {step: report, spec: {policy: {terminate: completed}}}      # it ends what its last step has done
    - step: enough
      next: {arcs: [{step: report}]}
    An arc for a failure may stand beside it: `{step: tell, when: "{{ event.name == 'step.failed' }}"}`.
When to ignore
    Never: such a playbook does not compile.
"""

from collections.abc import Iterator

from noetlc.ast.truth import done_facts, truth_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs that a success may take, of steps with `terminate`."""
    for step in unit.playbook.steps:
        if not step.spec.terminate or step.router is None:
            continue
        for arc in step.router.arcs:
            if truth_of(arc.when, done_facts(step)) is not False:
                yield RULE.finding(
                    f"this arc is for a success of `{step.name}`, which ends the execution",
                    arc.span,
                    help="lead it to where the work goes on, or remove `terminate`; for failures ask for "
                    "`event.name == 'step.failed'`",
                    related=(Related(step.spec.terminate_span or step.name_span, "it terminates here"),),
                )


RULE = LintRule("NL616", Severity.ERROR, "ast", check, about=("terminate",))
