"""JSON values to bytes and back: canonical msgpack, with limits on everything that is read.

Invariants: equal values give equal bytes, whatever the order of their keys; `unpack(pack(x)) == x` for every
JSON value, with integers of any size that has decimal digits, NUL and lone surrogates included; `unpack`
raises nothing but `CodecError` and needs memory only in proportion to the bytes it is given.

An integer outside 64 bits is extension type 1, its decimal text. NaN and the infinities are refused.
"""

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

from noetl_ir.expr import Json

MAX_BYTES: Final = 256 * 1024 * 1024
MAX_DEPTH: Final = 200
# An empty list takes one byte here and 56 as a Python object, so that bytes alone do not bound memory.
MAX_ITEMS: Final = 10_000_000
MAX_BITS: Final = 14_000
"""Bits of an integer: what Python still turns into decimal digits."""

_BIG: Final = 1
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1
_INFINITE: Final = (float("inf"), float("-inf"))
_LEAVES: Final = frozenset({str, int, bool, type(None)})


class CodecError(Exception):
    """Why a value cannot be written, or why bytes are not one."""


def pack(value: Json) -> bytes:
    """Canonical bytes: mapping keys in code point order. Raises CodecError for what is not JSON."""
    return _packed(_sorted(value, 0), _json)


def pack_unsorted(value: Json) -> bytes:
    """Bytes that `unpack` reads, keys as they stand; for what is never compared by its bytes.

    The caller vouches that the value is JSON without NaN and infinities.
    """
    return _packed(value, _json)


def pack_record(value: tuple[object, ...]) -> bytes:
    """Bytes of a record, keys as they stand: like `pack_unsorted`, and a tuple in it is written as a list."""
    try:
        # One packer for all records: to make one takes as long as to pack a small event (0.2 µs).
        data: bytes = _packers[-1].pack(value)
    except (ValueError, TypeError, OverflowError):
        return _packed(value, _record)
    # The packer's buffer never shrinks, so one that held a large record is exchanged.
    if len(data) > _MOST_KEPT:
        _packers.append(_new_packer())
        del _packers[:-1]
    return data


def check(value: object, mapping: type = dict, *, max_depth: int = MAX_DEPTH, max_items: int = MAX_ITEMS) -> None:
    """Raises CodecError where `unpack` would refuse what `pack_unsorted` made of the value: for values from outside,
    before they go where they must be read again. `mapping` is a second type of mappings that will be plain by then."""
    _check_value(value, mapping, max_depth, max_items)


def unpack(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH, max_items: int = MAX_ITEMS) -> Json:
    """The value that the bytes are. Raises CodecError for anything else, within the limits' memory."""
    if len(data) > max_bytes:
        raise CodecError(f"{len(data):,} bytes are more than the {max_bytes:,} allowed")
    # Small bytes cannot claim much, and most values are small: they are spared the walk over headers.
    if len(data) > SMALL:
        with _refusing():
            _check_whole(data)
    value: Json = _unpacked(data)
    _check_value(value, dict, max_depth, max_items)
    return value


SMALL: Final = 1024
"""Bytes in which headers cannot claim more than some MB, however they nest: that need not be looked at first."""


def unpack_small(data: bytes) -> object:
    """The value of at most `SMALL` bytes, without the checks of its parts: the caller checks the shape that it expects.

    Raises CodecError for what is no msgpack, mappings with a key twice and extensions that `unpack` refuses.
    """
    return _unpacked(data)


def _unpacked(data: bytes) -> Any:
    try:
        return msgpack.unpackb(data, **_READING)
    except CodecError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        with _refusing():
            _check_whole(data)  # what ends early says so
        raise CodecError(f"no value: {str(error) or type(error).__name__}") from error


