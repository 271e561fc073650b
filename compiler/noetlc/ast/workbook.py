"""Tasks of the workbook put in the place of the tasks that name them (LANGUAGE §6)."""

from collections.abc import Callable, Mapping

from noetl_ir.expr import Literal, MapTemplate, Template
from noetl_ir.kinds import CALLED
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.walk import replace_tasks

KIND = "workbook"


def workbook_name(task: Task) -> str | None:
    """The entry that a `workbook` task stands for; None for any other task."""
    if task.kind != KIND:
        return None
    for name, value in task.fields:
        if name == "task" and isinstance(value.template, Literal):
            return str(value.template.value)
    # A name that is computed names no entry: the task is a call all the same.
    return ""


def kind_called(task: Task, kinds: Mapping[str, str]) -> str:
    """The kind that a task runs as, by the kinds of the workbook's entries: that of the entry where it calls one, which
    may be `workbook` again.
    """
    name = workbook_name(task)
    return task.kind if name is None else kinds.get(name, task.kind)


def as_written(entry: Task, args: Value | None) -> Task:
    """The entry, whatever it is called with."""
    del args
    return entry


def inline_workbook(playbook: Playbook, bind: Callable[[Task, Value | None], Task] = as_written) -> Playbook:
    """The playbook in which every `workbook` task is the entry it names, under its own name; `bind` gives an entry
    what it is called with.

    The task's args win over the entry's, key by key; its policy and knobs replace the entry's where it has
    any. A name that the workbook does not have, or a circle, leaves the task as it is: the reader has
    reported it.
    """
    if not playbook.workbook:
        return playbook
    entries = dict(playbook.workbook)

    def inlined(step: Step, task: Task) -> Task:
        del step
        # An entry may stand for another; more steps than there are entries is a circle.
        left = len(entries) + 1
        while (name := workbook_name(task)) is not None and left:
            entry = entries.get(name)
            if entry is None:
                return task
            task, left = _overlaid(task, entry, bind), left - 1
        return task

    return replace_tasks(playbook, inlined)


def _overlaid(task: Task, entry: Task, bind: Callable[[Task, Value | None], Task]) -> Task:
    own = bind(entry._replace(fields=()), task.args)  # the entry's own args are of those of the call
    args = _merged_args(own.args, task.args)
    called = bind(entry, args)
    return called._replace(
        name=task.name,
        name_span=task.name_span,
        span=task.span,
        desc=task.desc or entry.desc,
        args=args,
        knobs=tuple({**dict(entry.knobs), **dict(task.knobs)}.items()),
        timeout=task.timeout or entry.timeout,
        # The whole policy of the call or that of the entry: rules of two authors do not mix.
        rules=task.rules or called.rules,
        on_unmatched_written=task.on_unmatched_written if task.rules else entry.on_unmatched_written,
        generated=task.generated,
    )


def _merged_args(below: Value | None, above: Value | None) -> Value | None:
    if below is None or above is None:
        # Args that are computed cannot be laid over others: the call's are taken as they are.
        return above or below
    pairs, over = pairs_of(below.template), pairs_of(above.template)
    if pairs is None or over is None:
        return above
    return Value(template_of_pairs({**pairs, **over}), above.span, None)


def own_args(task: Task) -> frozenset[str]:
    """The args of a task that its own fields read."""
    pairs = pairs_of(task.args.template) if task.args is not None and task.kind not in CALLED else None
    return frozenset(pairs or ())


def pairs_of(template: Template) -> dict[str, Template] | None:
    """The keys of a mapping template; None where it is none."""
    match template:
        case MapTemplate(items=items):
            return dict(items)
        case Literal(value=dict(value)):
            return {key: Literal(item) for key, item in value.items()}
        case _:
            return None


def template_of_pairs(pairs: dict[str, Template]) -> Template:
    """The mapping template of those keys; one literal where none of them is a template."""
    if all(isinstance(value, Literal) for value in pairs.values()):
        return Literal({key: value.value for key, value in pairs.items() if isinstance(value, Literal)})
    return MapTemplate(tuple(pairs.items()))
