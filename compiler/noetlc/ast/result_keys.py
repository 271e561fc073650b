"""The keys that the result of a task has, where its text says all of them: that of a `noop`, or of Python code."""

from functools import lru_cache
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from noetl_ir.expr import Literal, MapTemplate, Template
from noetlc.ast.playbook import Task
from noetlc.ast.python_code import code_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence


def result_keys_of(task: Task) -> frozenset[str] | None:
    """All keys that the result of a task may have; None where they are known at run time only, or there are none."""
    if task.kind == "noop":
        value = dict(task.fields).get("result")
        return keys_of(value.template) if value is not None else None
    code = code_of(task) if task.kind == "python" else None
    return python_result_keys(code) if code is not None else None


def keys_of(template: Template) -> frozenset[str] | None:
    """The keys of a mapping that is written out; None of anything else."""
    if isinstance(template, Literal) and isinstance(template.value, dict):
        return frozenset(map(str, template.value))
    return frozenset(key for key, _ in template.items) if isinstance(template, MapTemplate) else None


_MANY = 1 << 10


@lru_cache(_MANY)
def python_result_keys(text: str) -> frozenset[str] | None:
    """All keys that the result of the program may have; None where they are not known from the text. Never raises."""
    import ast

    try:
        with catch_warnings():
            simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    mains = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    main = next((node for node in mains if node.name == "main"), None)
    if main is not None:
        named = any(isinstance(node, ast.Name) and node.id == "result" for node in _own(tree.body))
        # A program with both `main` and `result` gives what the run decides.
        return None if named else _keys_of(_returned(main.body))
    if any(isinstance(node, ast.Return) for node in _own(tree.body)):
        return None if _stores(tree.body, "result") else _keys_of(_returned(tree.body))
    return _assigned(tree.body)


def _returned(body: "list[ast.stmt]") -> "list[ast.expr | None]":
    """The values that the `return`s of a body give; with one that is no mapping written out where the end may be
    reached.
    """
    import ast

    found: list[ast.expr | None] = [node.value for node in _own(body) if isinstance(node, ast.Return)]
    ends = isinstance(body[-1], ast.Return | ast.Raise) if body else False
    # A body that may be left at its end gives null there, which has no keys.
    return found if ends or _ends_inside(body) else [*found, None]


def _ends_inside(body: "list[ast.stmt]") -> bool:
    """Whether the last statement returns or raises on all its ways, as far as it is quick to see."""
    import ast

    match body[-1] if body else None:
        case ast.If(body=yes, orelse=no):
            return _ends_inside(yes) and _ends_inside(no)
        case ast.Try(body=tried, handlers=handlers, orelse=[]):
            return _ends_inside(tried) and all(_ends_inside(handler.body) for handler in handlers)
        case ast.With(body=inner):
            return _ends_inside(inner)
        case ast.Return() | ast.Raise():
            return True
    return False


def _assigned(body: "list[ast.stmt]") -> frozenset[str] | None:
    """The keys of `result`, which is assigned mappings and never touched otherwise."""
    import ast

    values: list[ast.expr | None] = []
    seen = 0
    for node in _own(body):
        match node:
            case ast.Assign(targets=[ast.Name(id="result")], value=value):
                values.append(value)
            case ast.Name(id="result"):
                seen += 1
            case ast.Name(id=name) if name in _BY_NAME:
                return None
    # Each assignment holds the name once; any further use may add keys, in a function too.
    is_touched = seen != len(values) or any(_reaches(node) for node in _inner(body))
    return _keys_of(values) if values and not is_touched else None


_BY_NAME = frozenset({"globals", "locals", "vars", "exec", "eval"})
"""Functions by which code may reach `result` without its name."""


def _inner(body: "list[ast.stmt]") -> "Iterator[ast.AST]":
    """The functions and classes in statements, at any depth."""
    import ast

    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                yield node


def _reaches(node: "ast.AST") -> bool:
    """Whether a function may change the `result` that is not its own."""
    import ast

    within = _own([*ast.iter_child_nodes(node)])
    if any(isinstance(each, ast.Global | ast.Nonlocal) and "result" in each.names for each in within):
        return True
    named = [each for each in within if isinstance(each, ast.Name) and each.id == "result"]
    is_own = any(isinstance(each, ast.arg) and each.arg == "result" for each in within) or any(
        isinstance(each.ctx, ast.Store) for each in named
    )
    return bool(named) and not is_own


def _stores(body: "list[ast.stmt]", name: str) -> bool:
    import ast

    return any(isinstance(node, ast.Name) and node.id == name for node in _own(body))


def _keys_of(values: "list[ast.expr | None]") -> frozenset[str] | None:
    """The keys of all mappings that are given; None where one is not written out with keys that are texts."""
    import ast

    found: set[str] = set()
    for value in values:
        if not isinstance(value, ast.Dict):
            return None
        for key in value.keys:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found.add(key.value)
    return frozenset(found) if values else None


def _own(body: "Sequence[ast.AST]") -> "list[ast.AST]":
    """The nodes of statements without those inside of functions and classes, which give a value elsewhere; a function
    that names `result` as its own stays out too.
    """
    import ast

    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found
