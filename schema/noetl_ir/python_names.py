"""The names that code of the kind `python` finds bound beside its args, and which of them a text reads (LANGUAGE §7).

The compiler asks which results a step's code may read, the worker what its subprocess is told. An arg of any name
goes over every name here.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from noetl_ir.rows import NamedTuple

if TYPE_CHECKING:
    import ast

INPUTS = ("input_data", "args", "input", "data")
"""All of them are the mapping of all args."""
STATE = ("ctx", "iter", "workload", "execution_id")
CONTEXT = "context"
"""The mapping of everything that an expression could name where the task stands."""
MODULES = ("json", "os", "datetime", "uuid")
"""Bound where code uses them without an import."""
MAIN = "main"

_OURS = frozenset({*INPUTS, *STATE, CONTEXT, *MODULES, MAIN})
_WORD = re.compile(r"\w+")


class ContextKey(NamedTuple):
    """A literal key of `context`; line from 1, column from 0 in bytes.

    `use` is `get` with a default, `test` for `in`, else `read`.
    """

    name: str
    line: int
    column: int
    use: str


class Parameter(NamedTuple):
    """A parameter of `main` that is bound by name; line from 1, column from 0 in bytes."""

    name: str
    line: int
    column: int
    optional: bool


class PythonReads(NamedTuple):
    """What a text reads of the names above.

    `words` are those that occur in it, `parameters` the names that `main` asks for, `keys` the literal keys of
    `context`; None where any may be read. `rebound` says that the code has something of its own called `context`.
    """

    words: frozenset[str]
    parameters: tuple[Parameter, ...] = ()
    keys: tuple[ContextKey, ...] | None = ()
    rebound: bool = False


def words_of(code: str) -> set[str]:
    """Every word of a text: a name that is not among them is not read."""
    return set(_WORD.findall(code))


@lru_cache(1024)
def python_reads(code: str) -> PythonReads:
    """What a text reads; never raises, and says too much rather than too little."""
    words = _OURS.intersection(_WORD.findall(code))
    if MAIN not in words and CONTEXT not in words:
        return PythonReads(words)
    import ast  # seldom needed, and not quick to import

    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonReads(words, (), None if CONTEXT in words else ())
    parameters = _parameters(tree) if MAIN in words else ()
    keys, rebound = _keys(tree) if CONTEXT in words else ((), False)
    return PythonReads(words, parameters, keys, rebound)


def _parameters(tree: "ast.Module") -> tuple[Parameter, ...]:
    """What the functions called `main` ask for; of a `main` that is no function of the text, whatever any asks for."""
    import ast

    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == MAIN
    ]
    if functions:
        return tuple(parameter for function in functions for parameter in _asked(function.args))
    if any(isinstance(node, ast.Name) and node.id == MAIN for node in ast.walk(tree)) or _names_main(tree):
        return tuple(
            Parameter(node.arg, node.lineno, node.col_offset, True)
            for node in ast.walk(tree)
            if isinstance(node, ast.arg)
        )
    return ()


def _names_main(tree: "ast.Module") -> bool:
    import ast

    return any(isinstance(node, ast.ClassDef) and node.name == MAIN for node in ast.walk(tree))


def _asked(arguments: "ast.arguments") -> list[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    found = [Parameter(arg.arg, arg.lineno, arg.col_offset, at >= required) for at, arg in enumerate(positional)]
    return found + [
        Parameter(arg.arg, arg.lineno, arg.col_offset, default is not None)
        for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]


def _keys(tree: "ast.Module") -> tuple[tuple[ContextKey, ...] | None, bool]:
    """The literal keys of `context`, None where it is used in any other way; whether the code binds that name."""
    import ast

    found: list[ContextKey] = []
    loads = literal = 0
    rebound = False
    of_main = {id(arg) for node in ast.walk(tree) for arg in _arguments_of_main(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="context", ctx=ast.Load()):
                loads += 1
            case ast.Name(id="context") | ast.alias(name="context", asname=None) | ast.alias(asname="context"):
                rebound = True
            case ast.arg(arg="context"):
                rebound = rebound or id(node) not in of_main
            case ast.Subscript(value=ast.Name(id="context"), slice=ast.Constant(value=str(key)) as at, ctx=ast.Load()):
                found.append(ContextKey(key, at.lineno, at.col_offset, "read"))
                literal += 1
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="context"), attr="get"),
                args=[ast.Constant(value=str(key)) as at, *rest],
                keywords=[],
            ):
                found.append(ContextKey(key, at.lineno, at.col_offset, "get" if rest else "read"))
                literal += 1
            case ast.Compare(
                left=ast.Constant(value=str(key)) as at,
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Name(id="context")],
            ):
                found.append(ContextKey(key, at.lineno, at.col_offset, "test"))
                literal += 1
    return (tuple(found) if loads == literal else None), rebound


def _arguments_of_main(node: "ast.AST") -> "list[ast.arg]":
    import ast

    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == MAIN:
        return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return []
