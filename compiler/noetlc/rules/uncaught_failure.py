"""uncaught-failure: a step handles some of its failures, and another one may find no arc.

Why it matters
    A failure that no arc takes ends the whole execution as failed; the arc beside it looks as if that were cared for.
Example
    arcs:
      - {step: later, when: "{{ event.name == 'step.failed' and event.error.code == 'timeout' }}"}
      - {step: done}                            # arcs without such a guard are for success
Instead
    arcs:
      - {step: later, when: "{{ event.name == 'step.failed' and event.error.code == 'timeout' }}"}
      - {step: give_up, when: "{{ event.name == 'step.failed' }}"}
      - {step: done}
When to ignore
    Where every other failure is meant to end the execution.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Routers with arcs for failures, where all of these can be false at once; lowering may make such."""
    for step in unit.playbook.steps if not unit.playbook.legacy else ():
        arcs, choice = unit.choices.on_failure(step) if step.router is not None else ([], None)
        if choice is None or choice.covers:
            continue
        caught = [arc for number, arc in enumerate(arcs) if choice.may(number)]
        if caught:
            yield RULE.finding(
                f"a failure of `{step.name}` that this guard does not match ends the execution",
                caught[-1].span,
                help="add an arc `when: \"{{ event.name == 'step.failed' }}\"` behind it",
            )


RULE = Rule("NL609", Severity.NOTE, "ast", check, whole=True)
