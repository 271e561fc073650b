"""The static access paths of an expression: a root name and the keys that are written out behind it."""

from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.expr import Attribute, Call, Const, Expr, Item, Name, children
from noetl_ir.records import NamedTuple
from noetlc.ast.once import Once

AccessPath: TypeAlias = tuple[str | int, ...]
"""The root name, then keys."""


class Access(NamedTuple):
    """One use of a root name: the name, the keys written out behind it, and the whole chain.

    `nodes` has the node of each key. `dynamic` is the node of the key at which the path is cut, if one is
    computed; `called` whether the root name itself is called.
    """

    root: Name
    keys: tuple[str | int, ...]
    nodes: tuple[Expr, ...]
    dynamic: Expr | None
    called: bool


def _accesses(expr: Expr) -> Iterator[Access]:
    # A stack, pushed in reverse, gives the order of the text; findings and the goldens of `reads` depend on it.
    waiting: list[Expr] = [expr]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Call):
            # The name of a method is no key.
            inner: list[Expr] = list(children(here))
            if isinstance(here.callee, Attribute):
                inner[0] = here.callee.of
            elif isinstance(here.callee, Name):
                yield Access(here.callee, (), (), None, True)
                inner = inner[1:]
            waiting.extend(reversed(inner))
            continue
        if isinstance(here, (Name, Attribute, Item)):
            found, rest = _chain(here)
            if found is not None:
                yield found
            waiting.extend(reversed(rest))
            continue
        waiting.extend(reversed(children(here)))


accesses: Once[Expr, tuple[Access, ...]] = Once(lambda expr: tuple(_accesses(expr)))
"""Every use of a name in an expression, in the order of the text."""


def paths_read(expr: Expr) -> tuple[AccessPath, ...]:
    """The paths that the expression reads, sorted; one that begins with another of them is left out."""
    found = {(access.root.name, *access.keys) for access in accesses(expr) if not access.called}
    # What lies under a path comes with it, so that a reader of `ctx` and `ctx.a` needs `ctx` alone.
    kept = [path for path in found if not any(path[:size] in found for size in range(1, len(path)))]
    return tuple(sorted(kept, key=lambda path: [str(key) for key in path]))


def _chain(expr: Expr) -> tuple[Access | None, list[Expr]]:
    """The access that a chain of keys is, unless something else than a name is under it; and what to look at
    besides: computed keys, and that other thing."""
    links: list[tuple[str | int | None, Expr]] = []
    computed: list[Expr] = []
    here = expr
    while True:
        match here:
            case Attribute(of=of, name=name):
                links.append((name, here))
                here = of
            # Python takes True for the key 1, JSON does not: such a key counts as computed.
            case Item(of=of, key=Const(value=str() | int() as key)) if not isinstance(key, bool):
                links.append((key, here))
                here = of
            case Item(of=of, key=other):
                links.append((None, here))
                computed.append(other)
                here = of
            case _:
                break
    computed.reverse()
    if not isinstance(here, Name):
        return None, [here, *computed]
    links.reverse()
    keys: list[str | int] = []
    nodes: list[Expr] = []
    for link, node in links:
        if link is None:
            return Access(here, tuple(keys), tuple(nodes), node, False), computed
        keys.append(link)
        nodes.append(node)
    return Access(here, tuple(keys), tuple(nodes), None, False), computed
