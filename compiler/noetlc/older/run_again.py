"""The meaning of a step's result to its own arcs where the step may run again, and fail then.

The name of a step stands for its latest run that went well (LANGUAGE §2); `result` and its like stand, to who wrote
them into an arc, for the run that has just ended. Where that failed there is none: an earlier one would be wrong.

    when: "{{ error is defined }}", args: {x: "{{ result.k }}"}   →   x: "{{ (s if event.status == 'ok').k }}"
"""

from noetl_ir.expr import Conditional, Expr
from noetlc.ast.components import components_of
from noetlc.ast.graph import graph_of, reached
from noetlc.ast.playbook import Arc, Playbook, Step
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import FALSE, equal, path, result_of
from noetlc.older.events import events_in, on_failed

_FAILING = frozenset({"status", "error"})


def run_again(playbook: Playbook) -> frozenset[str]:
    """The steps that may run more than once: those on a cycle, and what a fork leads to."""
    graph = graph_of(playbook)
    forks = [
        at
        for at, step in enumerate(playbook.steps)
        if step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1
    ]
    behind = reached(graph.successors, forks)
    again = {
        at
        for members in components_of(graph.successors)
        for at in members
        if len(members) > 1 or at in graph.successors[at]
    }
    return frozenset(playbook.steps[at].name for at in again | behind)


def takes_failures(arc: Arc) -> bool:
    """Whether a failure is asked about the arc, whose guard has canonical names (LANGUAGE §3)."""
    if arc.when is None:
        return False
    asked = {access.keys[0] for access in accesses(arc.when.expr) if access.root.name == "event" and access.keys}
    return bool(asked & _FAILING) or (bool(events_in(arc.when.expr)) and on_failed(arc.when.expr) != FALSE)


def of_this_run(step: Step) -> Expr:
    """The result of the run that has ended, which is undefined where it has failed."""
    return Conditional(equal(path("event", "status"), "ok"), result_of(step.name), None)
