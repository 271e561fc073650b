"""no-terminal-reachable: from some point on, no step can end.

Why it matters
    The execution runs round and round until it is cancelled.
Example
    - {step: x, next: {arcs: [{step: y}]}}
    - {step: y, next: {arcs: [{step: x}]}}
Instead
    - {step: y, next: {arcs: [{step: x, when: "{{ ctx.more }}"}, {step: end}]}}
"""

from collections.abc import Iterator

from noetlc.ast.graph import reached
from noetlc.ast.playbook import Step
from noetlc.ast.truth import done_facts, truth_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """One finding, at the first step of the file from which nothing can end."""
    graph = unit.graph
    if graph.entry < 0:
        return
    terminals = [at for at, step in enumerate(unit.playbook.steps) if _may_end(step, graph.positions)]
    can_end = reached(graph.sources, terminals)
    trapped = reached(graph.successors, (graph.entry,)) - can_end
    if trapped:
        step = unit.playbook.steps[graph.entry if graph.entry in trapped else min(trapped)]
        yield RULE.finding(
            f"no end can be reached from `{step.name}`",
            step.name_span,
            help="let some step on the way be a leaf, or lead an arc to `end`",
        )


def _may_end(step: Step, positions: dict[str, int]) -> bool:
    """Whether a token may end here after a success: no arcs, an arc out, or no arc that surely fires."""
    arcs = step.router.arcs if step.router is not None else ()
    if any(arc.target not in positions for arc in arcs):
        return True
    return not any(truth_of(arc.when, done_facts(step)) is True for arc in arcs)


RULE = Rule("NL602", Severity.WARNING, "ast", check)
