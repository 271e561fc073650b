"""JSON to bytes and back."""

import subprocess
import sys
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_ir import codec
from noetl_ir.codec import CodecError, PartReader, pack, pack_record, pack_unsorted, unpack
from noetl_ir.expr import Json

TEXTS = st.text(st.characters(exclude_categories=()))
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**300), 2**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def reordered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(entry) for entry in value] if isinstance(value, list) else value


def exactly(value: Json) -> str:
    """The value with the types of its numbers, whatever the order of keys."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{exactly(value[key])}" for key in sorted(value)) + "}"
    return "[" + ",".join(map(exactly, value)) + "]" if isinstance(value, list) else repr(value)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(VALUES)
def test_what_is_written_is_read_back(value: Json) -> None:
    data = pack(value)
    assert exactly(unpack(data)) == exactly(value)
    assert pack(unpack(data)) == data
    assert pack(reordered(value)) == data
    assert exactly(unpack(pack_unsorted(value))) == exactly(value)
    assert pack_record((value, (1, "x"))) == pack_unsorted([value, [1, "x"]])


@settings(derandomize=True, max_examples=400, deadline=None)
@given(VALUES, st.data())
def test_damaged_bytes_raise_only_a_codec_error(value: Json, draw: Any) -> None:
    data = bytearray(pack(value))
    at = draw.draw(st.integers(0, len(data) - 1))
    with pytest.raises(CodecError):
        unpack(bytes(data[:at]))
    data[at] = draw.draw(st.integers(0, 255))
    with suppress(CodecError):
        unpack(bytes(data))


@settings(derandomize=True, max_examples=1000, deadline=None)
@given(st.binary(max_size=60))
def test_random_bytes_raise_only_a_codec_error(data: bytes) -> None:
    try:
        value = unpack(data)
    except CodecError:
        return
    assert exactly(unpack(pack(value))) == exactly(value)


def packed(value: object) -> bytes:
    return bytes(msgpack.packb(value))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "end early"),
        (b"\xdd\xff\xff\xff\xff", "end early"),
        (b"\xdf\xff\xff\xff\xff", "end early"),
        (b"\xdb\xff\xff\xff\xff", "end early"),
        (b"\xc0\xc0", "behind the value"),
        (packed(b"x"), "no value"),
        (packed(b""), "bytes is not JSON"),
        (packed(float("nan")), "not JSON"),
        (packed(float("inf")), "not JSON"),
        (packed(msgpack.ExtType(5, b"x")), "extension type 5"),
        (packed(msgpack.ExtType(1, b"007")), "not written as it should be"),
        (packed(msgpack.ExtType(1, b"7")), "not written as it should be"),
        (packed(msgpack.ExtType(1, b"1_000_000_000_000_000_000_000")), "not written as it should be"),
        (packed(msgpack.ExtType(1, b"x")), "no value"),
        (packed(msgpack.Timestamp(1, 1)), "Timestamp is not JSON"),
        (b"\x82\xa1a\xc0\xa1a\xc0", "key twice"),
        (b"\x81\xc0\xc0", "no value"),
        (b"\x81\x01\xc0", "no value"),
        (b"\x81\xc4\x00\xc0", "a key of a mapping is no text"),
        (b"\xa1\xff", "no value"),
        (b"\x91" * 300 + b"\xc0", "deeper than 200"),
        (b"\x91" * 100_000 + b"\xc0", "no value"),
    ],
)
def test_bad_bytes_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        unpack(data)


def test_limits_of_reading() -> None:
    data = pack([[1, 2], [3, 4]])
    assert unpack(data, max_bytes=len(data), max_depth=2, max_items=6) == [[1, 2], [3, 4]]
    with pytest.raises(CodecError, match="more than the 3 allowed"):
        unpack(data, max_bytes=3)
    with pytest.raises(CodecError, match="deeper than 1 levels"):
        unpack(data, max_depth=1)
    with pytest.raises(CodecError, match="more than 5 parts"):
        unpack(data, max_items=5)


def test_claimed_sizes_take_no_memory() -> None:
    source = (
        "import resource; from noetl_ir.codec import CodecError, unpack\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for head in (b'\\xdd\\x00\\x0f\\xff\\xff', b'\\xdd\\xff\\xff\\xff\\xff', b'\\xdf\\x00\\x0f\\xff\\xff'):\n"
        "    try: unpack(head * 200_000)\n"
        "    except CodecError: pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 50_000  # KiB


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {1: 2},
        {None: 1, "a": 2},
        (1,),
        b"x",
        object(),
    ],
)
def test_what_is_not_json_is_not_written(value: Any) -> None:
    with pytest.raises(CodecError):
        pack(value)


def test_an_integer_without_decimal_digits_is_not_written() -> None:
    with pytest.raises(CodecError, match="more digits"):
        pack(10**5000)


def test_a_value_that_nests_too_deeply_is_not_written() -> None:
    value: Json = None
    for _ in range(300):
        value = [value]
    with pytest.raises(CodecError, match="deeper"):
        pack(value)


def test_scenario_92_nul_and_lone_surrogates_survive() -> None:
    value: Json = {"a" + chr(0) + "b": chr(0) + chr(0xD800), "\ud83d\ude00": ["😀"]}
    assert unpack(pack(value)) == value


def test_scenario_94_big_integers_survive_exactly() -> None:
    value: Json = {
        "id": 9007199254740993,
        "huge": 123456789012345678901234567890,
        "edges": [2**64 - 1, 2**64, -(2**63), -(2**63) - 1],
    }
    assert exactly(unpack(pack(value))) == exactly(value)


def test_a_list_is_read_part_by_part() -> None:
    parts = PartReader(pack([[1, [2.5, None]], {"a": ["ü" * 2_000_000]}, 2**70]))
    assert [parts.enter(), parts.enter()] == [3, 2]
    assert [parts.value(), parts.value()] == [1, [2.5, None]]
    assert [parts.value(), parts.value()] == [{"a": ["ü" * 2_000_000]}, 2**70]


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x92\x01", b"\x91\x01\x01", b"\x91" * 2000 + b"\x00"])
def test_parts_are_refused_as_wholes_are(data: bytes) -> None:
    with pytest.raises(CodecError):
        unpack(data)
    with pytest.raises(CodecError):
        PartReader(data).value()


def test_parts_keep_to_the_limits() -> None:
    data = pack([[1, 2], [3, [4]]])
    parts = PartReader(data, max_items=7, max_depth=1)
    assert [parts.enter(), parts.value()] == [2, [1, 2]]
    with pytest.raises(CodecError, match="deeper"):
        parts.value()
    parts = PartReader(data, max_items=4)
    assert [parts.enter(), parts.value()] == [2, [1, 2]]
    with pytest.raises(CodecError, match="parts"):
        parts.value()
    with pytest.raises(CodecError):
        PartReader(pack({"a": 1})).enter()


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_numbers_of_one_byte_are_found_as_they_lie(count: int) -> None:
    numbers = [number % 160 - 32 for number in range(count)]
    data = memoryview(codec.pack(numbers))
    found = codec.small_numbers(data)
    assert found is not None and found.tolist() == numbers == codec.unpack_trusted(data)
    for larger in (-33, 128, 2**40):
        assert codec.small_numbers(memoryview(codec.pack([*numbers, larger]))) is None


def test_the_parts_of_a_list_are_its_entries() -> None:
    value = [1, [2, {"a": "ü" * 70_000}], "", 2**70]
    assert [codec.unpack_trusted(part) for part in codec.parts_of(memoryview(codec.pack(value)))] == value
    for broken in (b"\x92\x01", b"\x01", b""):
        with pytest.raises(codec.CodecError):
            codec.parts_of(memoryview(broken))
