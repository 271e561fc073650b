"""The names of a playbook together: the entry, targets of arcs and jumps, joins, and the workbook
(LANGUAGE §9).
"""

from noetl_ir.nearest import nearest
from noetl_ir.scopes import RESERVED
from noetl_ir.span import Span
from noetlc.ast.defaults import with_policies
from noetlc.ast.graph import END, ENTRY, StepGraph, compensates, graph_of
from noetlc.ast.order import order_of
from noetlc.ast.playbook import Playbook, Rule, Step, Task
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import workbook_name
from noetlc.diag.diagnostic import Fix, Related
from noetlc.reading.places import UndeclaredName, check_expressions
from noetlc.reading.reader import Reader, unknown
from noetlc.source.nodes import Mapping, Sequence

ENGINE_KEYS = frozenset({"index", "parent"})
"""Keys of `iter` that the engine writes (LANGUAGE §2)."""


def check_document(r: Reader, playbook: Playbook, node: Mapping) -> tuple[UndeclaredName, ...]:
    """Report everything that only the whole document can tell; gives the names that may be keys of the payload."""
    graph = graph_of(playbook)
    # For jumps that leave their step: the message names the step that has the task.
    owners = {task.name: step.name for step in playbook.steps for task in step.tasks}
    _check_step_names(r, playbook, graph)
    _check_entry(r, playbook, graph, node)
    # Generated names are proposed to nobody.
    names = (*(name for name in graph.positions if not name.startswith("__")), END)
    entries = frozenset(graph.entries)
    for position, step in enumerate(playbook.steps):
        _check_targets(r, step, graph, names)
        if step.spec.cancels or step.spec.locks:
            from noetlc.reading.locks import check_named  # few steps have them

            check_named(r, step, graph, names)
        # The entry has one token more: the run's own.
        _check_join(r, step, len(graph.sources[position]) + (position in entries))
        _check_tasks(r, step, owners)
    _check_workbook(r, playbook)
    executor = playbook.executor
    bounded = executor.after is not None or executor.compensate_on is not None
    if executor.phases or bounded or graph.later or compensates(playbook):
        from noetlc.reading.phases import check_phases  # most files have none

        check_phases(r, playbook, graph)
    if playbook.executor.inputs is not None:
        from noetlc.reading.inputs import check_defaults  # most files declare none

        check_defaults(r, playbook)
    # Rules that tasks take from their kind are read at the tasks, whose names they may have.
    return check_expressions(r, with_policies(playbook))


def _check_step_names(r: Reader, playbook: Playbook, graph: StepGraph) -> None:
    for position, step in enumerate(playbook.steps):
        _check_reserved(r, "a step", step.name, step.name_span)
        first = graph.positions[step.name]
        if first != position:
            r.report(
                "NL201",
                f"there are two steps named `{step.name}`",
                step.name_span,
                related=(Related(playbook.steps[first].name_span, "the first one"),),
                help="rename one of them",
            )


def _check_entry(r: Reader, playbook: Playbook, graph: StepGraph, node: Mapping) -> None:
    if graph.entry >= 0 or not playbook.steps:
        return
    named, span = playbook.executor.entry_step, playbook.executor.entry_span
    if named is not None and span is not None:
        unknown(
            r,
            "NL202",
            f"the entry step `{named}` does not exist",
            span,
            name=named,
            known=tuple(graph.positions),
        )
        return
    listed = node.get("workflow")
    if isinstance(listed, Sequence) and not all(isinstance(item, Mapping) for item in listed.items):
        return  # an item that is no step was told, and may have been meant to be the entry
    first = playbook.steps[0]
    fix = None
    # The fix puts a line in front of the first key, which is only right for keys in block style at the margin.
    if node.get("executor") is None and node.entries and node.entries[0][0].span.column == 1:
        start = node.entries[0][0].span
        at = Span(start.line, start.column, start.line, start.column)
        fix = Fix(
            at,
            f"executor: {{spec: {{entry_step: {first.name}}}}}\n",
            f"begin with `{first.name}`",
            safe=False,
        )
    r.report(
        "NL202",
        f"there is no step named `{ENTRY}` to begin with",
        first.name_span,
        help=f"write `executor: {{spec: {{entry_step: {first.name}}}}}`, or name a step `{ENTRY}`",
        fix=fix,
    )


