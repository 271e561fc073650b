"""Tables as columns: how the rows of a plan become plain lists and back, checked on the way.

A plan of 1,000 steps has 25,000 transitions of 14 fields each. Written field by field as columns, and
checked a column at a time, they cost a tenth of what rows would. What was read stays packed
(`noetl_ir.plan_format.packed`).
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import Generic, Protocol, TypeAlias, TypeVar, cast

from noetl_ir.codec import CodecError, PartReader, count_of, parts_of, small_numbers, unpack_trusted
from noetl_ir.net import Weight
from noetl_ir.plan_format.packed import (
    Flags,
    LateColumn,
    Lists,
    Numbers,
    Optional,
    Packed,
    PackedRows,
    Picked,
    Plainly,
    Texts,
)
from noetl_ir.span import Span

T = TypeVar("T")
Plain: TypeAlias = object
"""Whatever the codec can write: lists and tuples, mappings, text, numbers, booleans, null."""

# What a number of JSON has exactly for every reader: a plan is printed as JSON, and read from it.
MAX_NUMBER = 2**53
NO_SPAN = Span(-1, -1, -1, -1)


class Malformed(ValueError):
    """A column is not what `flatten` writes; the text says why."""


class Column(Protocol[T]):
    """A way to write many values of one type."""

    def flatten(self, values: Sequence[T]) -> Plain:
        """The values as something that the codec can write as a record; themselves where they are."""
        ...

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T]:
        """The values again. Raises Malformed; what is `trusted` was restored with all checks before."""
        ...

    def opened(self, data: memoryview) -> Packed[T]:
        """The values of bytes that were restored with all checks before. Raises Malformed, CodecError, TypeError."""
        ...


def list_of_column(column: Plain) -> list[Plain]:
    """The column as a list. Raises Malformed."""
    if type(column) is not list:
        raise Malformed(f"expected a list, found {type(column).__name__}")
    return cast("list[Plain]", column)


class _Opening(Generic[T]):
    """A column whose bytes are read as any others where they are trusted."""

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T]:
        """`Column.restore`."""
        raise NotImplementedError

    def opened(self, data: memoryview) -> Packed[T]:
        """`Column.opened`."""
        return self.restore(unpack_trusted(data), trusted=True)


class _Scalars(_Opening[T]):
    """Values that stand as they are; `allowed` are their exact types, `packed` how they lie in memory."""

    def __init__(self, packed: Callable[[list[T]], Packed[T]], *allowed: type) -> None:
        self._packed = packed
        self._allowed = frozenset(allowed)

    def flatten(self, values: Sequence[T]) -> Plain:
        return values

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T]:
        return self._packed(cast("list[T]", list_of_column(column)) if trusted else self.checked(column))

    def checked(self, column: Plain) -> list[T]:
        """The values as a list. Raises Malformed."""
        values = list_of_column(column)
        # Exact types: to msgpack a truth value is no number, and `isinstance(True, int)` would let one pass for a
        # place.
        if not self._allowed.issuperset(map(type, values)):
            wrong = next(value for value in values if type(value) not in self._allowed)
            raise Malformed(f"found {type(wrong).__name__} in a column of {self._names()}")
        return cast("list[T]", values)

    def _names(self) -> str:
        return " or ".join(sorted(kind.__name__ for kind in self._allowed))


class _Numbers(_Scalars[int]):
    """Whole numbers of an ordinary size."""

    def checked(self, column: Plain) -> list[int]:
        values = super().checked(column)
        # Two passes in C over the column cost less than one comparison a value in Python.
        if values and (min(values) < -1 or max(values) > MAX_NUMBER):
            raise Malformed("a number is out of range")
        return values

    def opened(self, data: memoryview) -> Packed[int]:
        return _numbers(data)


def _numbers(data: memoryview) -> Numbers:
    """Numbers that were read before."""
    small = small_numbers(data)
    return Numbers(cast("list[int]", list_of_column(unpack_trusted(data)))) if small is None else Numbers(small)


class _Words(_Opening[str]):
    """Texts of which there are few different ones: each once, then numbers."""

    def flatten(self, values: Sequence[str]) -> Plain:
        # In order of appearance, so that equal plans have equal bytes whatever the hash seed.
        index = {word: number for number, word in enumerate(dict.fromkeys(values))}
        return [list(index), list(map(index.__getitem__, values))]

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[str]:
        words, numbers = _parts(column, 2)
        return _picked(TEXT.checked(words), numbers, trusted=trusted)

    def opened(self, data: memoryview) -> Packed[str]:
        words, numbers = _two(data)
        return Picked(TEXT.checked(unpack_trusted(words)).__getitem__, _numbers(numbers))


class _Choices(_Opening[T]):
    """Members of a closed set, by their numbers."""

    def __init__(self, members: Iterable[T]) -> None:
        self._members = list(members)
        self._index = {member: number for number, member in enumerate(self._members)}

    def flatten(self, values: Sequence[T]) -> Plain:
        return list(map(self._index.__getitem__, values))

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T]:
        return _picked(self._members, column, trusted=trusted)

    def opened(self, data: memoryview) -> Packed[T]:
        return Picked(self._members.__getitem__, _numbers(data))


class _Weights(_Opening[int | Weight]):
    """Arc weights: a number, or what a loop run fixes as a negative one."""

    def flatten(self, values: Sequence[int | Weight]) -> Plain:
        if _WEIGHTS.keys().isdisjoint(values):  # no loop has an arc here
            return values
        return [_WEIGHTS.get(value, value) for value in values]

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[int | Weight]:
        values = cast("list[int]", list_of_column(column)) if trusted else _INTEGER.checked(column)
        least = min(values, default=1)
        if not trusted and values and (least < -len(_WEIGHTS) or 0 in values or max(values) > MAX_NUMBER):
            raise Malformed("a weight is out of range")
        numbers = Numbers(values)
        return Picked(_weight, numbers) if least < 0 else numbers

    def opened(self, data: memoryview) -> Packed[int | Weight]:
        small = small_numbers(data)
        if small is None:
            return self.restore(unpack_trusted(data), trusted=True)
        numbers = Numbers(small)
        return Picked(_weight, numbers) if min(small, default=1) < 0 else numbers


def _weight(number: int) -> int | Weight:
    return _NAMED.get(number, number)


_WEIGHTS: dict[int | Weight, int] = {Weight.ITEMS: -1, Weight.SLOTS: -2}
_NAMED: dict[int, int | Weight] = {number: weight for weight, number in _WEIGHTS.items()}


class _Lists(_Opening[tuple[T, ...]]):
    """Tuples of any length: their lengths, then all entries in one column."""

    def __init__(self, inner: Column[T]) -> None:
        self._inner = inner

    def flatten(self, values: Sequence[tuple[T, ...]]) -> Plain:
        return [list(map(len, values)), self._inner.flatten(list(chain.from_iterable(values)))]

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[tuple[T, ...]]:
        lengths, entries = _parts(column, 2)
        counts = cast("list[int]", list_of_column(lengths)) if trusted else NUMBER.checked(lengths)
        inner = self._inner.restore(entries, trusted=trusted)
        # A negative length would let the sum agree and the slices overlap.
        if sum(counts) != len(inner) or (not trusted and counts and min(counts) < 0):
            raise Malformed("the lengths of lists do not add up")
        return Lists(counts, inner)

    def opened(self, data: memoryview) -> Packed[tuple[T, ...]]:
        lengths, entries = _two(data)
        return Lists(_numbers(lengths).values(0, count_of(lengths)), self._inner.opened(entries))


class _Optional(_Opening[T | None]):
    """Values that may be missing: which are there, then those."""

    def __init__(self, inner: Column[T]) -> None:
        self._inner = inner

    def flatten(self, values: Sequence[T | None]) -> Plain:
        there = [value for value in values if value is not None]
        return [[value is not None for value in values], self._inner.flatten(there)]

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T | None]:
        flags, present = _parts(column, 2)
        # The flags are checked even where the rest is trusted: from their sum alone the values would be set off by one.
        flags_read, inner = FLAG.checked(flags), self._inner.restore(present, trusted=trusted)
        if sum(flags_read) != len(inner):
            raise Malformed("the count of optional values does not add up")
        return Optional(flags_read, inner)


class Records(_Opening[T]):
    """Named tuples, or plain pairs: one column a field."""

    def __init__(self, of: type[T], *fields: "Column[object]") -> None:
        self._of = of
        self._fields = fields

    def flatten(self, values: Sequence[T]) -> Plain:
        # `zip` of nothing gives no columns at all, and each has to be written.
        if not values:
            return [field.flatten(()) for field in self._fields]
        columns = zip(*cast("Sequence[tuple[object, ...]]", values), strict=True)
        return [field.flatten(column) for field, column in zip(self._fields, columns, strict=True)]

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[T]:
        parts = _parts(column, len(self._fields))
        fields = zip(self._fields, parts, strict=True)
        return self._joined([field.restore(part, trusted=trusted) for field, part in fields])

    def opened(self, data: memoryview) -> Packed[T]:
        return self._joined([field.opened(part) for field, part in zip(self._fields, parts_of(data), strict=True)])

    def read(self, parts: PartReader) -> PackedRows[T]:
        """The rows of a large table, a column at a time. Raises CodecError, too."""
        enter(parts, len(self._fields))
        return self._joined([field.restore(parts.value()) for field in self._fields])

    def open(self, parts: PartReader) -> PackedRows[T]:
        """The rows of a table that was read before with all checks: each column once it is asked for. The first must
        be one of plain values."""
        enter(parts, len(self._fields))
        columns = [parts.skipped() for _ in self._fields]
        count = count_of(columns[0])
        return PackedRows(
            self._of, [LateColumn(count, partial(_late, *pair)) for pair in zip(self._fields, columns, strict=True)]
        )

    def _joined(self, columns: list[Packed[object]]) -> PackedRows[T]:
        # A short column would leave rows half made, which nobody would see before a run comes to them.
        if len(set(map(len, columns))) > 1:
            raise Malformed("the columns of a table differ in length")
        return PackedRows(self._of, columns)


def _late(field: Column[T], data: memoryview) -> Packed[T]:
    """A column that was read before with all checks. Raises Malformed where it cannot have been."""
    try:
        return field.opened(data)
    except (CodecError, TypeError, ValueError) as problem:
        raise Malformed(f"a column is damaged: {problem}") from problem


class _Places(_Opening[Span | None]):
    """Spans; a missing one is written as one that no text can have."""

    def flatten(self, values: Sequence[Span | None]) -> Plain:
        there = cast("Sequence[Span]", values)
        return SPAN.flatten([span or NO_SPAN for span in values] if None in values else there)

    def restore(self, column: Plain, *, trusted: bool = False) -> Packed[Span | None]:
        lines = column[0] if type(column) is list and column else ()
        spans = SPAN.restore(column, trusted=trusted)
        return Picked(_some, spans) if NO_SPAN.line in lines else spans


def _some(span: Span) -> Span | None:
    return None if span.line < 0 else span


def _parts(column: Plain, count: int) -> list[Plain]:
    parts = list_of_column(column)
    if len(parts) != count:
        raise Malformed(f"expected {count} parts, found {len(parts)}")
    return parts


def _two(data: memoryview) -> tuple[memoryview, memoryview]:
    one, other = parts_of(data)
    return one, other


def enter(parts: PartReader, count: int) -> None:
    """Go into a list of so many parts. Raises Malformed."""
    found = parts.enter()
    if found != count:
        raise Malformed(f"expected {count} parts, found {found}")


def _picked(members: Sequence[T], numbers: Plain, *, trusted: bool = False) -> Packed[T]:
    indices = cast("list[int]", list_of_column(numbers)) if trusted else NUMBER.checked(numbers)
    # A negative number would name a member from the end.
    if not trusted and indices and (min(indices) < 0 or max(indices) >= len(members)):
        raise Malformed("a number names nothing")
    return Picked(members.__getitem__, Numbers(indices))


def records(of: type[T], *fields: object) -> Records[T]:
    """Named tuples of a class, or plain ones, whose fields are written by `fields` in order."""
    return Records(of, *cast("tuple[Column[object], ...]", fields))


def lists(inner: Column[T]) -> Column[tuple[T, ...]]:
    """Tuples of what `inner` writes."""
    return _Lists(inner)


def optional(inner: Column[T]) -> Column[T | None]:
    """The column of what `inner` writes, or None."""
    return _Optional(inner)


def choices(enumeration: type[StrEnum]) -> Column[StrEnum]:
    """Members of an enumeration; their order is part of the format."""
    return _Choices(enumeration)


NUMBER = _Numbers(Numbers, int)
REAL: _Scalars[float] = _Scalars(Plainly, int, float)
FLAG: _Scalars[bool] = _Scalars(Flags, bool)
TEXT: _Scalars[str] = _Scalars(Texts, str)
_INTEGER: _Scalars[int] = _Scalars(Numbers, int)
WORD: Column[str] = _Words()
WEIGHT: Column[int | Weight] = _Weights()
SPAN: Records[Span] = records(Span, NUMBER, NUMBER, NUMBER, NUMBER)
PLACE: Column[Span | None] = _Places()
