"""Paths in expressions: chains of keys, as `workload.rows[0].id`."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from noetl_ir.expr import Attribute, Const, Expr, Item, Name, walk

_Path = TypeVar("_Path")


def static_path(expr: Expr) -> tuple[str, ...]:
    """The names of a chain of keys that are written out; () for any other expression."""
    keys: list[str] = []
    while True:
        match expr:
            case Attribute(of=of, name=name):
                keys.append(name)
            case Item(of=of, key=Const(value=str(name))):
                keys.append(name)
            case Name(name=name):
                return (name, *reversed(keys))
            case _:
                return ()
        expr = of


def paths_in(expr: Expr, path_of: Callable[[Expr], _Path | None]) -> Iterator[_Path]:
    """The paths in an expression, outermost first, as `path_of` reads them (None for what is none): of `a.b.c` the
    whole, and not `a` and `a.b`, which are parts of it.
    """
    inner: set[int] = set()
    for here in walk(expr):
        # By identity: equal nodes stand at several places, and only those within a path are parts of it.
        path = None if id(here) in inner else path_of(here)
        if path is None:
            continue
        while isinstance(here, Attribute | Item):
            here = here.of
            inner.add(id(here))
        yield path
