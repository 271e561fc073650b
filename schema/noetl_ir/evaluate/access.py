"""The value under a key, and the closed list of methods. No Python attribute is reachable from here."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from noetl_ir.evaluate.limits import check_chars, check_items
from noetl_ir.evaluate.work import spend, spend_hash, spend_search, spend_strip, spend_text
from noetl_ir.expr import Attribute, Const, Expr, Item, Name
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetl_ir.scopes.values import Fault, ResultView, Sealed, Undefined, key_text, refuse_marker

_SQL_KEYS = frozenset({"rows", "row_count", "columns"})
PASSING = frozenset({"d", "default", "join", "safe", "string"})
"""Filters that leave a text as it is, a hidden secret too."""
_STATEMENT = LatePattern(r"command_\d+(_rows)?", re.ASCII)
"""The keys that a SQL result has besides, where it has those of each statement."""


class Group(NamedTuple):
    """A group of the filter `groupby`: a pair whose parts have names too."""

    grouper: object
    list: list[object]

    def __repr__(self) -> str:
        return tuple.__repr__(self)


def item(of: object, key: object) -> object:
    """`of[key]` and `of.key`: the value under the key, else undefined. Raises Fault for a secret only."""
    if isinstance(of, ResultView):
        found = of.under(key)
        # A view answers for keys of its own, such as `stats` of a loop's result; any other key is the data's.
        if found is not None:
            return found
        of = of.plain()
    if isinstance(of, dict):
        try:
            return of[key]
        # TypeError: a list as a key. It is in no mapping, so it is undefined and no fault, as in Jinja2.
        except (KeyError, TypeError):
            # An SQL result answers to row numbers (LANGUAGE §7).
            if type(key) is int and (rows := rows_of(of)) is not of:
                return item(rows, key)
    elif isinstance(of, (list, tuple, str, range)):
        if isinstance(key, int):
            try:
                return of[key]
            except IndexError:
                pass
        elif isinstance(of, Group) and key in ("grouper", "list"):
            return of.grouper if key == "grouper" else of.list
    elif isinstance(of, Undefined):
        return of.inside(key)
    elif isinstance(of, Sealed):
        str(of)  # raises
    return Undefined(f"…{key_text(key)}")


def rows_of(value: object) -> object:
    """The rows of an SQL result, which is these wherever entries are asked for (LANGUAGE §7); else the value itself."""
    if not isinstance(value, dict) or not value.keys() >= _SQL_KEYS or not isinstance(value["rows"], list):
        return value
    spend(8 * len(value))
    is_result = all(key in _SQL_KEYS or _STATEMENT.fullmatch(str(key)) for key in value)
    return value["rows"] if is_result else value


def method(of: object, name: str, args: tuple[object, ...], named: Mapping[str, object]) -> object:
    """`of.name(args, **named)`. Raises Fault for a value without that method."""
    if isinstance(of, Undefined):
        raise of.inside(name).fault()
    if isinstance(of, Sealed):
        str(of)  # raises
    refuse_marker(of)
    found = METHOD_TABLE.get((type(of), name))
    if found is None:
        raise Fault("template.error", f"{kind_of(of)} has no method `{name}`")
    return found(of, *args, **named)


def kind_of(value: object) -> str:
    """The kind of a value, in words for a message."""
    if isinstance(value, Undefined):
        return "an undefined value"
    return _KINDS.get(type(value), "such a value")


def replaced(text: str, old: str, new: str, count: int = -1, /) -> str:
    """`text.replace(old, new, count)`."""
    if isinstance(old, str) and isinstance(new, str):
        spend_search(text, old)
        found = text.count(old)
        length = len(text) + found * max(len(new) - len(old), 0)
        check_chars(length)
        spend(found)
        spend_text(length)
        spend_search(text, old)
    return text.replace(old, new, count)


def stripped(text: str, chars: str | None = None, /) -> str:
    """`text.strip(chars)`."""
    spend_strip(text, chars)
    return text.strip(chars)


def _join(text: str, parts: Any, /) -> str:
    if isinstance(parts, (str, list, tuple, dict, range)):
        check_items(len(parts))
        spend(3 * len(parts))
    pieces = list(parts)
    check_items(len(pieces))
    length = len(text) * len(pieces) + sum(len(piece) for piece in pieces if isinstance(piece, str))
    check_chars(length)
    spend_text(length)
    return text.join(pieces)


def _split(text: str, *args: Any, **named: Any) -> list[str]:
    sep = args[0] if args else named.get("sep")
    if isinstance(sep, str):
        spend_search(text, sep)
        check_items(text.count(sep) if sep else 0)
    spend_text(len(text), 4)
    return text.split(*args, **named)


def _get(mapping: dict[object, object], *args: Any) -> object:
    spend_hash(args[0] if args else None)
    return mapping.get(*args)


def _starts(apply: Callable[..., object]) -> Callable[..., object]:
    """A method of a text that looks at one end of it."""

    def applied(text: str, part: Any, *args: Any) -> object:
        for sought in part if isinstance(part, tuple) else (part,):
            spend(2)
            spend_text(len(sought) if isinstance(sought, str) else 0)
        return apply(text, part, *args)

    return applied


def _one_pass(apply: Callable[..., object]) -> Callable[..., object]:
    """A method of a text that goes over it once, at the price of the hardest characters."""

    def applied(text: str) -> object:
        spend_text(len(text), 2)
        return apply(text)

    return applied


METHOD_TABLE: dict[tuple[type, str], Callable[..., object]] = {
    (dict, "get"): _get,
    (dict, "keys"): dict.keys,
    (dict, "values"): dict.values,
    (dict, "items"): dict.items,
    (str, "split"): _split,
    (str, "strip"): stripped,
    (str, "lower"): _one_pass(str.lower),
    (str, "upper"): _one_pass(str.upper),
    (str, "startswith"): _starts(str.startswith),
    (str, "endswith"): _starts(str.endswith),
    (str, "replace"): replaced,
    (str, "join"): _join,
}
_KINDS: dict[type, str] = {
    str: "a text", int: "a number", float: "a number", bool: "a boolean", type(None): "null", list: "a list",
    tuple: "a list", dict: "a mapping", range: "a range",
}  # fmt: skip


def path_of(expr: Expr) -> tuple[str | int, ...] | None:
    """The root name and the keys of an expression that is a plain path, else None."""
    keys: list[str | int] = []
    while True:
        match expr:
            case Name(name=name):
                return (name, *reversed(keys))
            case Attribute(of=of, name=key):
                keys.append(key)
                expr = of
            case Item(of=of, key=Const(value=int() | str() as value)) if not isinstance(value, bool):
                keys.append(value)
                expr = of
            case _:
                return None