def _check_reserved(r: Reader, what: str, name: str, span: Span) -> None:
    if name in RESERVED:
        r.report(
            "NL212",
            f"{what} cannot be named `{name}`: that is a scope of expressions",
            span,
            help="choose another name",
        )


def _check_targets(r: Reader, step: Step, graph: StepGraph, names: tuple[str, ...]) -> None:
    for arc in step.router.arcs if step.router is not None else ():
        if arc.target not in graph.positions and arc.target != END:
            message = f"the arc leads to `{arc.target}`, and there is no such step"
            # A slip hardly means the step itself, unless no other name is like it.
            others = tuple(name for name in names if name != step.name)
            known = others if nearest(arc.target, others) else names
            unknown(r, "NL203", message, arc.target_span, name=arc.target, known=known)


def _check_join(r: Reader, step: Step, sources: int) -> None:
    join = step.spec.join
    # `all` and `taken` wait for what there is, so no number of sources is too small for them.
    wanted = join if isinstance(join, int) else 1 if join == "first" else 0
    # A step that nothing leads to has a finding of its own, and a generated join no place in the file.
    if wanted > sources > 0 and step.spec.join_span is not None:
        plural = "step leads" if sources == 1 else "steps lead"
        r.report(
            "NL209",
            f"the join waits for {wanted} tokens, and {sources} {plural} to `{step.name}`",
            step.spec.join_span,
            help=f"write `join: {sources}` or `join: all`",
        )


def _check_tasks(r: Reader, step: Step, owners: dict[str, str]) -> None:
    found: dict[str, Task] = {}
    for task in step.tasks:
        _check_reserved(r, "a task", task.name, task.name_span)
        first = found.setdefault(task.name, task)
        if first is not task:
            r.report(
                "NL204",
                f"there are two tasks named `{task.name}` in `{step.name}`",
                task.name_span,
                related=(Related(first.name_span, "the first one"),),
                help="rename one of them",
            )
    for loop in loops_of(step):
        _check_reserved(r, "an iterator", loop.iterator, loop.iterator_span)
        if loop.iterator in ENGINE_KEYS:
            message = f"an iterator cannot be named `{loop.iterator}`: the engine writes `iter.{loop.iterator}`"
            r.report("NL212", message, loop.iterator_span, help="choose another name")
        if loop.iterator in found:
            r.report(
                "NL210",
                f"`{loop.iterator}` is the iterator and a task of `{step.name}`",
                loop.iterator_span,
                related=(Related(found[loop.iterator].name_span, "the task"),),
                help="rename one of them",
            )
    for task in step.tasks:
        for rule in task.rules:
            if rule.to is not None and rule.to not in found:
                _report_jump(r, step, rule, found, owners)


def _report_jump(r: Reader, step: Step, rule: Rule, found: dict[str, Task], owners: dict[str, str]) -> None:
    name, span = rule.to or "", rule.to_span or rule.span
    owner = owners.get(name)
    # A name that is like a task of this step is a slip, though another step has a task of that very name.
    if owner is not None and not nearest(name, tuple(found)):
        r.report(
            "NL206",
            f"`{name}` is a task of the step `{owner}`: a jump stays in its step",
            span,
            help="record what was found with `set_ctx` and route with a guarded arc",
        )
        return
    message = f"the jump leads to `{name}`, and `{step.name}` has no such task"
    unknown(r, "NL205", message, span, name=name, known=tuple(found))


def _check_workbook(r: Reader, playbook: Playbook) -> None:
    entries = dict(playbook.workbook)
    named = [(task, workbook_name(task)) for task in entries.values()]
    named += [(task, workbook_name(task)) for step in playbook.steps for task in step.tasks if task.kind == "workbook"]
    for task, name in named:
        if name and name not in entries:
            span = next(value.span for field, value in task.fields if field == "task")
            unknown(r, "NL207", f"the workbook has no task `{name}`", span, name=name, known=tuple(entries))
    needs = {
        key: (name,) if name in entries else () for key, name in ((k, workbook_name(t)) for k, t in entries.items())
    }
    # Said here, before entries are put in the place of their calls, which would never end.
    for circle in order_of({key: tuple(n for n in value if n) for key, value in needs.items()})[1]:
        path = " → ".join((*circle, circle[0]))
        r.report("NL208", f"workbook tasks stand for each other in a circle: {path}", entries[circle[0]].name_span)
