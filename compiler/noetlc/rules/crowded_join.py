"""crowded-join: two tokens of one source can lie at a join.

Why it matters
    Tokens are matched by order: the second one belongs to the next wave, and meets tokens of another round.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}}
    - {step: a, next: {arcs: [{step: d}]}}
    - {step: b, next: {arcs: [{step: d}]}}
    - {step: c, next: {arcs: [{step: report}]}}
    - {step: d, next: {arcs: [{step: report}]}}           # runs twice
    - {step: report, spec: {policy: {join: all}}}
Instead
    - {step: d, spec: {policy: {join: all}}, next: {arcs: [{step: report}]}}
When to ignore
    Where every source sends as many tokens and their order says which belong together.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import BOUNDED
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Joins at which two tokens of one source can lie, but those that starve and those where ever more come."""
    flooded = {name for claim in unit.proofs.claims(BOUNDED) for name in claim.verdict.about}
    starved = {each.step for each in unit.starved}
    for crowded in unit.proofs.crowded:
        step = unit.proofs.plan.steps[crowded.step]
        is_written = unit.written.has_join(unit.playbook.steps[crowded.step])
        # Ever more tokens, and joins that starve, are findings of their own that say more.
        if is_written and step.name not in flooded and crowded.step not in starved:
            yield RULE.story(
                f"two tokens of {listed_steps([crowded.source])} can lie at `{step.name}`, one wave before the other",
                unit.playbook.steps[crowded.step].spec.join_span or step.span,
                help=f"let {listed_steps([crowded.source])} run once in a round: join what leads to it",
                story=crowded.story,
                sure=crowded.sure,
            )


RULE = LintRule("NL703", Severity.WARNING, "net", check, about=("join",))
