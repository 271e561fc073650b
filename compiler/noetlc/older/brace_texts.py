"""bind_texts: braces of a template in a string of python code, where only a value of the run can be meant.

    code: "result = {'id': 'run_{{ execution_id }}'}"
        →  args: {__text1: "run_{{ execution_id }}"}, code: "result = {'id': __text1}"

Old engines rendered code before Python saw it. The value is given as an arg, never put into the code. A string is taken
where every name in its braces is one that the playbook has; in formatted strings, docstrings, strings that are put
together or formatted, and code that makes templates itself, the braces may be Python's own: they stay, and are told.
"""

import ast
from collections.abc import Container, Iterator
from itertools import accumulate

from noetl_ir.expr import Expr, Filter, Literal, Native, Template, Text
from noetlc.ast.playbook import Playbook, Task, Value
from noetlc.ast.python_code import code_of, python_code
from noetlc.ast.walk import replace_steps
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.diag.change import Change, Note
from noetlc.expr.generated import generated_name
from noetlc.expr.parser import parse_template
from noetlc.expr.paths import accesses
from noetlc.expr.templates import native

_EVERYWHERE = frozenset({"execution_id", "workload", "ctx", "now"})
_TEXTS = frozenset({"execution_id", "now"})
"""What is a text anyway."""
_MAKES_TEMPLATES = ("jinja", "Template", "render", "class ")
"""What code with templates of its own has; in a class a generated name would be another one."""


def bind_texts(playbook: Playbook, note: Note) -> Playbook:
    """The playbook whose code has the texts that were meant."""
    known = _EVERYWHERE | {step.name for step in playbook.steps} | {key for key, _ in playbook.workload}

    def bound(task: Task) -> Task:
        made = _bound(task, known)
        if made is not task:
            span = next(value.span for name, value in task.fields if name == "code")
            note(Change("bind_texts", span, "a template in a string of code", "review", "an arg with its text"))
        return made

    found = replace_steps(playbook, lambda step: step._replace(tasks=tuple(map(bound, step.tasks))))
    return found._replace(workbook=tuple((name, bound(task)) for name, task in found.workbook))


def _code(task: Task) -> str | None:
    """The code of a python task with braces in it, which gets its args by name."""
    code = code_of(task) if task.kind == "python" else None
    if code is None or "{{" not in code or any(word in code for word in _MAKES_TEMPLATES):
        return None
    is_open = task.args is None or pairs_of(task.args.template) is not None
    return code if is_open and python_code(code).error is None else None


def _bound(task: Task, known: Container[str]) -> Task:
    code = _code(task)
    if code is None:
        return task
    own = {} if task.args is None else pairs_of(task.args.template) or {}
    given: dict[str, Template] = {}
    parts, at = list[str](), 0
    for start, end, template in _texts(code, known, own):
        name = next((name for name, one in given.items() if one == template), None)
        name = name or generated_name(f"text{len(given) + 1}")
        given[name] = template
        before = " " if code[start - 1 : start].isalnum() else ""  # `return"…"`
        parts += [code[at:start], before, name, " " if code[end : end + 1].isalnum() else ""]
        at = end
    if not given:
        return task
    fields = tuple(
        (name, Value(Literal("".join([*parts, code[at:]])), value.span, None) if name == "code" else value)
        for name, value in task.fields
    )
    span = task.args.span if task.args is not None else task.name_span
    return task._replace(fields=fields, args=Value(template_of_pairs({**own, **given}), span, None))


def _texts(code: str, known: Container[str], own: Container[str]) -> Iterator[tuple[int, int, Template]]:
    """Where strings with such braces stand, in order, and the template of each."""
    lines = code.encode().split(b"\n")
    begins = [0, *accumulate(len(line.decode()) + 1 for line in lines)]

    def place(line: int, column: int) -> int:
        return begins[line - 1] + len(lines[line - 1][:column].decode())

    found: list[tuple[int, int, Template]] = []
    for node in _strings(ast.parse(code)):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        template = _meant(str(node.value), known, own)
        if template is not None:
            found.append((start, end, template))
    return iter(sorted(found, key=lambda one: one[0]))


def _strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings with braces that stand for themselves: no docstring, no part of an f-string, nothing formatted."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Constant(value=str(text)) if "{{" in text:
                yield node
            case ast.JoinedStr() | ast.Expr(value=ast.Constant()) | ast.MatchValue():
                continue
            case ast.BinOp(left=ast.Constant(), op=ast.Mod(), right=right):
                waiting.append(right)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="format" | "format_map")):
                waiting += [*node.args, *node.keywords]
            case _:
                waiting += ast.iter_child_nodes(node)


def _meant(text: str, known: Container[str], own: Container[str]) -> Template | None:
    """The template that a string is; None where its braces have names that nothing declares, or none."""
    parsed = parse_template(text)
    if parsed.errors:
        return None
    match parsed.template:
        case Native(expr=expr) if _is_known(expr, known, own):
            is_text = {access.root.name for access in accesses(expr)} <= _TEXTS
            return parsed.template if is_text else native(Filter(expr, "string", (), ()))
        case Text(parts=parts):
            exprs = [part for part in parts if not isinstance(part, str)]
            return parsed.template if all(_is_known(expr, known, own) for expr in exprs) else None
    return None


def _is_known(expr: Expr, known: Container[str], own: Container[str]) -> bool:
    roots = {access.root.name for access in accesses(expr)}
    return bool(roots) and all(name in known and name not in own for name in roots)
