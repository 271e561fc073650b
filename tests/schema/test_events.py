"""noetl_ir.events: what stored bytes are an event, small ones and large ones alike."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_ir import codec
from noetl_ir.events import MAX_DEPTH, Event, Firing, read_event, write_event

FIELDS: list[Any] = [
    "s1",
    "step.done",
    5,
    1,
    "7",
    2,
    1,
    1,
    1,
    [[3, "7", ["7", ""]], [4, "7", "7"]],
    {"a": [1, {"b": None}]},
]


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


ODD = st.sampled_from(
    [None, True, 1.5, float("nan"), float("inf"), b"", b"x", msgpack.Timestamp(1), msgpack.ExtType(1, b"7"),
     msgpack.ExtType(1, str(2**70).encode()), msgpack.ExtType(9, b""), {}, {"a": float("nan")}, {"a": b""}, {1: 2},
     [], [[]], [[1, "a"]], [[1, "a", b""]], [["1", "a", "b"]], [[True, "a", "b"]], [[1, {"a": 1}, "b"]], "", "abc", 0,
     -1, 2**63, {"a": nested(480)}, {"a": nested(MAX_DEPTH - 1)}, {"a": nested(MAX_DEPTH)}, [[1, [1], ["a"]]]]
)  # fmt: skip


@given(st.dictionaries(st.integers(0, 10), ODD, max_size=2), st.sampled_from([0, 2_000]), st.integers(-1, 1))
def test_small_and_large_bytes_are_events_by_one_rule(odd: dict[int, object], padding: int, more: int) -> None:
    """Whether a value is allowed is for `codec.unpack`; the form of an event is checked here field by field."""
    fields = [odd.get(number, field) for number, field in enumerate(FIELDS)]
    fields = fields[:-1] if more < 0 else [*fields, *[None] * more]
    if padding and isinstance(fields[-1], dict):
        fields[-1] = {**fields[-1], "pad": "x" * padding}
    body = msgpack.packb(fields, strict_types=False)
    try:
        value: Any = codec.unpack(body, max_depth=MAX_DEPTH)
        assert len(value) == 11 and isinstance(value[10], dict) and isinstance(value[9], list)
        kinds = (str, str, int, int, str, int, int, int, int)
        assert all(type(field) is kind for field, kind in zip(value, kinds, strict=False))
        keys = [key for firing in value[9] for key in _keys_of(firing)]
        assert all(isinstance(key, str) for key in keys)
    except (codec.CodecError, AssertionError, TypeError, ValueError):
        with pytest.raises(codec.CodecError):
            read_event(body)
        return
    event = read_event(body)
    assert event[:9] == tuple(value[:9]) and event.data == value[10]
    assert [[n, *map(_listed, keys)] for n, *keys in event.fired] == value[9]
    assert read_event(write_event(event)) == event


def _keys_of(firing: Any) -> list[Any]:
    number, took, made = firing
    assert type(number) is int and all(isinstance(keys, str | list) for keys in (took, made))
    return [*([took] if isinstance(took, str) else took), *([made] if isinstance(made, str) else made)]


def _listed(keys: Any) -> object:
    return keys if isinstance(keys, str) else list(keys)


def test_firings_are_what_they_were() -> None:
    event = read_event(msgpack.packb(FIELDS))
    assert event.fired == (Firing(3, "7", ("7", "")), Firing(4, "7", "7")) and type(event) is Event
    assert type(event.fired[0]) is Firing and event.fired[1].made == "7"


@pytest.mark.parametrize(
    "body", [b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x91" * 900, b"\x90\x90"]
)
def test_bytes_that_are_nothing_are_no_event(body: bytes) -> None:
    with pytest.raises(codec.CodecError):
        read_event(body)
