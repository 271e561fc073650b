"""unhandled-interrupt: a step may be interrupted, and no arc takes that.

Why it matters
    A run that is interrupted fails with the code `interrupted`. A failure that no arc takes ends the whole execution as
    failed: to stop one step, the playbook has to say what comes instead.
Example
    - step: pay
      spec: {policy: {interrupt: {events: [cancelled]}}}
      next: {arcs: [{step: ship}]}
Instead
    - step: pay
      spec: {policy: {interrupt: {events: [cancelled]}}}
      next:
        arcs:
          - {step: refund, when: "{{ event.name == 'step.failed' and event.error.code == 'interrupted' }}"}
          - {step: ship}
When to ignore
    Where the signal is meant to end the execution.
"""

from collections.abc import Iterator

from noetl_ir.words import ON_FAILURE
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps with `interrupt` whose router has no arc for a failure; one for some failures is told by NL609."""
    # Those say what comes after a failure that no arc takes.
    if any(phase.name == ON_FAILURE for phase in unit.playbook.executor.phases):
        return
    for step in unit.playbook.steps:
        if step.spec.interrupt is None:
            continue
        arcs, choice = unit.choices.on_failure(step)
        if not any(choice.may(number) for number, _ in enumerate(arcs)):
            message = f"nothing follows when `{step.name}` is interrupted: the execution fails"
            yield RULE.finding(message, step.spec.interrupt.span, help=_HELP)


_HELP = "add an arc `when: \"{{ event.name == 'step.failed' and event.error.code == 'interrupted' }}\"`"
RULE = LintRule("NL522", Severity.WARNING, "ast", check, about=("interrupt",))
