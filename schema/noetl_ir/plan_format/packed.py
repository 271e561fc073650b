"""Columns as they lie in memory, and tables whose rows are made when they are asked for.

A plan stays in memory as long as it runs, and a run looks at few of its rows at a time: as rows, the net of 20,000
steps would take 300 MB, packed it takes 20.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Generic, Protocol, TypeVar, cast, overload

T = TypeVar("T")
S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)

_SHIFT = 6
BLOCK = 1 << _SHIFT
"""Rows of a table that are made at once."""
WHOLE = 1024
"""Blocks of a table that stays as rows altogether once they were made: all of the net of 4,000 steps in a row. Making a
row costs 5 µs, and a step asks for 20, as much time as all else that the engine does for it."""
KEPT = 256
"""Blocks of a larger table that stay as rows."""

_PACE = 1024


class Packed(Protocol[T_co]):
    """Values of a column, or of a table, from which some are made."""

    def __len__(self) -> int: ...

    def values(self, start: int, stop: int) -> Sequence[T_co]:
        """The values from one position to another, made now."""
        ...


class PackedTable(Sequence[T]):
    """Rows as a sequence. Those made last are kept, so that what is asked again and again is made once."""

    def __init__(self, packed: Packed[T]) -> None:
        self._packed = packed
        self._count = len(packed)
        self._most = WHOLE if self._count <= WHOLE * BLOCK else KEPT
        self._blocks: dict[int, Sequence[T]] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        try:
            return self._blocks[at >> _SHIFT][at & (BLOCK - 1)]  # type: ignore[operator]  # a run asks 20 times a step
        except (KeyError, TypeError):
            pass
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._count))]
        if at < 0:
            at += self._count
        return (self._blocks.get(at >> _SHIFT) or self._block(at >> _SHIFT))[at & (BLOCK - 1)]

    def __iter__(self) -> Iterator[T]:
        """All rows; of a large table none is kept for that."""
        if self._count <= WHOLE * BLOCK:
            for number in range(-(-self._count // BLOCK)):
                yield from self._blocks.get(number) or self._block(number)
        else:
            # In stretches, not in blocks that are kept: a walk over the whole would push out what a run asks for.
            for start in range(0, self._count, _PACE):
                yield from self._packed.values(start, start + _PACE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | PackedTable) or len(other) != self._count:
            return NotImplemented if not isinstance(other, tuple | PackedTable) else False
        # Row by row, so that neither table is made whole to be compared.
        return all(one == another for one, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def field(self, number: int) -> Sequence[object]:
        """One field of all rows; none of them is made for it."""
        return self._column(number).values(0, self._count)

    def flat(self, number: int) -> tuple[list[int], list[Sequence[object]]]:
        """One field of all rows that holds tuples of records: how many each row has, and each field of all of them."""
        column = self._column(number)
        column = column.whole() if isinstance(column, LateColumn) else column
        assert isinstance(column, Lists)
        lengths, entries = column.flat()
        assert isinstance(entries, PackedRows)
        return lengths, [field.values(0, len(entries)) for field in entries.columns()]

    def numbers(self, number: int) -> Sequence[int]:
        """One field of numbers or truth values, of all rows, as it lies in memory."""
        column = self._column(number)
        column = column.whole() if isinstance(column, LateColumn) else column
        assert isinstance(column, Numbers | Flags)
        return column.packed

    def _column(self, number: int) -> Packed[object]:
        assert isinstance(self._packed, PackedRows)  # others have no fields
        return self._packed.column(number)

    def _block(self, number: int) -> Sequence[T]:
        if not 0 <= number * BLOCK < self._count:
            raise IndexError("there is no such row")
        # Dropping all is cheaper than finding the oldest. A run walks forward through its net, so what it asks next
        # is mostly not here anyway.
        if len(self._blocks) >= self._most:
            self._blocks.clear()
        made = self._blocks[number] = self._packed.values(number * BLOCK, (number + 1) * BLOCK)
        return made


class Plainly(Generic[T]):
    """Values as they are."""

    def __init__(self, values: list[T]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def values(self, start: int, stop: int) -> list[T]:
        return self._values[start:stop]


class Texts:
    """Texts, one behind the other."""

    def __init__(self, values: list[str]) -> None:
        # One text for all: ten thousand short ones would take more for their headers than for their letters.
        self._whole = "".join(values)
        self._ends = _Ends(list(map(len, values)))

    def __len__(self) -> int:
        return len(self._ends)

    def values(self, start: int, stop: int) -> list[str]:
        whole, ends = self._whole, self._ends.around(start, stop)
        return [whole[one:other] for one, other in pairwise(ends)]


class Numbers:
    """Whole numbers, in as many bytes as the largest takes."""

    def __init__(self, values: "list[int] | array[int]") -> None:
        self.packed = _array(values) if isinstance(values, list) else values

    def __len__(self) -> int:
        return len(self.packed)

    def values(self, start: int, stop: int) -> list[int]:
        return self.packed[start:stop].tolist()


def _array(values: list[int]) -> "array[int]":
    # From the narrowest array up; the first that holds all is the smallest.
    for code in "bhi":
        try:
            return array(code, values)
        except OverflowError:
            pass
    return array("q", values)


class LateColumn(Generic[T]):
    """A column of `count` values that is restored once some of them are asked for."""

    def __init__(self, count: int, restore: Callable[[], Packed[T]]) -> None:
        self._count = count
        self._restore = restore
        self._there: Packed[T] | None = None

    def __len__(self) -> int:
        return self._count

    def values(self, start: int, stop: int) -> Sequence[T]:
        return self.whole().values(start, stop)

    def whole(self) -> Packed[T]:
        """The column."""
        there = self._there
        if there is None:  # of two threads that come here at once, both make the same
            there = self._there = self._restore()
        return there


class Flags:
    """Truth values, a byte each."""

    def __init__(self, values: list[bool]) -> None:
        self.packed = bytes(values)

    def __len__(self) -> int:
        return len(self.packed)

    def values(self, start: int, stop: int) -> list[bool]:
        return list(map(bool, self.packed[start:stop]))


class Picked(Generic[S, T]):
    """Values that are computed from others whenever they are asked for, such as words from their numbers."""

    def __init__(self, meaning: Callable[[S], T], values: Packed[S]) -> None:
        self._meaning = meaning
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def values(self, start: int, stop: int) -> list[T]:
        return list(map(self._meaning, self._values.values(start, stop)))


class Lists(Generic[T]):
    """Tuples of any length, their entries one behind the other."""

    def __init__(self, counts: list[int], inner: Packed[T]) -> None:
        self._ends = _Ends(counts)
        self._inner = inner

    def __len__(self) -> int:
        return len(self._ends)

    def flat(self) -> tuple[list[int], Packed[T]]:
        """How many entries each tuple has, and all entries."""
        return self._ends.lengths(), self._inner

    def values(self, start: int, stop: int) -> list[tuple[T, ...]]:
        ends = self._ends.around(start, stop)
        if not ends:
            return []
        first = ends[0]
        # All entries of the block at once, then cut: a call for each tuple costs more than what it gives.
        entries = tuple(self._inner.values(first, ends[-1]))
        return [entries[one - first : other - first] for one, other in pairwise(ends)]


class Optional(Generic[T]):
    """Values that may be missing."""

    def __init__(self, there: list[bool], inner: Packed[T]) -> None:
        self._ends = _Ends([*map(int, there)])
        self._inner = inner

    def __len__(self) -> int:
        return len(self._ends)

    def values(self, start: int, stop: int) -> list[T | None]:
        ends = self._ends.around(start, stop)
        if not ends:
            return []
        rest = iter(self._inner.values(ends[0], ends[-1]))
        return [next(rest) if other > one else None for one, other in pairwise(ends)]


class PackedRows(Generic[T]):
    """Rows, a column each field: named tuples, or plain ones."""

    def __init__(self, of: type[T], columns: Sequence[Packed[object]]) -> None:
        # The constructor of tuples itself: the columns were checked when they were read.
        make = partial(tuple.__new__, cast("type[tuple[object, ...]]", of))  # there is a column for each field
        self._make = cast("Callable[[tuple[object, ...]], T]", make)
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def column(self, number: int) -> Packed[object]:
        """One field of all rows."""
        return self._columns[number]

    def columns(self) -> Sequence[Packed[object]]:
        """All fields."""
        return self._columns

    def values(self, start: int, stop: int) -> list[T]:
        columns = [column.values(start, stop) for column in self._columns]
        return list(map(self._make, zip(*columns, strict=True)))


class _Ends:
    """The offsets of entries of different lengths that lie one behind the other, computed from their lengths.

    Only the offset of the first entry of each block is stored.
    """

    def __init__(self, lengths: list[int]) -> None:
        # An offset for each entry would take more memory than the lengths, and without any an entry far behind would
        # cost a walk over all before it.
        sums = (sum(lengths[start : start + BLOCK]) for start in range(0, len(lengths), BLOCK))
        self._starts = array("q", accumulate(sums, initial=0))
        self._lengths = _array(lengths)
        self.total = self._starts[-1]

    def __len__(self) -> int:
        return len(self._lengths)

    def lengths(self) -> list[int]:
        """All lengths."""
        return self._lengths.tolist()

    def around(self, start: int, stop: int) -> list[int]:
        """The offsets at which the entries from one position to another begin, and the one at which the last ends."""
        if start > len(self._lengths):
            return []
        block = start >> _SHIFT
        first = self._starts[block] + sum(self._lengths[block << _SHIFT : start])
        return list(accumulate(self._lengths[start:stop], initial=first))
