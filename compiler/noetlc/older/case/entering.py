"""The settings of a `case` when a step with a loop is entered: once, before its first item, also where there is none.

lower_entering: a generated step stands where the loop stood, sets it, and leads on (LANGUAGE §6).

    case: [{when: "event.name == 'step.enter'", then: {set: {ctx: {seen: []}}}}], loop: …
        →  the step __s__enter before the loop, which every way to the loop leads to; it sets ctx.seen
"""

from noetl_ir.expr import Name, walk
from noetl_ir.span import Span
from noetlc.ast.graph import ENTRY
from noetlc.ast.playbook import Arc, Playbook, Router, Rule, Step
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in, loops_of
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import PLAIN_SPEC, computed, generated_name, noop

BY = "lower_entering"


class Entering(Sugar):
    """The settings before the loop of a step: `sets` is the rule that does it, the label that of its case."""

    label: str
    sets: Rule
    span: Span


def may_stand_before(step: Step, sets: Rule) -> bool:
    """Whether a step before the loop can set it: nothing of the loop is read, and nothing of an item is set."""
    if sets.set_iter or step.spec.admit is not None:
        return False
    inside = {"loop_index", "iter", "outcome", *(loop.iterator for loop in loops_of(step))}
    inside |= {task.name for task in step.tasks}
    read = (expr for _, value in sets.set_ctx for expr, _ in expressions_in(value))
    return not any(isinstance(part, Name) and part.name in inside for expr in read for part in walk(expr))


def lower_entering(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which such loops have a step before them."""
    with_args = {
        arc.target for step in playbook.steps if step.router for arc in step.router.arcs if arc.args is not None
    }
    steps: list[Step] = []
    names: dict[str, str] = {}
    for step in playbook.steps:
        found = tuple(extra for extra in step.extras if isinstance(extra, Entering))
        if not found:
            steps.append(step)
            continue
        names[step.name] = generated_name(step.name, "enter")
        for one in found:
            record(Change(BY, one.span, "`step.enter` of a loop", "safe", "a step before it that sets"))
        steps.append(_before(step, names[step.name], found, has_args=step.name in with_args))
        rest = tuple(extra for extra in step.extras if not isinstance(extra, Entering))
        # The join is that of the step before now. On both, the loop would wait for tokens that were joined already.
        steps.append(step._replace(extras=rest, spec=step.spec._replace(join="any", join_span=None)))
    executor = playbook.executor
    # A run that begins at the loop has to begin at the step before it, or nothing would be set.
    entry = names.get(executor.entry_step or ENTRY)
    if entry is not None:
        executor = executor._replace(entry_step=entry, entry_span=executor.entry_span or playbook.span)
    phases = [phase._replace(step=names.get(phase.step, phase.step)) for phase in executor.phases]
    executor = executor._replace(phases=tuple(phases))
    steps = [_undone(step, names) for step in steps]
    return playbook._replace(steps=tuple(_led(step, names) for step in steps), executor=executor)


def _undone(step: Step, names: dict[str, str]) -> Step:
    """The step whose runs are undone by what stands before the loop that did."""
    how = step.spec.compensate
    if how is None or how.step not in names:
        return step
    return step._replace(spec=step.spec._replace(compensate=how._replace(step=names[how.step])))


def _before(step: Step, name: str, found: tuple[Entering, ...], *, has_args: bool) -> Step:
    span = found[0].span
    tasks = tuple(noop(generated_name(step.name, one.label, "enter"), one.span, (one.sets,)) for one in found)
    way = Arc(step.name, span, None, computed(Name("args"), span) if has_args else None, None, 0, span)
    spec = PLAIN_SPEC._replace(join=step.spec.join, join_span=step.spec.join_span)
    return Step(name, span, span, "", spec, None, tasks, Router("exclusive", (way,), span))


def _led(step: Step, names: dict[str, str]) -> Step:
    """The step whose arcs to a loop lead to the step before it."""
    if step.router is None or step.name in names.values() or all(arc.target not in names for arc in step.router.arcs):
        return step
    arcs = tuple(arc._replace(target=names.get(arc.target, arc.target)) for arc in step.router.arcs)
    return step._replace(router=step.router._replace(arcs=arcs))
