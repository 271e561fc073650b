"""The phases behind main together: their first steps exist, and no step is in two of them (EXTENSIONS.md §1)."""

from noetl_ir.words import CAUSES, COMPENSATION, MAIN
from noetlc.ast.graph import END, StepGraph, later_of
from noetlc.ast.phases import PhaseSteps, parts_of
from noetlc.ast.playbook import Compensate, Executor, Playbook
from noetlc.diag.diagnostic import Related
from noetlc.reading.reader import Reader, Table, take_all, unknown
from noetlc.reading.shapes import choice_of, is_empty, missing, reference_of, sequence_of
from noetlc.source.nodes import Mapping, Node, Scalar


class _Draft:
    """`policy.compensate` as a mapping."""

    __slots__ = ("started", "step")

    def __init__(self) -> None:
        self.step: str | None = None
        self.started = False


def read_compensate(r: Reader, node: Node) -> Compensate | None:
    """The step that undoes a run: its name, or `{step, on: done|started}`."""
    if not isinstance(node, Mapping):
        step = reference_of(r, node, "`compensate`")
        return None if step is None else Compensate(step, False, node.span)
    draft = _Draft()
    take_all(r, "compensate", _KEYS, draft, node)
    if draft.step is None:
        missing(r, "the `step` of `compensate`", node.span, help="name the step that undoes a run")
        return None
    return Compensate(draft.step, draft.started, node.span)


def _step(r: Reader, draft: _Draft, key: Scalar, node: Node) -> None:
    draft.step = reference_of(r, node, "`compensate.step`")


def _on(r: Reader, draft: _Draft, key: Scalar, node: Node) -> None:
    draft.started = choice_of(r, node, "`compensate.on`", ("done", "started")) == "started"


_KEYS: Table[_Draft] = {"step": _step, "on": _on}


def read_causes(r: Reader, node: Node) -> tuple[str, ...] | None:
    """The statuses of main after which there is compensation, in the order of `CAUSES`; one of them may stand alone."""
    if is_empty(node):
        return None
    listed = None if isinstance(node, Scalar) else sequence_of(r, node, "`compensate_on`", "statuses")
    nodes = [node] if isinstance(node, Scalar) else listed.items if listed is not None else []
    found = {choice_of(r, each, "`compensate_on`", CAUSES) for each in nodes}
    return tuple([cause for cause in CAUSES if cause in found])


def check_phases(r: Reader, playbook: Playbook, graph: StepGraph) -> None:
    """Report phases that begin nowhere, or in the part of another one, and limits and causes of none."""
    executor, later = playbook.executor, later_of(playbook)
    if executor.after is not None and not later:
        r.report(
            "NL220",
            "`after_s` bounds the phases behind main, and there is none",
            executor.after.span,
            help="name a step with `executor.spec.finally` or `on_failure`, or remove it; `timeout_s` bounds main",
        )
    _check_causes(r, executor, compensated=any(phase.name == COMPENSATION for phase in later))
    for phase in later:
        word = "compensate" if phase.name == COMPENSATION else phase.name
        if phase.step not in graph.positions:
            message = f"`{word}` begins at `{phase.step}`, and there is no such step"
            unknown(r, "NL218", message, phase.span, name=phase.step, known=tuple(graph.positions))
        elif phase.step == END:
            message = f"`{word}` begins at `{END}`, and a declared `{END}` belongs to main"
            r.report("NL219", message, phase.span, help="give the step another name")
    parts = parts_of(playbook, graph)
    _check_parts(r, playbook, parts)
    main = parts[0].before if parts and parts[0].phase == MAIN else {}
    behind = {at for part in parts for at in part.before} - main.keys()
    for at, step in enumerate(playbook.steps):
        if step.spec.compensate is not None and at in behind:
            r.report(
                "NL221",
                f"`{step.name}` belongs to a phase behind main, and only runs of main are compensated",
                step.spec.compensate.span,
                help="remove it, or handle the failure with arcs",
            )


def _check_causes(r: Reader, executor: Executor, *, compensated: bool) -> None:
    """Report `compensate_on` where no step is compensated, and where it leaves no end to compensate after."""
    if executor.compensate_on is None or executor.compensate_on_span is None:
        return
    if not compensated:
        help = "name the step that undoes a run with `step.spec.policy.compensate`, or remove it"
        message = "`compensate_on` says when runs are compensated, and no step has `compensate`"
        r.report("NL223", message, executor.compensate_on_span, help=help)
    elif not executor.compensate_on:
        help = f"name some of {', '.join(CAUSES)}, leave it out for all of them, or remove each `compensate`"
        r.report("NL222", "`compensate_on` is empty: no run is compensated", executor.compensate_on_span, help=help)


def _check_parts(r: Reader, playbook: Playbook, parts: tuple[PhaseSteps, ...]) -> None:
    owners: dict[int, list[int]] = {}
    for number, part in enumerate(parts):
        # What lies behind the first shared step is shared for the same reason.
        shared: dict[int, int] = {}
        for at in part.before:
            for other in owners.setdefault(at, []):
                shared.setdefault(other, at)
            owners[at].append(number)
        for other in sorted(shared) if playbook.steps[part.entry].name != END else ():
            _tell(r, playbook, part, parts[other], shared[other])


def _tell(r: Reader, playbook: Playbook, part: PhaseSteps, other: PhaseSteps, at: int) -> None:
    step = playbook.steps[at]
    name = playbook.steps[part.entry].name
    span = next(each.span for each in later_of(playbook) if (each.name, each.step) == (part.phase, name))
    ways = " and ".join(f"`{each.phase}` ({_way(playbook, each, at)})" for each in (other, part))
    if part.phase == other.phase:
        message = f"`{step.name}` is in two compensations: {ways}"
    else:
        message = f"`{step.name}` is in two phases: {ways}"
    r.report(
        "NL219",
        message,
        span,
        related=(Related(step.name_span, "the step"),),
        help=f"give `{part.phase}` a step of its own: each phase begins with no token of the one before"
        + (", and `finally` runs after main however that ends" if part.phase == "finally" else ""),
    )


def _way(playbook: Playbook, part: PhaseSteps, at: int) -> str:
    return " → ".join(playbook.steps[step].name for step in part.way_to(at))
