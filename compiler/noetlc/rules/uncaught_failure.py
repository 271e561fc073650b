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

from noetl_ir.expr import Compare, Const, Expr, Logic
from noetlc.ast.truth import FactPath, path_of, truth
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Routers with arcs for failures, where all of these can be false at once; lowering may make such."""
    for step in unit.playbook.steps if not unit.playbook.legacy else ():
        arcs, choice = unit.choices.on_failure(step) if step.router is not None else ([], None)
        if choice is None or choice.covers or any(_takes_all(arc.when.expr) for arc in arcs if arc.when):
            continue
        caught = [arc for number, arc in enumerate(arcs) if choice.may(number)]
        # A router without any arc for failures leaves them to the execution, which is the usual way.
        if caught:
            yield RULE.finding(
                f"a failure of `{step.name}` that this guard does not match ends the execution",
                caught[-1].span,
                help="add an arc `when: \"{{ event.name == 'step.failed' }}\"` behind it",
            )


def _takes_all(guard: Expr | None) -> bool:
    """Whether a guard is that a status is no success: a failure has another status, or none, which differs too."""
    match guard:
        case Compare(first=asked, rest=(("!=", Const(value=int(status))),)) if 200 <= status < 300:
            return path_of(asked)[-2:] == ("http", "status")
        case Logic(op="and", left=left, right=right):
            return truth(left, _FAILED) is True and _takes_all(right)
    return False


_FAILED: dict[FactPath, str] = {("event", "name"): "step.failed", ("event", "status"): "error"}

RULE = LintRule("NL609", Severity.NOTE, "ast", check, whole=True)
