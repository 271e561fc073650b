"""unreachable-step: no token can ever arrive at a step.

Why it matters
    The step never runs; an arc to it was forgotten, or leads elsewhere.
Example
    - {step: start, next: {arcs: [{step: load}]}}
    - {step: load}
    - {step: report}                          # nothing leads here
Instead
    - {step: load, next: {arcs: [{step: report}]}}
When to ignore
    While the playbook is being written and the step is not yet led to.
"""

from collections.abc import Iterator

from noetlc.ast.graph import has_unknown_target, reached
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps that the entry does not lead to, also when they lead to themselves or each other."""
    graph = unit.graph
    # What has a misspelt target may be the very thing that leads here.
    if graph.entry < 0 or has_unknown_target(unit.playbook):
        return
    found = reached(graph.successors, graph.entries)
    for name, position in graph.positions.items():
        if position not in found:
            step = unit.playbook.steps[position]
            first = unit.playbook.steps[graph.entry]
            entry = f"a step that `{first.name}` leads to" if unit.written.has(first) else "the first step"
            yield RULE.finding(
                f"no token can arrive at `{name}`",
                step.name_span,
                help=f"lead an arc to it from {entry}, or remove it",
            )


RULE = LintRule("NL601", Severity.WARNING, "ast", check, whole=True)
