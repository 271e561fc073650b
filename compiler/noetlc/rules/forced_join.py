"""forced-join: a settled join may start because nothing else can move, and not because nothing can come.

Why it matters
    A token that waits elsewhere may still lead to it: at another join that starves, at a gate that stays shut, or at a
    settled join that waits for this one. The join with the oldest token then starts with what it has, and what comes
    later starts it again.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - {step: a, spec: {policy: {join: settled}}, next: {arcs: [{step: b, when: "{{ workload.x }}"}, {step: end}]}}
    - {step: b, spec: {policy: {join: settled}}, next: {arcs: [{step: a, when: "{{ workload.y }}"}, {step: end}]}}
Instead
    - {step: a, next: {arcs: [{step: b, when: "{{ workload.x }}"}, {step: end}]}}     # `join: any`
When to ignore
    Where that start is what is meant: what waits is to go on once all the rest has come to a stop.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Settled joins that the net lets start where nothing else moves."""
    for stalled in unit.proofs.stalled:
        step = unit.playbook.steps[stalled.step]
        meanwhile = "; ".join(stalled.waiting) or "tokens wait elsewhere"
        yield RULE.story(
            f"`{step.name}` may start only because nothing else can move: {meanwhile}",
            step.spec.join_span or step.name_span,
            help="let what waits go on without it, or leave out the way from there to the join",
            story=stalled.story,
            sure=stalled.sure,
        )


RULE = LintRule("NL718", Severity.WARNING, "net", check, about=("settled",))
