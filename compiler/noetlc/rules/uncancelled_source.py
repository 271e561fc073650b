"""uncancelled-source: a step cancels some of the branches that lead to it, and others can still come.

Why it matters
    Its join begins a new wave when it starts: a token that comes later from a branch that goes on is one of the next
    wave, and may start the step a second time.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - {step: a, next: {arcs: [{step: use}]}}
    - {step: b, next: {arcs: [{step: mend}]}}
    - {step: mend, next: {arcs: [{step: use}]}}
    - {step: use, spec: {policy: {join: first, cancels: [a, mend]}}}     # `b` goes on
Instead
    - {step: use, spec: {policy: {join: first, cancels: [a, b, mend]}}}
When to ignore
    Where each branch that goes on is meant to start it again.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps between the fork and a step that counts tokens and cancels, which it does not cancel."""
    steps, graph = unit.playbook.steps, unit.graph
    for at, step in enumerate(steps):
        counts = step.spec.join == "first" or isinstance(step.spec.join, int)
        # A misspelt name may be the very one that is missing.
        if not (step.spec.cancels and counts) or any(each.name not in graph.positions for each in step.spec.cancels):
            continue
        cancelled = {graph.positions[each.name] for each in step.spec.cancels}
        missing = [steps[each].name for each in sorted(_between(unit, at) - cancelled)]
        if missing:
            yield RULE.finding(
                f"`{step.name}` starts again for what still comes from {listed_steps(missing)}, "
                "which it does not cancel",
                step.spec.cancels[0].span,
                help=f"list {listed_steps(missing)} in `cancels`, too",
            )


def _between(unit: Unit, at: int) -> set[int]:
    """The steps from which a way leads to a step that does not pass the step which all ways to it pass."""
    graph, ends = unit.graph, {at, unit.dominators.get(at, -1)}
    found: set[int] = set()
    waiting = [source for source in graph.sources[at] if source not in ends]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += [source for source in graph.sources[here] if source not in ends]
    return found


RULE = LintRule("NL716", Severity.WARNING, "ast", check, about=("cancels",))
