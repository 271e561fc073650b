"""The filters that apply a filter or a test to every entry, the table of all filters, and that of their prices."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from noetl_ir.evaluate.access import rows_of
from noetl_ir.evaluate.data_filters import DATA_FILTERS, Getter, getter
from noetl_ir.evaluate.limits import MAX_ITEMS
from noetl_ir.evaluate.links import urlize
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.text_filters import TEXT_FILTERS
from noetl_ir.evaluate.work import SHORT_TEXT, VIEW_TYPES, spend
from noetl_ir.scopes.values import Fault

# A filter spends its price before it begins, by the lengths of what it is given (`noetl_ir.evaluate.work`). The table
# has every filter: one that is missing in it cannot be offered. What a filter costs besides, by what it finds in a
# value, it spends itself. The prices are those of the worst values: of text all words of one letter, all marks that
# are replaced, or all characters of four bytes.
_Filter: TypeAlias = Callable[..., object]

_SIZED = frozenset({list, tuple, dict, range, *VIEW_TYPES})

_FREE = (0, 0)
PRICES: dict[str, tuple[int, int]] = {
    "abs": _FREE, "b64decode": (2, 0), "b64encode": (4, 0), "batch": (32, 4), "capitalize": (8, 0), "center": (4, 0),
    "count": _FREE, "d": _FREE, "default": _FREE, "dictsort": (0, 12), "e": (16, 0), "escape": (16, 0),
    "filesizeformat": (4, 0), "first": _FREE, "float": (4, 0), "forceescape": (16, 0), "format": (4, 0),
    "fromjson": (16, 0), "groupby": (32, 40), "indent": (32, 0), "int": (4, 0), "items": (0, 3), "join": (64, 8),
    "last": _FREE, "length": _FREE, "list": (8, 1), "lower": (8, 0), "map": (320, 20), "max": (320, 20),
    "min": (320, 20), "pprint": (64, 0), "reject": (320, 20), "rejectattr": (320, 20), "replace": (0, 0),
    "reverse": (4, 2), "round": _FREE, "safe": _FREE, "select": (320, 20), "selectattr": (320, 20), "slice": (32, 4),
    "sort": (320, 20), "string": _FREE, "striptags": (64, 0), "sum": (320, 12), "title": (48, 0), "tojson": (8, 0),
    "trim": (4, 0), "truncate": (4, 0), "unique": (320, 20), "upper": (8, 0), "urlencode": (64, 0),
    "urlize": (400, 0), "wordcount": (32, 0), "wordwrap": (160, 0), "xmlattr": (0, 80),
}  # fmt: skip
"""Filter → sixteenths of a unit for a character of a text, and units for an entry of a list or mapping. Texts whose
entries are their characters count as such; what text a list becomes is spent where it is made."""


def charged(name: str, apply: _Filter) -> _Filter:
    """The filter, which spends its price first: for what it is applied to, and for texts among its arguments."""
    by_char, by_entry = PRICES[name]
    if not by_char and not by_entry:
        return apply

    def run(value: Any, /, *args: Any, **kwargs: Any) -> object:
        kind = type(value)
        if kind is str:
            if len(value) > SHORT_TEXT:
                spend(len(value) * by_char >> 4)
        elif kind in _SIZED:
            spend(len(value) * by_entry)
        if args or kwargs:
            for argument in (*args, *kwargs.values()):
                if type(argument) is str and len(argument) > SHORT_TEXT:
                    spend(len(argument) * by_char >> 4)
        return apply(value, *args, **kwargs)

    return run


def map_(value: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[object]:
    if not value:
        return
    if not args and "attribute" in kwargs:
        attribute, default = kwargs.pop("attribute"), kwargs.pop("default", None)
        if kwargs:
            raise TypeError(f"`map` has no argument `{next(iter(kwargs))}`")
        convert = getter(attribute, None, default)
    else:
        convert = _named("filter", FILTERS, args, kwargs)
    for entry in value:
        yield convert(entry)


def select(value: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[object]:
    return _chosen(value, getter(None), args, kwargs, True)


def reject(value: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[object]:
    return _chosen(value, getter(None), args, kwargs, False)


def selectattr(value: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[object]:
    return _chosen(value, None, args, kwargs, True)


def rejectattr(value: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[object]:
    return _chosen(value, None, args, kwargs, False)


def _chosen(
    value: Iterable[Any], get: Getter | None, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: object
) -> Iterator[object]:
    if not value:
        return
    if get is None:
        if not args:
            raise TypeError("it needs the name of an attribute")
        get, args = getter(args[0]), args[1:]
    holds = _named("test", TESTS, args, kwargs) if args else bool
    for entry in value:
        if bool(holds(get(entry))) is wanted:
            yield entry


def _named(
    what: str, table: dict[str, Callable[..., object]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[Any], object]:
    if not args:
        raise TypeError(f"it needs the name of a {what}")
    name, rest = args[0], args[1:]

    def apply(entry: Any) -> object:
        # Looked up late, as in Jinja2: without entries no name is wrong.
        found = table.get(name)
        if found is None:
            raise ValueError(f"there is no {what} {name!r}")
        return found(entry, *rest, **kwargs)

    return apply


def _listing(apply: Callable[..., Any]) -> Callable[..., object]:
    """A filter that gives a list (of text: text) where Jinja2's gives an iterator, which would be true when empty."""

    def listed(value: Any, *args: Any, **kwargs: Any) -> object:
        found = apply(value, *args, **kwargs)
        if isinstance(found, (str, list)):
            return found
        # One more than allowed tells that there are too many, without making them all.
        entries = list(islice(found, MAX_ITEMS + 1))
        if len(entries) > MAX_ITEMS:
            raise Fault("template.error", f"the value has more than {MAX_ITEMS:,} parts")
        return entries

    return listed


def _over_rows(apply: Callable[..., object]) -> Callable[..., object]:
    """A filter of entries that takes those of an SQL result for its rows."""

    def applied(value: Any, *args: Any, **kwargs: Any) -> object:
        return apply(rows_of(value), *args, **kwargs)

    return applied


_FILTERS: dict[str, Callable[..., object]] = {
    **TEXT_FILTERS,
    **DATA_FILTERS,
    "urlize": urlize,
    **{name: _listing(DATA_FILTERS[name]) for name in ("batch", "items", "reverse", "slice", "unique")},
    "map": _listing(map_),
    "select": _listing(select),
    "reject": _listing(reject),
    "selectattr": _listing(selectattr),
    "rejectattr": _listing(rejectattr),
}
_OF_ENTRIES = (
    *(
        "map",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "first",
        "last",
        "list",
        "join",
        "unique",
        "batch",
        "slice",
    ),
    *("sort", "sum", "min", "max", "groupby", "reverse", "length", "count", "random"),
)
FILTERS: dict[str, Callable[..., object]] = {
    name: _over_rows(charged(name, apply)) if name in _OF_ENTRIES else charged(name, apply)
    for name, apply in _FILTERS.items()
}
