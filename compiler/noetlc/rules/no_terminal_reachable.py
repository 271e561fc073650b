"""no-terminal-reachable: from some point on, no step can end.

Why it matters
    The execution runs round and round until it is cancelled.
Example
    - {step: x, next: {arcs: [{step: y}]}}
    - {step: y, next: {arcs: [{step: x}]}}
Instead
    - {step: y, next: {arcs: [{step: x, when: "{{ ctx.more }}"}, {step: end}]}}
When to ignore
    Where the execution is a service that somebody cancels.
"""

from collections.abc import Iterator

from noetlc.ast.graph import trapped_steps
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """One finding, at the first step of the file from which nothing can end."""
    graph = unit.graph
    trapped = trapped_steps(unit.playbook, graph)
    if trapped:
        step = unit.playbook.steps[graph.entry if graph.entry in trapped else min(trapped)]
        yield RULE.finding(
            f"no end can be reached from `{step.name}`",
            step.name_span,
            help="let some step on the way be a leaf, or lead an arc to `end`",
        )


RULE = LintRule("NL602", Severity.WARNING, "ast", check, whole=True)
