"""The fields of a workbook entry, which name what they are called with (formal §5 and its appendix A), and those of a
task, which name its own args.
"""

from noetl_ir.expr import Attribute, Expr, Name
from noetlc.ast.playbook import Step, Task, Value
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of
from noetlc.expr.generated import expression_of
from noetlc.expr.templates import maybe_with, pairs_with

CALLED = frozenset({"python", "playbook", "workbook", "script", "noop", "container", "quantum"})
"""Kinds whose args are what they are called with; those of any other kind are there for its own fields to read."""


def own_args(task: Task) -> frozenset[str]:
    """The args of a task that its own fields read."""
    given = pairs_of(task.args.template) if task.args is not None and task.kind not in CALLED else None
    return frozenset(given or ())


def with_own_args(step: Step, task: Task) -> Task:
    """The task whose fields read its own args, which win over the token's (LANGUAGE §6): bare, or behind `args`. An
    iterator or a task of the step comes before a bare one (LANGUAGE §2).
    """
    names = own_args(task)
    if not names or task.args is None:
        return task
    given = pairs_of(task.args.template) or {}
    near = {loop.iterator for loop in loops_of(step)} | {other.name for other in step.tasks}

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Attribute(of=Name(name="args"), name=name) if name in names:
                return expression_of(given[name])
            case Name(name=name) if name in names and name not in near:
                return expression_of(given[name])
        return None

    return task._replace(fields=pairs_with(task.fields, replace))


def called_with(entry: Task, args: Value | None) -> Task:
    """The entry in whose fields and own args each argument, bare or behind `args`, is what it is called with.

    It wins over an iterator or a task of that name: an entry does not know where it is called from.
    """
    given = pairs_of(args.template) if args is not None else None
    if not given:
        return entry

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Name(name=name) | Attribute(of=Name(name="args"), name=name) if name in given:
                return expression_of(given[name])
        return None

    return entry._replace(fields=pairs_with(entry.fields, replace), args=maybe_with(entry.args, replace))
