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
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Expr, Not
from noetlc.ast.playbook import Arc, Step
from noetlc.ast.truth import done_facts, truth_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in"}


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Exclusive routers whose arcs for success are all guarded, where no two guards are opposites."""
    for step in unit.playbook.steps:
        if step.router is None or step.router.mode != "exclusive":
            continue
        asked = _asked_on_success(step)
        if asked and not _covers(asked, step):
            yield RULE.finding(
                f"perhaps no arc of `{step.name}` matches, and its token ends there",
                step.router.span,
                help="let the last arc have no guard, or add `- step: end`",
            )


def _asked_on_success(step: Step) -> list[Arc]:
    assert step.router is not None
    return [arc for arc in step.router.arcs if truth_of(arc.when, done_facts(step)) is not False]


def _covers(arcs: list[Arc], step: Step) -> bool:
    if any(truth_of(arc.when, done_facts(step)) is True for arc in arcs):
        return True
    guards = {arc.when.expr for arc in arcs if arc.when is not None}
    return any(_negated(guard) in guards for guard in guards)


def _negated(guard: Expr) -> Expr:
    match guard:
        case Not(of=of):
            return of
        case Compare(first=first, rest=((op, second),)):
            return Compare(first, ((_OPPOSITE[op], second),))
        case _:
            return Not(guard)


RULE = Rule("NL605", Severity.WARNING, "ast", check)
