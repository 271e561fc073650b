"""The names that code of the kind `python` finds bound beside its args, and which of them a text reads (LANGUAGE §7).

The compiler asks which results a step's code may read, the worker what its subprocess is told. An arg of any name
goes over every name here.
"""

import re
from functools import lru_cache
from symtable import Function, symtable
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from noetl_ir.records import NamedTuple

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
    """A parameter without a default; line from 1, column from 0 in bytes."""

    name: str
    line: int
    column: int


class PythonReads(NamedTuple):
    """The names that python code may read of those that it finds bound.

    `words` are those of them that occur in the text, `parameters` the parameters of `main`, `literal` the literal keys
    of `context`; unless `all_keys` is true, any other key may be read, too. `rebound` says that the code binds the name
    `context` itself.
    """

    words: frozenset[str]
    parameters: frozenset[str] = frozenset()
    literal: tuple[ContextKey, ...] = ()
    all_keys: bool = True
    rebound: bool = False

    @property
    def keys(self) -> set[str] | None:
        """The keys of `context` that may be read; None for any."""
        return {key.name for key in self.literal} if self.all_keys else None


def words_of(code: str) -> set[str]:
    """Every word of a text: a name that is not among them is not read."""
    return set(_WORD.findall(code))


@lru_cache(1024)
def python_reads(code: str) -> PythonReads:
    """The names that a text reads; never raises, and says too much rather than too little."""
    # Words first: nearly all code names neither `main` nor `context`, and needs no parse.
    words = _OURS.intersection(_WORD.findall(code))
    if MAIN not in words and CONTEXT not in words:
        return PythonReads(words)
    with catch_warnings():
        simplefilter("ignore")  # odd escapes are the author's business
        parameters = _parameters(code) if MAIN in words else frozenset[str]()
        return PythonReads(words, parameters, *(_keys(code) if CONTEXT in words else ()))


def _parameters(code: str) -> frozenset[str]:
    """The parameters that the functions called `main` ask for; where `main` is made in another way, what any function
    asks for.

    Nothing where the text is no Python, and where a `return` at its top makes it one that never calls `main`.
    """
    try:
        tables = [symtable(code, "code", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    for table in tables:
        tables += table.get_children()
    functions = [table for table in tables if isinstance(table, Function)]
    own = [table for table in functions if table.get_name() == MAIN]
    # `main = other` makes any function the one that is called.
    return frozenset(name for table in own or functions for name in table.get_parameters())


def required_parameters(code: str) -> tuple[Parameter, ...]:
    """The parameters without a default of the functions called `main`, each with its place; none of no Python."""
    import ast  # slow to import, so only for findings

    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == MAIN:
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            found += positional[: len(positional) - len(arguments.defaults)]
            named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            found += [argument for argument, default in named if default is None]
    return tuple(Parameter(node.arg, node.lineno, node.col_offset) for node in found)


def _keys(code: str) -> tuple[tuple[ContextKey, ...], bool, bool]:
    """The literal keys of `context`; whether it is used in no other way; whether the code binds that name."""
    import ast

    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (), False, False  # any key may be read
    found: list[ContextKey] = []
    loads = 0
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
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="context"), attr="get"),
                args=[ast.Constant(value=str(key)) as at, *rest],
                keywords=[],
            ):
                found.append(ContextKey(key, at.lineno, at.col_offset, "get" if rest else "read"))
            case ast.Compare(
                left=ast.Constant(value=str(key)) as at,
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Name(id="context")],
            ):
                found.append(ContextKey(key, at.lineno, at.col_offset, "test"))
    # Each literal use is one load; any other load, as `context` handed to a function, may read every key.
    return tuple(found), loads == len(found), rebound


def _arguments_of_main(node: "ast.AST") -> "list[ast.arg]":
    import ast

    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == MAIN:
        return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return []
