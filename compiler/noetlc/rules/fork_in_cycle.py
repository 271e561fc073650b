"""fork-in-cycle: a cycle makes ever more tokens.

Why it matters
    Each round leaves a token behind that goes round too, or waits; there is no bound on how many there are.
Example
    - step: start
      next: {spec: {mode: inclusive}, arcs: [{step: start, when: "{{ ctx.more }}"}, {step: work}, {step: log}]}
Instead
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: work}, {step: log}]}}
    - {step: work, next: {arcs: [{step: both}]}}           # and `log` too
    - {step: both, spec: {policy: {join: all}}, next: {arcs: [{step: start, when: "{{ ctx.more }}"}, {step: end}]}}
When to ignore
    Where the cycle is left after a few rounds and what it starts is meant to run beside it.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import BOUNDED, CYCLES
from noetlc.ast.playbook import Router, Step
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """One finding for each way in which tokens pile up, at the fork on its cycle; without an exit it is another."""
    # A cycle without an exit is the worse fault, and tokens that pile up on it follow from it.
    for claim in unit.proofs.claims(BOUNDED) if not unit.proofs.claims(CYCLES) else ():
        story = claim.verdict.story
        spans = {line.span for line in story.related} if story is not None else set()
        on_cycle = [step for step in unit.playbook.steps if step.name_span in spans or step.span in spans]
        # The fork is what makes more of one; the step where tokens pile up is only where they lie.
        fork = next((step for step in on_cycle if _forks(step)), None)
        router: Router | None = fork.router if fork is not None else None
        span = router.span if router is not None else claim.verdict.span or unit.playbook.steps[0].name_span
        name = fork.name if fork is not None else claim.verdict.about[0]
        yield RULE.story(
            f"`{name}` is on a cycle, and ever more tokens come to {listed_steps(claim.verdict.about)}",
            span,
            help="join the branches before going back, or take the arc back out of the fork",
            story=story,
            sure=claim.sure,
        )


def _forks(step: Step) -> bool:
    return step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1


RULE = LintRule("NL706", Severity.WARNING, "net", check, about=("fork", "join"))
