"""The data of signals and the items that they bring, made of what the playbook reads of them."""

from __future__ import annotations

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Compare, Const, Item, Json, expressions_of, walk
from noetl_ir.paths import static_path
from noetl_ir.plan import Plan

_TEXT = "a"
"""A value of which nothing is known but that it is read."""


def item_of(plan: Plan, step: int) -> Json:
    """An item with all that is read of those of a step's loops; None where nothing is."""
    return _tree(plan, {each.iterator for each in plan.steps[step].loops})


def data_of(plan: Plan) -> Json:
    """Data with all that is read below a name `data`; None where nothing is."""
    return _tree(plan, {"data"})


def _tree(plan: Plan, names: set[str]) -> Json:
    tree: dict[str, Json] = {}
    for path, value in _read(plan):
        at = next((number for number, name in enumerate(path) if name in names), len(path))
        below, here = path[at + 1 :], tree
        for key in below[:-1]:
            inner = here.get(key)
            here[key] = inner = inner if isinstance(inner, dict) else {}
            here = inner
        # What is compared is known better than what is only read.
        if below and here.get(below[-1], _TEXT) == _TEXT:
            here[below[-1]] = value
    return tree or None


def _read(plan: Plan) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The paths that expressions of a plan read, each with a value under which a comparison holds."""
    for template in plan.templates:
        for expr in expressions_of(template):
            for part in walk(expr):
                if isinstance(part, Compare) and len(part.rest) == 1 and isinstance(part.rest[0][1], Const):
                    yield static_path(part.first), _under(part.rest[0][0], part.rest[0][1].value)
                elif isinstance(part, Attribute | Item):
                    yield static_path(part), _TEXT


def _under(op: str, value: Json) -> Json:
    """A value that is in such a relation to another one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + {">": 1, "<": -1, "!=": 1}.get(op, 0)
    return f"{value}?" if op == "!=" else value
