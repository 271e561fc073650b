"""interrupted-wait: a step waits for a signal that interrupts it.

Why it matters
    A signal goes to `interrupt` first. One that comes while the step runs stops it; its `wait` or loop gets only what
    came before.
Example
    - step: pay
      spec: {policy: {interrupt: {events: [paid]}}}
      tool: {kind: wait, events: [paid]}
Instead
    - step: pay
      spec: {policy: {interrupt: {events: [cancelled]}}}
      tool: {kind: wait, events: [paid]}
When to ignore
    Where the signal may only come before the step starts.
"""

from collections.abc import Iterator

from noetlc.ast.heard_names import names_of_wait
from noetlc.ast.playbook import Step
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Names of `interrupt` that are among those of a wait or a loop of the same step."""
    for step in unit.playbook.steps:
        if step.spec.interrupt is None:
            continue
        waiting = dict(_waiting(step))
        for name in step.spec.interrupt.events:
            if name in waiting:
                message = f"the signal `{name}` interrupts `{step.name}`, and {waiting[name]} waits for it"
                yield RULE.finding(message, step.spec.interrupt.span, help="give each its own signal")


def _waiting(step: Step) -> Iterator[tuple[str, str]]:
    for loop in loops_of(step):
        for signal in loop.signals:
            yield from [(name, f"`{signal.verb}` of its loop") for name in signal.events]
    for task in step.tasks:
        names = names_of_wait(task) if task.kind == "wait" else None
        if names is not None:
            yield from [(name, f"its task `{task.name}`") for name in names[0]]


RULE = LintRule("NL521", Severity.WARNING, "ast", check, about=("interrupt",))