class PartReader:
    """Reads nested lists part by part, so that only one part at a time is in memory as Python objects.

    Each call reads the next part, and raises CodecError for what `unpack` refuses. `known` says that the bytes were
    read with all checks before.
    """

    __slots__ = ("_data", "_depth", "_items", "_unpacker")

    def __init__(
        self, data: bytes | memoryview, *, max_depth: int = MAX_DEPTH, max_items: int = MAX_ITEMS, known: bool = False
    ) -> None:
        if not known:
            with _refusing():
                _check_whole(data)
        self._data = memoryview(data)
        self._depth = max_depth
        self._items = max_items
        # Fed as a file: given all bytes at once msgpack would copy a plan of megabytes into its own buffer.
        self._unpacker = msgpack.Unpacker(_Windows(data), read_size=_WINDOW, **_READING)

    def enter(self) -> int:
        """Go into the list that comes next, and return how many parts it has. It needs no call at its end."""
        with _refusing():
            count: int = self._unpacker.read_array_header()
        self._take(count)
        return count

    def skipped(self) -> memoryview:
        """The bytes of the part that comes next, for `unpack_trusted`; nothing in it is looked at."""
        with _refusing():
            start = self._unpacker.tell()
            self._unpacker.skip()
            return self._data[start : self._unpacker.tell()]

    def value(self) -> Json:
        """The part that comes next, whole."""
        with _refusing():
            value: Json = self._unpacker.unpack()
        self._take(_check_value(value, dict, self._depth, self._items))
        return value

    def _take(self, count: int) -> None:
        self._items -= count
        if self._items < 0:
            raise CodecError("the value has too many parts")


def unpack_trusted(data: memoryview) -> Json:
    """The value of bytes that were read with all checks before. Raises CodecError where they are none."""
    with _refusing():
        return msgpack.unpackb(data, **_READING)  # type: ignore[no-any-return]


def parts_of(data: memoryview) -> list[memoryview]:
    """The bytes of each entry of the list in some bytes. Raises CodecError where they hold no list."""
    parts = PartReader(data, known=True)
    return [parts.skipped() for _ in range(parts.enter())]


def small_numbers(data: memoryview) -> "array[int] | None":
    """The numbers of a list of which each takes one byte; None where any takes more.

    msgpack writes the numbers from -32 to 127 as signed bytes, so that they need no decoding. The caller knows that the
    list has only numbers: of another list the result means nothing.
    """
    count = count_of(data)
    # The header of a list takes 1, 3 or 5 bytes (msgpack, array format family).
    head = 1 if count < 16 else 3 if count < 1 << 16 else 5
    return array("b", data[head:].tobytes()) if len(data) == head + count else None


def count_of(data: memoryview) -> int:
    """The number of entries of the list in some bytes. Raises CodecError where they hold no list."""
    with _refusing():
        unpacker = msgpack.Unpacker(max_buffer_size=16)
        # Enough for any header, whatever the list's size.
        unpacker.feed(data[:8])
        return int(unpacker.read_array_header())


_WINDOW: Final = 1 << 20


class _Windows:
    """Bytes as msgpack reads a file, so that it holds no more of them than it needs."""

    __slots__ = ("_at", "_view")

    def __init__(self, data: bytes | memoryview) -> None:
        self._view = memoryview(data)
        self._at = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        self._at += size
        return bytes(self._view[self._at - size : self._at])


@contextmanager
def _refusing() -> Iterator[None]:
    """Have errors of msgpack raised as a CodecError."""
    try:
        yield
    except CodecError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise CodecError(f"no value: {str(error) or type(error).__name__}") from error


def _big(value: object) -> msgpack.ExtType:
    # Exactly an int: a subclass, as an enumeration, would come back as a plain number.
    if type(value) is not int:
        raise CodecError(f"a {type(value).__name__} is not JSON")
    try:
        return msgpack.ExtType(_BIG, str(value).encode("ascii"))
    except ValueError as error:
        raise CodecError("the integer has more digits than can be written") from error


_MOST_KEPT: Final = 1 << 16
_new_packer: Final = partial(msgpack.Packer, unicode_errors="surrogatepass")
_packers: Final = [_new_packer()]
"""The packer of records, in a list of one. It runs no Python code, so that no other thread comes between, and keeps
its buffer, so that one that had a large record is given up. What it cannot write is left to `_record`."""

