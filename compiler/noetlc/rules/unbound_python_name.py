"""unbound-python-name: python code uses a name that nothing binds.

Why it matters
    The task fails with a NameError when it comes to that line.
Example
    - {kind: python, code: "result = total * 2"}
Instead
    - {kind: python, args: {total: "{{ workload.total }}"}, code: "result = total * 2"}
When to ignore
    Where a library puts names into the built-ins.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.ast.playbook import Step, Task, Value
from noetlc.ast.python_code import offset_of, python_code
from noetlc.ast.workbook import pairs_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit
from noetlc.source.nodes import Scalar

_GIVEN = frozenset({"ctx", "iter", "workload", "execution_id", "args", "context", "input_data"})
_MODULE = frozenset({"__name__", "__file__", "__builtins__", "__doc__"})


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Names that are bound neither by the code nor by args, those of arcs into the step included."""
    arriving = _arc_args(unit)
    for step, task, value in unit.programs["code"]:
        if task.kind != "python" or not isinstance(value.template, Literal):
            continue
        text = value.template.value
        free = python_code(text).free if isinstance(text, str) else ()
        if not free or not isinstance(text, str):
            continue
        given = _given(step, task, arriving)
        for name in free if given is not None else ():
            if given is not None and name.name not in given:
                at = offset_of(text, name)
                node = value.node
                yield RULE.finding(
                    f"nothing binds `{name.name}` in the code of `{task.name}`",
                    unit.source.inner_span(node, at, at + len(name.name)) if isinstance(node, Scalar) else value.span,
                    help=f"give it in `args: {{{name.name}: …}}`, assign it, or import it",
                )


def _given(step: Step, task: Task, arriving: dict[str, set[str] | None]) -> set[str] | None:
    """The names that the code finds bound; None where args are not known before the run."""
    found: set[str] = {*_GIVEN, *_MODULE}
    arrived = arriving.get(step.name, set())
    own = _keys(task.args)
    libs = _libs(task)
    if arrived is None or own is None or libs is None:
        return None
    return found | arrived | own | libs


def _arc_args(unit: Unit) -> dict[str, set[str] | None]:
    """Step → the names in the args of arcs into it."""
    found: dict[str, set[str] | None] = {}
    for step in unit.playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            if arc.args is None:
                continue
            keys, before = _keys(arc.args), found.get(arc.target, set())
            found[arc.target] = None if keys is None or before is None else before | keys
    return found


def _keys(args: Value | None) -> set[str] | None:
    if args is None:
        return set()
    pairs = pairs_of(args.template)
    return None if pairs is None else set(pairs)


def _libs(task: Task) -> set[str] | None:
    """Names that `libs` imports: aliases of a mapping, or modules of a list; None where it cannot be told."""
    value = dict(task.fields).get("libs")
    if value is None:
        return set()
    match value.template:
        case Literal(value=dict(libs)):
            return {str(name) for name in libs}
        case _:
            return None


RULE = Rule("NL802", Severity.WARNING, "ast", check)
