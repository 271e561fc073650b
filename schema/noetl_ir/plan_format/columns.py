"""Tables as columns: how the rows of a plan become plain lists and back, checked on the way.

A plan of 1,000 steps has 25,000 transitions of 14 fields each. Written field by field as columns, and
checked a column at a time, they cost a tenth of what rows would.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import chain, islice
from typing import Generic, Protocol, TypeAlias, TypeVar, cast

from noetl_ir.net import Weight
from noetl_ir.span import Span

T = TypeVar("T")
Plain: TypeAlias = object
"""Whatever the codec can write: lists and tuples, mappings, text, numbers, booleans, null."""

MAX_NUMBER = 2**53
NO_SPAN = Span(-1, -1, -1, -1)


class Malformed(ValueError):
    """A column is not what `flatten` writes; the text says why."""


class Column(Protocol[T]):
    """A way to write many values of one type."""

    def flatten(self, values: Sequence[T]) -> Plain:
        """The values as something that the codec can write as a record; themselves where they are."""
        ...

    def restore(self, column: Plain) -> list[T]:
        """The values again. Raises Malformed."""
        ...


def listed(column: Plain) -> list[Plain]:
    """The column as a list. Raises Malformed."""
    if type(column) is not list:
        raise Malformed(f"expected a list, found {type(column).__name__}")
    return cast("list[Plain]", column)


class _Scalars(Generic[T]):
    """Values that stand as they are; `allowed` are their exact types."""

    def __init__(self, *allowed: type) -> None:
        self._allowed = frozenset(allowed)

    def flatten(self, values: Sequence[T]) -> Plain:
        return values

    def restore(self, column: Plain) -> list[T]:
        values = listed(column)
        if not self._allowed.issuperset(map(type, values)):
            wrong = next(value for value in values if type(value) not in self._allowed)
            raise Malformed(f"found {type(wrong).__name__} in a column of {self._names()}")
        return cast("list[T]", values)

    def _names(self) -> str:
        return " or ".join(sorted(kind.__name__ for kind in self._allowed))


class _Numbers(_Scalars[int]):
    """Whole numbers of an ordinary size."""

    def restore(self, column: Plain) -> list[int]:
        values = super().restore(column)
        if values and (min(values) < -1 or max(values) > MAX_NUMBER):
            raise Malformed("a number is out of range")
        return values


class _Words:
    """Texts of which there are few different ones: each once, then numbers."""

    def flatten(self, values: Sequence[str]) -> Plain:
        index = {word: number for number, word in enumerate(dict.fromkeys(values))}
        return [list(index), list(map(index.__getitem__, values))]

    def restore(self, column: Plain) -> list[str]:
        words, numbers = _parts(column, 2)
        return _picked(TEXT.restore(words), numbers)


class _Choices(Generic[T]):
    """Members of a closed set, by their numbers."""

    def __init__(self, members: Iterable[T]) -> None:
        self._members = list(members)
        self._index = {member: number for number, member in enumerate(self._members)}

    def flatten(self, values: Sequence[T]) -> Plain:
        return list(map(self._index.__getitem__, values))

    def restore(self, column: Plain) -> list[T]:
        return _picked(self._members, column)


class _Weights:
    """Arc weights: a number, or what a loop run fixes as a negative one."""

    def flatten(self, values: Sequence[int | Weight]) -> Plain:
        if _WEIGHTS.keys().isdisjoint(values):  # no loop has an arc here
            return values
        return [_WEIGHTS.get(value, value) for value in values]

    def restore(self, column: Plain) -> list[int | Weight]:
        values = cast("list[int]", _Scalars(int).restore(column))
        if values and (min(values) < -len(_WEIGHTS) or 0 in values or max(values) > MAX_NUMBER):
            raise Malformed("a weight is out of range")
        return [_NAMED.get(value, value) for value in values]


_WEIGHTS: dict[int | Weight, int] = {Weight.ITEMS: -1, Weight.SLOTS: -2}
_NAMED: dict[int, int | Weight] = {number: weight for weight, number in _WEIGHTS.items()}


class _Lists(Generic[T]):
    """Tuples of any length: their lengths, then all entries in one column."""

    def __init__(self, inner: Column[T]) -> None:
        self._inner = inner

    def flatten(self, values: Sequence[tuple[T, ...]]) -> Plain:
        return [list(map(len, values)), self._inner.flatten(list(chain.from_iterable(values)))]

    def restore(self, column: Plain) -> list[tuple[T, ...]]:
        lengths, entries = _parts(column, 2)
        counts, inner = NUMBER.restore(lengths), self._inner.restore(entries)
        if sum(counts) != len(inner) or (counts and min(counts) < 0):
            raise Malformed("the lengths of lists do not add up")
        rest = iter(inner)
        return [tuple(islice(rest, count)) for count in counts]


class _Optional(Generic[T]):
    """Values that may be missing: which are there, then those."""

    def __init__(self, inner: Column[T]) -> None:
        self._inner = inner

    def flatten(self, values: Sequence[T | None]) -> Plain:
        there = [value for value in values if value is not None]
        return [[value is not None for value in values], self._inner.flatten(there)]

    def restore(self, column: Plain) -> list[T | None]:
        flags, present = _parts(column, 2)
        given, inner = FLAG.restore(flags), self._inner.restore(present)
        if sum(given) != len(inner):
            raise Malformed("the count of optional values does not add up")
        rest = iter(inner)
        return [next(rest) if there else None for there in given]


class _Records(Generic[T]):
    """Named tuples, or plain pairs: one column a field."""

    def __init__(self, make: Callable[[Iterable[object]], T], *fields: "Column[object]") -> None:
        self._make = make
        self._fields = fields

    def flatten(self, values: Sequence[T]) -> Plain:
        if not values:
            return [field.flatten(()) for field in self._fields]
        columns = zip(*cast("Sequence[tuple[object, ...]]", values), strict=True)
        return [field.flatten(column) for field, column in zip(self._fields, columns, strict=True)]

    def restore(self, column: Plain) -> list[T]:
        columns = [
            field.restore(part) for field, part in zip(self._fields, _parts(column, len(self._fields)), strict=True)
        ]
        if len(set(map(len, columns))) > 1:
            raise Malformed("the columns of a table differ in length")
        return list(map(self._make, zip(*columns, strict=True)))


class _Places:
    """Spans; a missing one is written as one that no text can have."""

    def flatten(self, values: Sequence[Span | None]) -> Plain:
        there = cast("Sequence[Span]", values)
        return SPAN.flatten([span or NO_SPAN for span in values] if None in values else there)

    def restore(self, column: Plain) -> list[Span | None]:
        return [None if span[0] < 0 else span for span in SPAN.restore(column)]


def _parts(column: Plain, count: int) -> list[Plain]:
    parts = listed(column)
    if len(parts) != count:
        raise Malformed(f"expected {count} parts, found {len(parts)}")
    return parts


def _picked(members: Sequence[T], numbers: Plain) -> list[T]:
    indices = NUMBER.restore(numbers)
    if indices and (min(indices) < 0 or max(indices) >= len(members)):
        raise Malformed("a number names nothing")
    return [members[index] for index in indices]


def records(make: Callable[[Iterable[object]], T], *fields: object) -> Column[T]:
    """Named tuples whose fields are written by `fields` in order; `make` is their `_make`, or `tuple`."""
    return _Records(make, *cast("tuple[Column[object], ...]", fields))


def lists(inner: Column[T]) -> Column[tuple[T, ...]]:
    """Tuples of what `inner` writes."""
    return _Lists(inner)


def optional(inner: Column[T]) -> Column[T | None]:
    """What `inner` writes, or None."""
    return _Optional(inner)


def choices(enumeration: type[StrEnum]) -> Column[StrEnum]:
    """Members of an enumeration; their order is part of the format."""
    return _Choices(enumeration)


NUMBER: Column[int] = _Numbers(int)
REAL: Column[float] = _Scalars(int, float)
FLAG: Column[bool] = _Scalars(bool)
TEXT: Column[str] = _Scalars(str)
WORD: Column[str] = _Words()
WEIGHT: Column[int | Weight] = _Weights()
SPAN: Column[Span] = records(Span._make, NUMBER, NUMBER, NUMBER, NUMBER)
PLACE: Column[Span | None] = _Places()
