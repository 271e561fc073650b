"""Defaults of tasks by their kind: `executor.spec.tasks: {kind: {spec: …}}` (EXTENSIONS §2)."""

from collections.abc import Iterator

from noetl_ir.kinds import Kind
from noetlc.ast.playbook import Rule, TaskDefaults
from noetlc.reading.drafts import TaskDraft
from noetlc.reading.field import read_field
from noetlc.reading.kinds import WORKBOOK, kind_names, kind_of
from noetlc.reading.policy import read_policy
from noetlc.reading.reader import Reader, unknown
from noetlc.reading.shapes import mapping_of
from noetlc.reading.task import stray_knob, task_knobs
from noetlc.reading.values import read_timeout
from noetlc.source.nodes import Mapping, Node, Scalar


def read_defaults(r: Reader, node: Node) -> tuple[TaskDefaults, ...]:
    """The defaults of tasks, by kind."""
    mapping = mapping_of(r, node, "`tasks`")
    if mapping is None:
        return ()
    # What nobody could write before is read as it is written today.
    tables, r.tables = r.tables, r.canonical
    try:
        return tuple(_kinds(r, mapping))
    finally:
        r.tables = tables


def _kinds(r: Reader, mapping: Mapping) -> Iterator[TaskDefaults]:
    for key, value in mapping.entries:
        if key.text.startswith("x-"):
            continue
        kind = kind_of(key.text)
        if kind is None or kind is WORKBOOK:
            known = tuple(name for name in kind_names() if name != WORKBOOK.name)
            unknown(r, "NL107", f"unknown tool kind `{key.text}`", key.span, name=key.text, known=known)
            continue
        inner = mapping_of(r, value, f"`tasks.{key.text}`")
        if inner is not None:
            yield _of_kind(r, kind, key, inner)


def _of_kind(r: Reader, kind: Kind, key: Scalar, node: Mapping) -> TaskDefaults:
    draft = TaskDraft(kind.name, key.span, node)
    draft.kind, draft.kind_span = kind.name, key.span
    for name, value in node.entries:
        if name.text == "spec":
            mapping = mapping_of(r, value, f"`tasks.{kind.name}.spec`")
            if mapping is not None:
                _take_spec(r, draft, kind, mapping)
        elif not name.text.startswith("x-"):
            help = "write `spec: {…}`: what a task does stands at the task"
            message = f"`tasks.{kind.name}` has no `{name.text}`: only what a task's `spec` says has a default"
            r.report("NL101", message, name.span, help=help)
    return TaskDefaults(
        kind.name,
        key.span,
        tuple(draft.knobs),
        draft.timeout,
        tuple(_without_jumps(r, draft)),
        draft.on_unmatched_written,
    )


def _take_spec(r: Reader, draft: TaskDraft, kind: Kind, node: Mapping) -> None:
    knobs = task_knobs(kind)
    for key, value in node.entries:
        if key.text == "timeout":
            draft.timeout = read_timeout(r, value)
        elif key.text == "policy":
            read_policy(r, draft, value)
        elif key.text in knobs:
            draft.knobs.append((key.text, read_field(r, knobs[key.text], key.text, value)))
        elif not key.text.startswith("x-"):
            stray_knob(r, key, tuple(knobs), kind.name)


def _without_jumps(r: Reader, draft: TaskDraft) -> Iterator[Rule]:
    """The rules, less those that lead to a task: that is one of a single step, and these are for all steps."""
    for rule in draft.rules:
        if rule.directive == "jump":
            help = "write the rule at the tasks that jump, or `do: continue`, `break`, `retry` or `fail`"
            message = "a default cannot jump: the task that it leads to is one of a single step"
            r.report("NL117", message, rule.to_span or rule.span, help=help)
        else:
            yield rule
