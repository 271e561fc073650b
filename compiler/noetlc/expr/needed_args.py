"""The args that a step cannot do without: those that its values read, guards aside, and that no task gives itself."""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetlc.ast.once import Once
from noetlc.ast.playbook import Step, Task, Value
from noetlc.ast.walk import expressions_in, loops_of, rule_values, task_values
from noetlc.ast.workbook import pairs_of
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.source.nodes import Scalar


def needed_args(step: Step) -> Iterator[tuple[Access, Scalar]]:
    """Each read of `args.x…` without which an expression has no value, with the text that it stands in; not of a task
    that gives itself this arg, or whose args are computed.
    """
    for value, own in _values(step):
        for expr, scalar in expressions_in(value) if own is not None else ():
            for access in _reads(expr) if scalar is not None else ():
                if scalar is not None and own is not None and str(access.keys[0]) not in own:
                    yield access, scalar


def _values(step: Step) -> Iterator[tuple[Value, set[str] | None]]:
    """The values of a step, each with the args that its task gives itself; None where those are computed."""
    for loop in loops_of(step):
        yield loop.items, set()
    for task in step.tasks:
        own = _own(task)
        yield from ((value, set() if value is task.args else own) for value in task_values(task))
        yield from ((value, own) for value in rule_values(task))
    for arc in step.router.arcs if step.router is not None else ():
        if arc.args is not None and arc.when is None:
            yield arc.args, set()


def _own(task: Task) -> set[str] | None:
    pairs = pairs_of(task.args.template) if task.args is not None else {}
    return None if pairs is None else set(pairs)


def _read(expr: Expr) -> tuple[Access, ...]:
    if not needs_all(expr):
        return ()
    return tuple(access for access in accesses(expr) if access.root.name == "args" and access.keys)


_reads = Once(_read)
