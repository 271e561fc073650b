"""Python text as the `python` kind runs it: is it Python, and which names does it use that nothing binds."""

import builtins
from functools import lru_cache
from symtable import symtable
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from noetl_ir.expr import Literal
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Task

if TYPE_CHECKING:
    import ast


_MANY = 1 << 15
"""How many programs are remembered: rules ask one after another, so all of a file must be among them."""


class PythonName(NamedTuple):
    """A name used in the code; line from 1, column from 0 in code points."""

    name: str
    line: int
    column: int


class PythonCode(NamedTuple):
    """`error` is None where the text is Python; `free` are the names it uses and nowhere binds, each once; `gives` says
    that it sets `result`, returns, or defines `main`.
    """

    error: PythonName | None
    free: tuple[PythonName, ...]
    gives: bool = True


@lru_cache(_MANY)
def python_code(text: str) -> PythonCode:
    """The facts about a text of Python; never raises. A name bound anywhere in it counts as bound."""
    try:
        with catch_warnings():
            simplefilter("ignore")  # odd escapes are the author's business
            # The interpreter's table of symbols costs a fraction of a tree, and nearly all code needs no more.
            return _COMPLETE if _is_complete(text) else _examined(text)
    except SyntaxError as error:
        return PythonCode(PythonName(error.msg, error.lineno or 1, max((error.offset or 1) - 1, 0)), ())
    # Python's parser raises these for null characters and for code that nests too deep; the text is anybody's.
    except (ValueError, RecursionError, MemoryError) as error:
        return PythonCode(PythonName(str(error), 1, 0), ())


_COMPLETE = PythonCode(None, ())
_RESULTS = ("result", "main")


def _is_complete(text: str) -> bool:
    """Whether every name is bound and a result is given, by the interpreter's own table: quick, and right for nearly
    all programs.
    """
    try:
        module = symtable(text, "code", "exec")
    except SyntaxError:  # a `return` outside of functions is legal here
        return False
    names = module.get_identifiers()
    if not any(name in names and module.lookup(name).is_assigned() for name in _RESULTS):
        return False
    waiting = [module]
    bound: set[str] = set()
    used: set[str] = set()
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        for name in table.get_identifiers():
            if hasattr(builtins, name):
                continue
            symbol = table.lookup(name)
            # Scopes are put together: a name that is bound anywhere counts, so that no code that runs is blamed.
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter():
                bound.add(name)
            else:
                used.add(name)
    return used <= bound


def _examined(text: str) -> PythonCode:
    import ast  # half of what a small lint takes, and seldom needed

    tree = ast.parse(text)
    return PythonCode(None, _free(tree, text), _gives(tree))


def _gives(tree: "ast.Module") -> bool:
    """Whether the code gives a result; code that makes its names itself may, and code that ends by raising need not."""
    import ast

    if tree.body and isinstance(tree.body[-1], ast.Raise):
        return True
    # `outermost` says that no function is around: a `return` in a nested function gives no result of the task.
    waiting: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body]
    while waiting:
        node, outermost = waiting.pop()
        match node:
            case ast.Return() if outermost:
                return True
            case ast.Name(id="result", ctx=ast.Store()) | ast.alias(name="*") if outermost:
                return True
            case ast.alias(name=name, asname=alias) if outermost and (alias or name) in _RESULTS:
                return True
            # Such code can set any name at run time.
            case ast.Name(id="globals" | "exec") | ast.Global(names=["result", *_]):
                return True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if outermost and name in _RESULTS:
                    return True
                outermost = False
            case ast.Lambda():
                outermost = False
        waiting += [(child, outermost) for child in ast.iter_child_nodes(node)]
    return False


def _free(tree: "ast.Module", text: str) -> tuple[PythonName, ...]:
    import ast

    used: dict[str, ast.Name] = {}
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.setdefault(name, node)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            # `from x import *` may bind anything.
            case ast.alias(name="*"):
                return ()
            case ast.alias(name=name, asname=alias):
                bound.add(alias or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
    if used.keys() & {"globals", "exec"}:
        return ()
    return tuple(
        place_of(text, name, node.lineno, node.col_offset)
        for name, node in used.items()
        if name not in bound and not hasattr(builtins, name)
    )


def code_of(task: Task) -> str | None:
    """The program of a python task; None where it is not known before the run."""
    for name, value in task.fields:
        match value.template:
            case Literal(value=str(text)) if name == "code":
                return text
            case Literal(value=str(text)) if name == "code_b64":
                return _decoded(text)
            case Literal(value={"source": {"type": "inline", "code": str(text)}}) if name == "script":
                return text
    return None


def _decoded(text: str) -> str | None:
    from base64 import b64decode

    try:
        # Strictly, since a worker reads it so: what it would refuse is no code to look at here.
        return b64decode(text, validate=True).decode("utf-8")
    except ValueError:
        return None


def place_of(text: str, name: str, line: int, column: int) -> PythonName:
    """A place that Python counts in bytes of its line."""
    lines = text.split("\n")
    # Python's tree counts columns in bytes of UTF-8; findings count characters.
    before = lines[line - 1].encode()[:column] if line <= len(lines) else b""
    return PythonName(name, line, len(before.decode(errors="ignore")))


def offset_of(text: str, place: PythonName) -> int:
    """Where a place stands in the text, in code points."""
    start = 0
    for _ in range(place.line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    return min(start + place.column, len(text))
