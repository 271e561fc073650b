"""Forks of an older file whose branches end apart: the old engines' result is not ours there (EXTENSIONS.md §2).

    next: [{step: a}, {step: b}]   # and neither leads on: the result is that of `a`; it was that of the slower one

Where all branches come to one join that waits for them, both are the same, and nothing is said.
"""

from collections.abc import Iterator

from noetlc.ast.graph import graph_of, reached
from noetlc.ast.playbook import Playbook, Step
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic

_WAITING = ("all", "taken", "settled")


def ending_apart(playbook: Playbook) -> Iterator[Diagnostic]:
    """A note of class `review` for each such fork."""
    graph = graph_of(playbook)
    waits = {at for at, step in enumerate(playbook.steps) if step.spec.join in _WAITING}
    onward = tuple(() if at in waits else after for at, after in enumerate(graph.successors))
    for step in playbook.steps:
        branches = [graph.positions[name] for name in _branches(step, graph.positions)]
        ends = {at for at in reached(onward, branches) if at not in waits and not graph.successors[at]}
        if len(branches) > 1 and _differ(playbook, ends) and step.router is not None:
            first = playbook.steps[branches[0]].name
            yield finding(
                "NL912",
                f"the result of a run is that of the last step on the way by `{first}`, the first branch here; the old "
                "engines took that of whichever branch ended last",
                step.router.span,
                help="write the branch first whose result is meant, or let all lead to a step with `join: all`",
            )


def _branches(step: Step, positions: dict[str, int]) -> list[str]:
    if step.router is None or step.router.mode != "inclusive":
        return []
    return list(dict.fromkeys(arc.target for arc in step.router.arcs if arc.target in positions))


def _differ(playbook: Playbook, ends: set[int]) -> bool:
    """Whether it matters where a branch ends: a step without a task has no result."""
    return any(playbook.steps[at].tasks or playbook.steps[at].loop is not None for at in ends)
