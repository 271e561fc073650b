"""unbound-python-name: python code uses a name that nothing binds.

Why it matters
    The task fails with a NameError when it comes to that line, or with a TypeError where `main` asks for it.
    `json`, `os`, `datetime` and `uuid` are bound here without an import, which is a note.
Example
    - {kind: python, code: "result = total * 2"}
Instead
    - {kind: python, args: {total: "{{ workload.total }}"}, code: "result = total * 2"}
When to ignore
    Where a library puts names into the built-ins.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json, Literal
from noetl_ir.python_names import MODULES, python_reads, required_parameters
from noetl_ir.registry import is_module, modules_of
from noetl_ir.span import Span
from noetlc.ast.code_names import arriving_args, code_names, of_ours
from noetlc.ast.playbook import Task, Value
from noetlc.ast.python_code import PythonName, offset_of, place_of, python_code
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.parser import is_expression
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar

_MODULE = frozenset({"__name__", "__file__", "__builtins__", "__doc__"})


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Names that are bound neither by the code nor by args, those of arcs into the step included, and parameters of
    `main` that nothing gives. The modules that are bound without an import are notes.
    """
    arriving = arriving_args(unit.playbook)
    for step, task, value in unit.programs["code"]:
        if task.kind != "python" or not isinstance(value.template, Literal):
            continue
        text = value.template.value
        if not isinstance(text, str):
            continue
        free, asked = python_code(text).free, python_reads(text).parameters
        libs = _libs(task)
        names = code_names(unit.playbook, step, task, arriving) if free or asked else None
        # Args that only the run knows may bind any name.
        if names is None:
            continue
        # A credential of the task is bound under this name.
        if "auth" in dict(task.fields):
            names.args.add("auth")
        bound = names.args | names.items | _MODULE | (libs or set())
        for name in free if libs is not None else ():
            if name.name not in bound and not of_ours(name.name) and not _in_braces(text, name):
                yield _module(unit, task, value, name) if name.name in MODULES else _unbound(unit, task, value, name)
        # The cheap question first: `required_parameters` parses the code.
        if any(name not in names.context and not of_ours(name) for name in asked - names.args):
            for parameter in required_parameters(text):
                if parameter.name not in names.args | names.context and not of_ours(parameter.name):
                    yield _asked(unit, task, value, place_of(text, *parameter))


def _in_braces(text: str, name: PythonName) -> bool:
    """Whether the name stands in what was meant as a template, which is a finding of its own."""
    at = offset_of(text, name)
    start, end = text.rfind("{{", 0, at), text.find("}}", at)
    return start > text.rfind("}}", 0, at) and text[start - 1 : start] != "{" and is_expression(text[start + 2 : end])


def _unbound(unit: Unit, task: Task, value: Value, name: PythonName) -> Diagnostic:
    return RULE.finding(
        f"nothing binds `{name.name}` in the code of `{task.name}`",
        _span(unit, value, name),
        help=f"give it in `args: {{{name.name}: …}}`, assign it, or import it",
    )


def _module(unit: Unit, task: Task, value: Value, name: PythonName) -> Diagnostic:
    return RULE.note(
        f"the code of `{task.name}` uses `{name.name}` without importing it; it is bound for it here",
        _span(unit, value, name),
        help=f"write `import {name.name}`, so that readers and other tools know it too",
    )


def _asked(unit: Unit, task: Task, value: Value, name: PythonName) -> Diagnostic:
    return RULE.finding(
        f"nothing gives `{name.name}`, which `main` in the code of `{task.name}` asks for",
        _span(unit, value, name),
        help=f"give it in `args: {{{name.name}: …}}`, or a default: `{name.name}=None`",
    )


def _span(unit: Unit, value: Value, name: PythonName) -> Span:
    node = value.node
    if not isinstance(node, Scalar) or not isinstance(value.template, Literal):
        return value.span
    at = offset_of(str(value.template.value), name)
    return unit.source.inner_span(node, at, at + len(name.name))


def _libs(task: Task) -> set[str] | None:
    """Names that `libs` imports; None where it cannot be told."""
    value = dict(task.fields).get("libs")
    if value is None:
        return set()
    match value.template:
        case Literal(value=None):
            return set()
        case Literal(value=dict(libs)):
            return {str(name) for name in libs}
        case Literal(value=list(libs)):
            found = [_of_entry(lib) for lib in libs]
            return None if None in found else {name for names in found if names is not None for name in names}
        case _:
            return None


def _of_entry(lib: Json) -> tuple[str, ...] | None:
    """The names that an entry of a list binds."""
    if isinstance(lib, dict):
        name = lib.get("as") or lib.get("import")
        return (str(name).partition(".")[0],)
    name = str(lib)
    return modules_of(name) or None if not is_module(name) else (name.partition(".")[0],)


RULE = LintRule("NL802", Severity.WARNING, "ast", check, about=("code",))
