"""idle-cancel: a step cancels another that cannot have begun when it starts.

Why it matters
    `cancels` acts once, when a run starts. What only runs after it is never there to be cancelled.
Example
    - {step: start, next: {arcs: [{step: stop}]}}
    - {step: stop, spec: {policy: {cancels: [tidy]}}, next: {arcs: [{step: tidy}]}}
    - {step: tidy}
Instead
    Name what runs beside the step, or leave `cancels` out.
When to ignore
    Never: the list does nothing.
"""

from collections.abc import Iterator

from noetlc.ast.graph import reached
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps in `cancels` to which every way leads through the step that names them, where that runs once."""
    steps, graph = unit.playbook.steps, unit.graph
    for at, step in enumerate(steps):
        if not step.spec.cancels or not _runs_once(unit, at):
            continue
        without = tuple(() if here == at else after for here, after in enumerate(graph.successors))
        before = reached(without, [graph.entry]) if graph.entry >= 0 else set()
        for target in step.spec.cancels:
            number = graph.positions.get(target.name, -1)
            if number < 0 or number == at or number in before:
                continue
            yield RULE.finding(
                f"`{target.name}` runs only after `{step.name}`, which cannot cancel it",
                target.span,
                help="leave it out, or name what runs beside the step",
            )


def _runs_once(unit: Unit, at: int) -> bool:
    """Whether one way alone leads to a step: a second run of it may find what the first one has led to."""
    steps, graph = unit.playbook.steps, unit.graph
    for _ in steps:
        sources = graph.sources[at]
        if at == graph.entry or len(sources) != 1:
            return at == graph.entry and not sources
        router = steps[sources[0]].router
        if router is None or sum(arc.target == steps[at].name for arc in router.arcs) != 1:
            return False
        at = sources[0]
    return False


RULE = Rule("NL717", Severity.WARNING, "ast", check, about=("cancels",))
