"""Tasks of a workbook that carry sugar of older dialects.

share_workbook: the `sink`, `retry` and `vars` of a workbook's entry come along with it (LANGUAGE §6).

    workbook: [{name: load, kind: http, …, retry: 3, vars: {n: "{{ q }}"}}]
    tool: {kind: workbook, task: load, args: {q: 7}}
        →  the entry without them, and the task that calls it with retry: 3, vars: {n: 7}

What the calling task or its step says itself wins, but for `sink`, `vars` and `set`: both store, and both set. The
entry is put in the task's place when the net is built.
"""

from collections.abc import Container

from noetl_ir.expr import Template
from noetlc.ast.bodies import Tasks, change_lists
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.workbook import pairs_of, template_of_pairs, workbook_name
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.calling import called_with, with_args
from noetlc.older.call_blocks import called_entries, rendered_before_calls
from noetlc.older.legacy_names import RESERVED
from noetlc.older.sinks import Sink
from noetlc.older.variables import Assign

BY = "share_workbook"


def share_workbook(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook whose workbook has plain tasks only."""
    entries = dict(playbook.workbook)
    if not entries:
        return playbook
    for name, task in playbook.workbook:
        if task.extras:
            why = "with every task that calls it"
            record(Change(BY, task.name_span, f"what belongs to `{name}`", "exact", why))

    def calling(step: Step, tasks: Tasks) -> Tasks:
        if not any(workbook_name(task) in entries for task in tasks):
            return tasks
        tasks = rendered_before_calls(tasks, entries, BY, record)
        return tuple([_with(task, step, entries) for task in tasks])

    playbook = change_lists(playbook, calling)
    if not any(task.extras for task in entries.values()):
        return playbook
    return playbook._replace(workbook=tuple((name, task._replace(extras=())) for name, task in playbook.workbook))


def _with(task: Task, step: Step, entries: dict[str, Task]) -> Task:
    """A task with what belongs to the entry that it calls, and to those that this stands for in turn."""
    own = {type(extra) for extra in (*task.extras, *step.extras)}
    added: list[Sugar] = []
    rules = task.rules
    args = task.args
    for entry in called_entries(task, entries):
        entry = called_with(entry, args)
        pairs = {**_pairs(entry), **((pairs_of(args.template) or {}) if args is not None else {})}
        bare = pairs.keys() - RESERVED
        kept = [extra for extra in entry.extras if type(extra) not in own or isinstance(extra, Sink | Assign)]
        added += [_extra_with_args(extra, pairs, bare) for extra in kept]
        rules = rules or tuple([with_args(rule, pairs, bare) for rule in entry.rules])
        # An entry that stands for another one calls it with its own args and those that it was called with.
        args = Value(template_of_pairs(pairs), entry.span, None) if pairs else None
    # What is added may give the call a policy of its own, in whose place that of the entry would be dropped.
    return task._replace(extras=(*task.extras, *added), rules=rules) if added else task


def _pairs(entry: Task) -> dict[str, Template]:
    return (pairs_of(entry.args.template) or {}) if entry.args is not None else {}


def _extra_with_args(extra: Sugar, pairs: dict[str, Template], bare: Container[str]) -> Sugar:
    """Sugar of an entry that reads what it is called with. A storage task has args of its own, which win."""
    if not isinstance(extra, Sink):
        return with_args(extra, pairs, bare)
    rest = {key: value for key, value in pairs.items() if key not in _pairs(extra.task)}
    args = None if extra.task.args is None else with_args(extra.task.args, pairs, bare)
    made = with_args(extra, rest, bare)
    return made._replace(task=made.task._replace(args=args))
