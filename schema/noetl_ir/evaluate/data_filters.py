"""Jinja2's filters on numbers, lists and mappings. Those that are lazy in Jinja2 are lazy here: a lazy value is
true, has no length and no entries, until a filter like `list` or the end of the expression takes it.

A parameter is named as in Jinja2, because a template may name it. Wrong arguments raise as Python does.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, TypeAlias

from noetl_ir.evaluate.access import Group, item
from noetl_ir.evaluate.limits import MAX_RANGE, check_bits, check_items
from noetl_ir.evaluate.operators import add
from noetl_ir.evaluate.settle import joined_texts
from noetl_ir.evaluate.work import Crowd, spend, spend_count, spend_entries, spend_key, spend_text
from noetl_ir.scopes.values import Undefined, plain

Getter: TypeAlias = Callable[[Any], Any]
_Key: TypeAlias = str | int | None

# `10 ** precision` is made before anything is rounded.
MAX_PRECISION = 4_000


def length(value: Any) -> int:
    return len(value)


def abs_(x: Any) -> object:
    return abs(x)


def int_(value: Any, default: object = 0, base: int = 10) -> object:
    try:
        whole = int(value, base) if isinstance(value, str) else int(value)
        check_bits(whole.bit_length())
        return whole
    except (TypeError, ValueError):
        # So that "42.23" gives 42.
        try:
            return int(float(value))
        except (TypeError, ValueError, OverflowError):
            return default


def float_(value: Any, default: object = 0.0) -> object:
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def round_(value: Any, precision: int = 0, method: str = "common") -> object:
    if method not in ("common", "ceil", "floor"):
        raise ValueError("the method is `common`, `ceil` or `floor`")
    if isinstance(precision, int) and abs(precision) > MAX_PRECISION:
        raise ValueError("the precision is too large")
    # Of few digits the work is that of any filter.
    if isinstance(precision, int) and abs(precision) > 20:
        spend(abs(precision))
    if method == "common":
        return round(value, precision)
    to_whole = math.ceil if method == "ceil" else math.floor
    return to_whole(value * (10**precision)) / (10**precision)


def filesizeformat(value: Any, binary: bool = False) -> str:
    size = float(value)
    base, infix = (1024, "iB") if binary else (1000, "B")
    if size == 1:
        return "1 Byte"
    if size < base:
        return f"{int(size)} Bytes"
    unit, prefix = base, ""
    for power, letter in enumerate("kMGTPEZY"):
        unit = base ** (power + 2)
        prefix = ("K" if binary and letter == "k" else letter) + infix
        if size < unit:
            break
    return f"{base * size / unit:.1f} {prefix}"


def default(value: object, default_value: object = "", boolean: bool = False) -> object:
    # Null is a value: only with `boolean` what is false is replaced, as in Jinja2.
    return default_value if isinstance(value, Undefined) or (boolean and not value) else value


def first(seq: Iterable[object]) -> object:
    for entry in seq:
        return entry
    return Undefined("", "no first entry, the list is empty")


def last(seq: Any) -> object:
    for entry in reversed(seq):
        return entry
    return Undefined("", "no last entry, the list is empty")


def list_(value: Iterable[object]) -> list[object]:
    if isinstance(value, str):
        check_items(len(value))
    return list(value)


def reverse(value: Any) -> object:
    if isinstance(value, str):
        return value[::-1]
    try:
        # Lazy, as in Jinja2: what is taken of it is paid for when it is taken.
        return (entry for entry in reversed(value))
    except TypeError:
        return list(value)[::-1]


def join(value: Iterable[object], d: object = "", attribute: _Key = None) -> object:
    if attribute is not None:
        spend_entries(value, 16)
        value = map(getter(attribute), value)
    return joined_texts(d, value)


def items(value: Any) -> Iterator[object]:
    if isinstance(value, Undefined):
        return
    if not isinstance(value, dict):
        raise TypeError("it takes a mapping")
    yield from value.items()


def dictsort(value: Any, case_sensitive: bool = False, by: str = "key", reverse: bool = False) -> list[object]:
    if by not in ("key", "value"):
        raise ValueError("it sorts by `key` or by `value`")
    place = 0 if by == "key" else 1

    def key(pair: tuple[object, object]) -> Any:
        return pair[place] if case_sensitive else _lowered(pair[place])

    pairs = value.items()
    return sorted(pairs, key=_weighed(key, len(pairs)), reverse=reverse)


def sort(
    value: Iterable[Any], reverse: bool = False, case_sensitive: bool = False, attribute: _Key = None
) -> list[object]:
    # Jinja2 sorts by several attributes at once, separated by commas.
    names = attribute.split(",") if isinstance(attribute, str) else [attribute]
    getters = [getter(name, None if case_sensitive else _lowered) for name in names]
    entries = list(value)
    # The first getter is paid for by the sort itself.
    spend(20 * len(entries) * (len(getters) - 1))

    def key(entry: Any) -> object:
        return [get(entry) for get in getters]

    return sorted(entries, key=_weighed(key, len(entries)), reverse=reverse)


def _weighed(key: Getter, count: int) -> Getter:
    """The key function of a sort, which spends the work of the sort: each key is compared about log2(count) times."""
    rounds = count.bit_length() + 1
    spend(4 * count * rounds)

    def weighed(entry: Any) -> Any:
        found = key(entry)
        if type(found) is not list:
            spend_key(found, rounds)
            return found
        # Looking at the parts of a key is work as well, even if comparing them is none: a key may have thousands.
        spend(4 * len(found))
        for part in found:
            spend_key(part, rounds)
        return found

    return weighed


def unique(value: Iterable[Any], case_sensitive: bool = False, attribute: _Key = None) -> Iterator[object]:
    get = getter(attribute, None if case_sensitive else _lowered)
    seen, crowd = set(), Crowd()
    for entry in value:
        key = get(entry)
        # Before it is put in: a set full of equal hash values is quadratic while it is being filled, so afterwards is
        # too late.
        crowd.spend(key)
        if key not in seen:
            seen.add(key)
            yield entry


def min_(value: Iterable[Any], case_sensitive: bool = False, attribute: _Key = None) -> object:
    return _extreme(value, min, getter(attribute, None if case_sensitive else _lowered))


def max_(value: Iterable[Any], case_sensitive: bool = False, attribute: _Key = None) -> object:
    return _extreme(value, max, getter(attribute, None if case_sensitive else _lowered))


def _extreme(value: Iterable[Any], choose: Callable[..., object], get: Getter) -> object:
    def key(entry: Any) -> Any:
        found = get(entry)
        spend_key(found, 1)
        return found

    entries = iter(value)
    for entry in entries:
        # Python's own `min` raises for nothing, where Jinja2 has the undefined value.
        return choose(chain([entry], entries), key=key)
    return Undefined("", "the list is empty")


def sum_(iterable: Iterable[Any], attribute: _Key = None, start: object = 0) -> object:
    if attribute is not None:
        spend_entries(iterable, 16)
        iterable = map(getter(attribute), iterable)
    if isinstance(start, str):
        raise TypeError("it does not add texts: use `join`")
    # Not Python's `sum`, whose rounding differs between its versions.
    for entry in iterable:
        start = add(start, entry)
    return start


def batch(value: Iterable[object], linecount: int, fill_with: object = None) -> Iterator[object]:
    if fill_with is not None:
        check_items(linecount)
        spend_count(linecount, 1)
    row: list[object] = []
    for entry in value:
        if len(row) == linecount:
            yield row
            row = []
        row.append(entry)
    if row:
        if fill_with is not None and len(row) < linecount:
            row += [fill_with] * (linecount - len(row))
        yield row


def slice_(value: Iterable[object], slices: int, fill_with: object = None) -> Iterator[object]:
    check_items(slices)
    spend_count(slices, 8)
    entries = list(value)
    size, longer = divmod(len(entries), slices)
    at = 0
    for number in range(slices):
        end = at + size + (1 if number < longer else 0)
        row = entries[at:end]
        if fill_with is not None and number >= longer:
            row.append(fill_with)
        yield row
        at = end


def groupby_(
    value: Iterable[Any], attribute: str | int, default: object = None, case_sensitive: bool = False
) -> list[object]:
    get = getter(attribute, None if case_sensitive else _lowered, default)
    entries = list(value)
    ordered = sorted(entries, key=_weighed(get, len(entries)))
    groups = [Group(key, list(members)) for key, members in groupby(ordered, get)]
    if case_sensitive:
        return list(groups)
    # Grouped without regard to case, and named as the first of the group is written.
    as_written = getter(attribute, None, default)
    return [Group(as_written(group.list[0]), group.list) for group in groups]


def getter(attribute: _Key, then: Getter | None = None, default: object = None) -> Getter:
    """From an entry to what stands under a dotted attribute, digits being indices."""
    parts: list[str | int] = []
    if isinstance(attribute, str):
        # As Jinja2's `make_attrgetter`: `items.0.name` reaches into lists.
        parts = [int(part) if part.isdigit() else part for part in attribute.split(".")]
    elif attribute is not None:
        parts = [attribute]

    more = 15 * (len(parts) - 1)

    def get(entry: Any) -> Any:
        if more > 0:
            spend(more)
        for part in parts:
            entry = plain(item(entry, part))
            if default is not None and isinstance(entry, Undefined):
                entry = default
        return entry if then is None else then(entry)

    return get


def _lowered(value: object) -> object:
    if not isinstance(value, str):
        return value
    spend_text(len(value), 2)
    return value.lower()


def range_(*bounds: int) -> range:
    """The numbers of a range. Raises for more than Jinja2's sandbox allows."""
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise ValueError(f"more than {MAX_RANGE:,} numbers")
    return numbers


DATA_FILTERS: dict[str, Callable[..., object]] = {
    "length": length, "count": length, "abs": abs_, "int": int_, "float": float_, "round": round_,
    "filesizeformat": filesizeformat, "default": default, "d": default, "first": first, "last": last,
    "list": list_, "reverse": reverse, "join": join, "items": items, "dictsort": dictsort, "sort": sort,
    "unique": unique, "min": min_, "max": max_, "sum": sum_, "batch": batch, "slice": slice_,
    "groupby": groupby_,
}  # fmt: skip
