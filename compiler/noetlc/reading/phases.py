"""The phases behind main together: their first steps exist, and no step is in two of them (EXTENSIONS.md §1)."""

from noetlc.ast.graph import END, StepGraph
from noetlc.ast.phases import Part, parts_of
from noetlc.ast.playbook import Phase, Playbook
from noetlc.diag.diagnostic import Related
from noetlc.reading.reader import Reader, unknown


def check_phases(r: Reader, playbook: Playbook, graph: StepGraph) -> None:
    """Report phases that begin nowhere, or in the part of another one, and a limit of time for none."""
    executor = playbook.executor
    if executor.after is not None and not executor.phases:
        r.report(
            "NL220",
            "`after_s` bounds the phases behind main, and there is none",
            executor.after.span,
            help="name a step with `executor.spec.finally` or `on_failure`, or remove it; `timeout_s` bounds main",
        )
    for phase in executor.phases:
        if phase.step not in graph.positions:
            message = f"`{phase.name}` begins at `{phase.step}`, and there is no such step"
            unknown(r, "NL218", message, phase.span, name=phase.step, known=tuple(graph.positions))
        elif phase.step == END:
            message = f"`{phase.name}` begins at `{END}`, and a declared `{END}` belongs to main"
            r.report("NL219", message, phase.span, help="give the step another name")
    _check_parts(r, playbook, parts_of(playbook, graph))


def _check_parts(r: Reader, playbook: Playbook, parts: tuple[Part, ...]) -> None:
    named = {phase.name: phase for phase in playbook.executor.phases}
    for number, part in enumerate(parts):
        for other in parts[:number]:
            shared = [at for at in part.before if at in other.before]
            # What lies behind the first shared step is shared for the same reason.
            if shared and playbook.steps[part.entry].name != END:
                _tell(r, playbook, named[part.phase], part, other, shared[0])


def _tell(r: Reader, playbook: Playbook, phase: Phase, part: Part, other: Part, at: int) -> None:
    step = playbook.steps[at]
    ways = " and ".join(f"`{each.phase}` ({_way(playbook, each, at)})" for each in (other, part))
    r.report(
        "NL219",
        f"`{step.name}` is in two phases: {ways}",
        phase.span,
        related=(Related(step.name_span, "the step"),),
        help=f"give `{part.phase}` a step of its own: each phase begins with no token of the one before"
        + (", and `finally` runs after main however that ends" if part.phase == "finally" else ""),
    )


def _way(playbook: Playbook, part: Part, at: int) -> str:
    return " → ".join(playbook.steps[step].name for step in part.way_to(at))