_record: Final = partial(msgpack.packb, default=_big, unicode_errors="surrogatepass")
_json: Final = partial(_record, strict_types=True)


def _packed(value: object, packing: Callable[[object], bytes]) -> bytes:
    try:
        return packing(value)
    except CodecError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise CodecError(f"cannot be written: {error}") from error


def _sorted(value: Json, level: int) -> Json:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if level >= MAX_DEPTH:
        raise CodecError(f"the value nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            # Keys of several types cannot be sorted. The loop below says which one is no text.
            keys = list(value)
        for key in keys:
            if type(key) is not str:
                raise CodecError(f"the key {key!r} of a mapping is no text")
        return {key: _sorted(value[key], level + 1) for key in keys}
    if kind is list:
        return [_sorted(entry, level + 1) for entry in value]  # type: ignore[union-attr]
    if isinstance(value, float):
        if value != value or value in _INFINITE:
            raise CodecError(f"{value} is not JSON")
        return value
    raise CodecError(f"a {kind.__name__} is not JSON")


def _check_whole(data: bytes | memoryview) -> None:
    """Raises when the bytes end early. It allocates nothing, whatever sizes the headers claim; afterwards every
    claimed entry is known to be there, so that reading needs memory in proportion to the bytes."""
    # A header of five bytes may claim four billion entries, and `unpackb` would make room for them before it looks.
    # `skip` walks the claims and makes nothing.
    unpacker = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    try:
        unpacker.skip()
    except msgpack.OutOfData:
        raise CodecError("the bytes end early") from None
    if unpacker.tell() != len(data):
        raise CodecError("there are bytes behind the value")


def _mapping(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    # Two readers would take different ones of two equal keys, and one set of bytes would mean two things.
    if len(made) != len(pairs):
        raise CodecError("a mapping has a key twice")
    return made


def _extension(code: int, data: bytes) -> int:
    if code != _BIG:
        raise CodecError(f"unknown extension type {code}")
    text = bytes(data).decode("ascii")
    value = int(text)
    # One value has one form: `007`, and a small integer written large, would give a plan a second digest.
    if str(value) != text or _SMALLEST <= value <= _LARGEST:
        raise CodecError("the integer is not written as it should be")
    return value


def _check_value(value: object, mapping: type, max_depth: int, max_items: int) -> int:
    """How many parts there are inside of a value that may be read."""
    # Level by level: what is too deep is refused before it could exhaust the stack.
    level: list[object] = [value]
    depth = count = 0
    while level:
        depth += 1
        # A leaf at the deepest level counts as a level here, and did not in the recursion of `_sorted`.
        if depth > max_depth + 1:
            raise CodecError(f"the value nests deeper than {max_depth} levels")
        inner: list[object] = []
        for here in level:
            kind = type(here)
            if kind in _LEAVES:
                if kind is int and here.bit_length() > MAX_BITS:  # type: ignore[attr-defined]
                    raise CodecError("the integer has more digits than can be written")
            elif kind is dict or kind is mapping:
                for key in here:  # type: ignore[attr-defined]
                    if type(key) is not str:
                        raise CodecError("a key of a mapping is no text")
                inner.extend(here.values())  # type: ignore[attr-defined]
            elif kind is list:
                inner.extend(here)  # type: ignore[arg-type]
            elif kind is not float:
                raise CodecError(f"a {kind.__name__} is not JSON")
            elif here != here or here in _INFINITE:
                raise CodecError(f"{here} is not JSON")
        count += len(inner)
        if count > max_items:
            raise CodecError(f"the value has more than {max_items:,} parts")
        level = inner
    return count


_READING: Final = {
    "raw": False,
    "unicode_errors": "surrogatepass",
    "strict_map_key": True,
    "object_pairs_hook": _mapping,
    "ext_hook": _extension,
    # JSON has no bytes.
    "max_bin_len": 0,
}
