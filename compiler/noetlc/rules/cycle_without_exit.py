"""cycle-without-exit: the tokens of some steps go round for ever, though an arc seems to lead out.

Why it matters
    The execution runs until it is cancelled: the way out is one that the token can never go.
Example
    - step: start                                          # each round starts the next one, and a run of work
      next: {spec: {mode: inclusive}, arcs: [{step: start}, {step: work}]}
    - {step: work}
Instead
    - {step: start, next: {arcs: [{step: work}]}}
    - {step: work, next: {arcs: [{step: work, when: "{{ ctx.more }}"}, {step: end}]}}
When to ignore
    Where the execution is a service that somebody cancels.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import CYCLES
from noetlc.ast.graph import trapped_steps
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Circles of markings that nothing leads out of, but those that the steps alone show."""
    # Where the arcs alone show it, `no-terminal-reachable` has said so without a net.
    if trapped_steps(unit.playbook, unit.graph):
        return
    for claim in unit.proofs.claims(CYCLES):
        yield RULE.story(
            f"no end can be reached from {listed_steps(claim.verdict.about)}",
            claim.verdict.span or unit.playbook.steps[0].name_span,
            help="let some step on the way be a leaf, or lead an arc out that can be taken",
            story=claim.verdict.story,
            sure=claim.sure,
        )


RULE = LintRule("NL708", Severity.WARNING, "net", check)
