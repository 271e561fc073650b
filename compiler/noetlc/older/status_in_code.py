"""Readings of values by the python code that is given them: as texts, numbers, mappings.

    if state == 'active': …          `state` is compared with a word
    if args['code'] >= 400: …        `args.code` is a number

Values are followed by name through keys and plain assignments only; what is computed says nothing.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias
from warnings import catch_warnings, simplefilter

from noetlc.older.http_status import KEYS, NUMBER, TEXT, TEXT_METHODS, Evidence

_Path: TypeAlias = tuple[str, ...]


@lru_cache(64)
def evidence_in_code(code: str) -> tuple[tuple[_Path, Evidence], ...]:
    """The paths that some code reads, each with what it takes the value for; empty where the text is no Python."""
    try:
        with catch_warnings():
            simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    nodes = list(ast.walk(tree))
    local = _locals(nodes)
    found = ((_path(of, local), said) for node in nodes for of, said in _said(node))
    return tuple((path, said) for path, said in found if path)


def _locals(nodes: list[ast.AST]) -> dict[str, _Path]:
    """The names that stand for one other value each."""
    found: dict[str, _Path] = {}
    several = set[str]()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in several:
                path = _path(value, {})
                if name in found or not path or path == (name,):
                    several.add(name)
                found[name] = path
    return {name: path for name, path in found.items() if name not in several}


def _path(node: ast.AST, local: dict[str, _Path]) -> _Path:
    """The names and keys by which a value is read; empty for any other value."""
    keys: list[str] = []
    while True:
        match node:
            case ast.Subscript(value=of, slice=ast.Constant(value=str(key))):
                keys.append(key)
            case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[ast.Constant(value=str(key)), *_]):
                keys.append(key)
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in TEXT_METHODS:
                pass
            case ast.Call(func=ast.Name(id="str"), args=[of]):
                pass
            case ast.BoolOp(op=ast.Or(), values=[of, *_]):
                pass
            case ast.Name(id=name):
                return (*local.get(name, (name,)), *reversed(keys))
            case _:
                return ()
        node = of


def _said(node: ast.AST) -> Iterator[tuple[ast.AST, Evidence]]:
    """The values below a node, with what it takes them for."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=rights):
            for op, right in zip(ops, rights, strict=True):
                yield from _compared(left, op, right)
                left = right
        case ast.Call(func=ast.Name(id="int" | "float"), args=[of]):
            yield of, NUMBER
        case ast.Call(func=ast.Name(id="isinstance"), args=[of, ast.Name(id="str")]):
            yield of, TEXT
        case ast.Call(func=ast.Name(id="isinstance"), args=[of, ast.Name(id="int" | "float")]):
            yield of, NUMBER
        case ast.Call(func=ast.Attribute(value=of, attr=name)):
            yield of, TEXT if name in TEXT_METHODS else KEYS
        case ast.Subscript(value=of, slice=ast.Constant(value=str())):
            yield of, KEYS
        case ast.BinOp(op=ast.Sub() | ast.FloorDiv() | ast.Div(), left=left, right=right):
            yield left, NUMBER
            yield right, NUMBER
        case ast.Match(subject=of, cases=cases):
            yield from ((of, said) for case in cases for said in _matched(case.pattern))


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[tuple[ast.AST, Evidence]]:
    for one, other in ((left, right), (right, left)):
        values = _constants(other)
        if isinstance(op, ast.In | ast.NotIn) and one is right:
            if values and all(isinstance(value, str) for value in values):
                yield one, TEXT
        elif values and all(isinstance(value, str) for value in values):
            yield one, Evidence(frozenset([str(value).lower() for value in values]))
        elif values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            yield one, NUMBER


def _constants(node: ast.expr) -> list[object]:
    """The constants that a node is, or lists."""
    match node:
        case ast.Constant(value=value):
            return [value]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [item.value if isinstance(item, ast.Constant) else None for item in items]
        case ast.Dict(keys=keys):
            return [key.value if isinstance(key, ast.Constant) else None for key in keys]
        case ast.Call(func=ast.Name(id="range")):
            return [0]
    return []


def _matched(pattern: ast.pattern) -> Iterator[Evidence]:
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=str(word))):
            yield Evidence(frozenset({word.lower()}))
        case ast.MatchValue(value=ast.Constant(value=int() | float())):
            yield NUMBER
        case ast.MatchOr(patterns=patterns):
            for each in patterns:
                yield from _matched(each)
