"""arc-after-match: an arc stands behind one that always matches.

Why it matters
    In an exclusive router the first match wins, so that the arc never fires.
Example
    arcs:
      - step: next_page
      - step: done
        when: "{{ ctx.finished }}"
Instead
    arcs:
      - step: done
        when: "{{ ctx.finished }}"
      - step: next_page
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Step
from noetlc.ast.routing import takes_part_on_failure
from noetlc.ast.truth import FAILED_FACTS, done_facts, truth_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.expr.closed import strange_words
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs that can fire neither on success, because of one before, nor on failure."""
    for step in unit.playbook.steps:
        if step.router is not None and step.router.mode == "exclusive" and len(step.router.arcs) > 1:
            yield from _dead(step)


def _dead(step: Step) -> Iterator[Diagnostic]:
    assert step.router is not None
    success = done_facts(step)
    taken = failed = None
    for arc in step.router.arcs:
        on_failure = takes_part_on_failure(arc) and truth_of(arc.when, FAILED_FACTS) is not False
        if arc.when is not None and strange_words(arc.when.expr):
            continue  # told as what it is
        if taken is not None and (not on_failure or failed is not None):
            yield RULE.finding(
                f"the arc to `{arc.target}` never fires: the one to `{taken.target}` always matches first",
                arc.span,
                help=f"move it before the arc to `{taken.target}`, or make the router `inclusive`",
                related=(Related(taken.span, "always matches"),),
            )
            continue
        if taken is None and truth_of(arc.when, success) is True:
            taken = arc
        if failed is None and takes_part_on_failure(arc) and truth_of(arc.when, FAILED_FACTS) is True:
            failed = arc


RULE = Rule("NL603", Severity.WARNING, "ast", check)
