"""no-default-arc: an exclusive router in which perhaps no arc matches.

Why it matters
    When no guard is true the token ends there, which looks like the end of the work.
Example
    arcs:
      - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
      - {step: no_path, when: "{{ workload.answer == 'REJECTED' }}"}
Instead
    arcs:
      - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
      - {step: no_path}
When to ignore
    Where ending there is the meaning; an arc to `end` says the same aloud.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Step
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Exclusive routers with arcs for success, where all of them can be false at once."""
    for step in unit.playbook.steps:
        if step.router is None or step.router.mode != "exclusive" or _has_default(step):
            continue
        if not unit.written.has_router(step):
            continue
        choice = unit.choices.on_success(step)
        if any(choice.may(number) for number in range(len(choice.guards))) and not choice.covers:
            yield RULE.finding(
                f"perhaps no arc of `{step.name}` matches, and its token ends there",
                step.router.span,
                help="let the last arc have no guard, or add `- step: end`",
            )


def _has_default(step: Step) -> bool:
    return step.router is not None and any(arc.when is None for arc in step.router.arcs)


RULE = Rule("NL605", Severity.WARNING, "ast", check, whole=True)
