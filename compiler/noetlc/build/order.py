"""The order in which the workload's values are rendered: what a value reads comes before it (LANGUAGE §1)."""

from collections.abc import Iterator, Mapping

from noetl_ir.expr import Attribute, Block, Const, Expr, Item, Literal, Name, Template, expressions_of, walk
from noetlc.ast.playbook import Playbook


def workload_order(playbook: Playbook) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys in an order fit to render, and the keys of one cycle where there is none (else empty).

    Keys that do not depend on each other keep the order of the file. A value that reads the whole workload
    reads every other key.
    """
    keys = dict(playbook.workload)
    reads = {key: _reads(value.template, keys) for key, value in playbook.workload}
    order: list[str] = []
    state: dict[str, bool] = {}  # key → whether it is done; there while it is being visited
    for key in keys:
        path = [(key, iter(reads[key]))] if key not in state else []
        if path:
            state[key] = False
        while path:
            here, rest = path[-1]
            inner = next(rest, None)
            if inner is None:
                path.pop()
                state[here] = True
                order.append(here)
            elif inner not in state:
                state[inner] = False
                path.append((inner, iter(reads[inner])))
            elif not state[inner]:
                names = [name for name, _ in path]
                return (), tuple(names[names.index(inner) :])
    return tuple(order), ()


def _reads(template: Template, keys: Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(template, Literal | Block):
        return ()
    found = {key for expr in expressions_of(template) for key in _keys(expr, keys)}
    return tuple([key for key in keys if key in found])


def _keys(expr: Expr, keys: Mapping[str, object]) -> Iterator[str]:
    inside: set[int] = set()
    for node in walk(expr):
        match node:
            case (
                Attribute(of=Name(name="workload") as of, name=key)
                | Item(of=Name(name="workload") as of, key=Const(value=str(key)))
            ):
                inside.add(id(of))
                if key in keys:
                    yield key
            case Name(name="workload") if id(node) not in inside:
                yield from keys
            case Name(name=name) if name in keys:
                yield name
            case _:
                pass
