"""Locks that are held through several steps (LANGUAGE, `policy.lock`): who comes to one of these has the lock."""

from collections.abc import Iterator

from noetlc.ast.graph import graph_of, later_of
from noetlc.ast.playbook import Playbook, StepName
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic, Related


def ways_past(playbook: Playbook) -> Iterator[Diagnostic]:
    """Errors about ways into a section that pass no step which takes its lock."""
    graph, steps = graph_of(playbook), playbook.steps
    takers: dict[str, set[int]] = {}
    inside: dict[str, dict[int, StepName]] = {}
    for at, step in enumerate(steps):
        for lock in step.spec.locks:
            if lock.through:
                takers.setdefault(lock.name, set()).add(at)
                named = inside.setdefault(lock.name, {})
                for target in lock.through:
                    named.setdefault(graph.positions[target.name], target)
    begins = {graph.positions[phase.step]: phase.name for phase in later_of(playbook)} | {graph.entry: "the execution"}
    for name, within in inside.items():
        for at, target in within.items():
            if at in begins:
                message = f"{begins[at]} begins at `{target.name}`, past who takes the lock `{name}` that is held there"
                help = "let a step before it take the lock, or leave it out of `through`"
                yield finding("NL654", message, target.span, help=help)
            # One finding a step: the first source is enough to see what is meant.
            past = [source for source in graph.sources[at] if source not in within and source not in takers[name]]
            if past:
                source = steps[past[0]]
                arcs = source.router.arcs if source.router is not None else ()
                arc = next(arc for arc in arcs if arc.target == target.name)
                yield finding(
                    "NL654",
                    f"`{source.name}` leads to `{target.name}`, past who takes the lock `{name}` that is held there",
                    arc.target_span,
                    help=f"lead to a step that takes `{name}`, or give `{source.name}` the same lock",
                    related=(Related(target.span, f"`{target.name}` is in the section here"),),
                )
