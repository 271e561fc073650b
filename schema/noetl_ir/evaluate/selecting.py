"""The filters that apply a filter or a test to every entry, and the table of all filters."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from noetl_ir.evaluate.access import rows_of
from noetl_ir.evaluate.data_filters import DATA_FILTERS, Getter, getter
from noetl_ir.evaluate.limits import MAX_ITEMS
from noetl_ir.evaluate.links import urlize
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.prices import charged
from noetl_ir.evaluate.text_filters import TEXT_FILTERS
from noetl_ir.scopes.values import Fault


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
