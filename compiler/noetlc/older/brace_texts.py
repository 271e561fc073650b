"""bind_texts: braces of a template in a string of python code, where only a value of the run can be meant.

    code: "result = {'id': 'run_{{ execution_id }}'}"
        →  args: {__text1: "run_{{ execution_id }}"}, code: "result = {'id': __text1}"

Old engines rendered code before Python saw it. The value is given as an arg, never put into the code. A string is taken
where every name in its braces is one that the playbook has there, args of the task too. In formatted strings,
docstrings, strings that are put together or formatted, and code that makes templates itself, the braces may be Python's
own: they stay, and are told.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import accumulate

from noetl_ir.expr import Expr, Filter, Literal, Name, Native, Template, Text, expressions_of
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.python_code import code_of, python_code
from noetlc.ast.walk import replace_steps
from noetlc.ast.workbook import pairs_of, template_of_pairs, workbook_name
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import expression_of, generated_name
from noetlc.expr.inside_blocks import has_blocks
from noetlc.expr.parser import parse_template
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import path
from noetlc.expr.templates import native, template_with
from noetlc.older.legacy_names import ROOTS, below
from noetlc.older.nearer import Nearer

_EVERYWHERE = frozenset({"execution_id", "workload", "ctx", "now"})
_TEXTS = frozenset({"execution_id", "now"})
"""Names whose values are texts."""
_MAKES_TEMPLATES = ("jinja", "Template", "render", "class ")
"""Words in code that makes templates of its own. `class` is one of them since Python gives names that begin with `__`
another form inside of a class, so that a generated arg would not be found."""


class _Known(NamedTuple):
    """The names that are known at a task: `names` bare, `args` behind `args.`, and `own`, the args of the task itself
    with their values.
    """

    names: frozenset[str]
    args: frozenset[str]
    own: Mapping[str, Expr]

    def has(self, expr: Expr) -> bool:
        """Whether every name of an expression is one of them."""
        roots = [(access.root.name, access.keys) for access in accesses(expr)]
        return bool(roots) and all(self._has(name, keys) for name, keys in roots)

    def _has(self, name: str, keys: tuple[str | int, ...]) -> bool:
        if name == "args":
            return bool(keys) and (keys[0] in self.own or keys[0] in self.args)
        if name == "job" and name not in self.names and name not in self.own:
            return keys[:1] in _RUN
        return name in self.names or name in self.own or name == "vars"

    def replaced(self, expr: Expr) -> Expr | None:
        """The meaning of a name that an arg of the task cannot read itself."""
        here = static_path(expr)
        if not here:
            return None
        if here[0] in self.own:
            return below(self.own[here[0]], here[1:])
        if here[0] == "args" and here[1:2] != () and here[1] in self.own:
            return below(self.own[here[1]], here[2:])
        if here[0] in self.names:
            return None
        if here[0] == "vars":
            return path("ctx", *here[1:])
        return Name("execution_id") if here[0] == "job" else None


_RUN = (("uuid",), ("id",), ("execution_id",))


def bind_texts(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook whose code has the texts that were meant."""
    nearer = Nearer(playbook)
    everywhere = _EVERYWHERE.union(nearer.everywhere, [step.name for step in playbook.steps])
    called = {
        key
        for step in playbook.steps
        for task in step.tasks
        if workbook_name(task) is not None
        for key in (*nearer.brought(step), *_own_args(task))
    }

    def bound(task: Task, names: frozenset[str], args: frozenset[str]) -> Task:
        made = _bound(task, names, args)
        if made is not task:
            span = next(value.span for name, value in task.fields if name == "code")
            record(Change("bind_texts", span, "a template in a string of code", "review", "an arg with its text"))
        return made

    def of_step(step: Step) -> Step:
        names = everywhere.union(nearer.within(step), [task.name for task in step.tasks])
        args = nearer.brought(step)
        return step._replace(tasks=tuple([bound(task, names, args) for task in step.tasks]))

    found = replace_steps(playbook, of_step)
    called_names = frozenset(called)
    workbook = tuple([(name, bound(task, everywhere | called_names, called_names)) for name, task in found.workbook])
    return found._replace(workbook=workbook)


def _own_args(task: Task) -> dict[str, Expr]:
    """The args of a task as expressions; those aside that only a place of their own gives."""
    pairs = {} if task.args is None else pairs_of(task.args.template) or {}
    found = {key: expression_of(template) for key, template in pairs.items() if not has_blocks(template)}
    return {key: expr for key, expr in found.items() if not any(a.root.name in _NOT_MOVED for a in accesses(expr))}


_NOT_MOVED = (ROOTS - {"vars"}) | {"keychain", "env", "token", "_prev"}
"""Names that are read where they stand: secrets, and old words that mean the result before."""


def _code(task: Task) -> str | None:
    """The code of a python task with braces in it, which gets its args by name."""
    code = code_of(task) if task.kind == "python" else None
    if code is None or "{{" not in code or any(word in code for word in _MAKES_TEMPLATES):
        return None
    is_open = task.args is None or pairs_of(task.args.template) is not None
    return code if is_open and python_code(code).error is None else None


def _bound(task: Task, names: frozenset[str], args: frozenset[str]) -> Task:
    code = _code(task)
    if code is None:
        return task
    own = {} if task.args is None else pairs_of(task.args.template) or {}
    known = _Known(names - own.keys(), args - own.keys(), _own_args(task))
    found: dict[str, Template] = {}
    parts, at = list[str](), 0
    for start, end, template in _texts(code, known):
        name = next((name for name, one in found.items() if one == template), None)
        name = name or generated_name(f"text{len(found) + 1}")
        found[name] = template
        before = " " if code[start - 1 : start].isalnum() else ""  # `return"…"`
        parts += [code[at:start], before, name, " " if code[end : end + 1].isalnum() else ""]
        at = end
    if not found:
        return task
    fields = tuple(
        (name, Value(Literal("".join([*parts, code[at:]])), value.span, None) if name == "code" else value)
        for name, value in task.fields
    )
    span = task.args.span if task.args is not None else task.name_span
    return task._replace(fields=fields, args=Value(template_of_pairs({**own, **found}), span, None))


def _texts(code: str, known: _Known) -> Iterator[tuple[int, int, Template]]:
    """Where strings with such braces stand, in order, and the template of each."""
    lines = code.encode().split(b"\n")
    begins = [0, *accumulate(len(line.decode()) + 1 for line in lines)]

    def place(line: int, column: int) -> int:
        return begins[line - 1] + len(lines[line - 1][:column].decode())

    found: list[tuple[int, int, Template]] = []
    for node in _strings(ast.parse(code)):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        template = _meant(str(node.value), known)
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


def _meant(text: str, known: _Known) -> Template | None:
    """The template that a string is; None where its braces have names that nothing declares, or none."""
    parsed = parse_template(text)
    if parsed.errors:
        return None
    exprs = expressions_of(parsed.template)
    if not exprs or not all(map(known.has, exprs)):
        return None
    made = template_with(parsed.template, known.replaced)
    match made:
        case Native(expr=expr):
            is_text = made is parsed.template and {access.root.name for access in accesses(expr)} <= _TEXTS
            return made if is_text else native(Filter(expr, "string", (), ()))
        case Text():
            return made
    return None
