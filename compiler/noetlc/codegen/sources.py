"""The sources of steps: the entry step, the sources of each step's join, and the places in the file for them."""

from noetl_ir.plan import ENTRY
from noetl_ir.span import NOWHERE, Span
from noetlc.ast.graph import END, later_of
from noetlc.ast.graph import ENTRY as START
from noetlc.ast.phases import later_steps
from noetlc.ast.playbook import Playbook, Step, Task


def entry_of(playbook: Playbook) -> str:
    """The name of the entry step; it may be missing from the workflow, which is a finding."""
    return playbook.executor.entry_step or START


def sources_of(playbook: Playbook) -> dict[str, tuple[str, ...]]:
    """Step → its distinct sources: the entry token first, then the steps with an arc to it, in file order."""
    found: dict[str, dict[str, None]] = {step.name: {} for step in playbook.steps}
    later = later_steps(playbook)
    # Each phase begins with a token that comes from no step.
    for entry in (entry_of(playbook), *(phase.step for phase in later_of(playbook))):
        if entry in found:
            found[entry][ENTRY] = None
    for step in playbook.steps:
        if step.router is not None:
            for arc in step.router.arcs:
                if arc.target in found and (arc.target != END or step.name not in later):
                    # Several arcs of one step are one source: a join counts steps, as each sends at most one token a
                    # run.
                    found[arc.target][step.name] = None
    return {name: tuple(sources) for name, sources in found.items()}


def arrival_spans(playbook: Playbook) -> dict[str, dict[str, Span]]:
    """Step → source → where the author wrote the first arc between them, or the step's name for the entry."""
    found: dict[str, dict[str, Span]] = {step.name: {ENTRY: step.name_span} for step in playbook.steps}
    for step in playbook.steps:
        if step.router is not None:
            for arc in step.router.arcs:
                if arc.target in found:
                    found[arc.target].setdefault(step.name, arc.span)
    return found


def with_tasks(playbook: Playbook) -> Playbook:
    """The playbook with a generated noop in each step that has no task (LANGUAGE §1)."""
    if all(step.tasks for step in playbook.steps):
        return playbook
    steps = [step if step.tasks else step._replace(tasks=(_noop(step),)) for step in playbook.steps]
    # A pipeline without a task would be a net of its own shape, and every reader of plans would have to know it.
    return playbook._replace(steps=tuple(steps))


def _noop(step: Step) -> Task:
    span = step.name_span if step.name_span != NOWHERE else step.span
    return Task(
        name=f"{step.name}_task",
        name_span=span,
        kind="noop",
        kind_span=span,
        span=span,
        desc="",
        fields=(),
        args=None,
        knobs=(),
        timeout=None,
        rules=(),
        on_unmatched_written=False,
        generated=True,
    )
