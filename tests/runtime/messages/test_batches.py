"""Batches of messages: what is joined comes apart again, within limits, and rubbish is refused."""

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.messages.batches import MARK, MOST_BYTES, MOST_PARTS, BatchPart, grouped, is_batch, joined_parts, parts_of
from noetl.messages.encoding import UnreadableMessage

PARTS = st.lists(
    st.builds(BatchPart, st.integers(0, 2**64 - 1), st.text(st.characters(), max_size=8), st.binary(max_size=40)),
    max_size=9,
)


@given(PARTS)
def test_what_is_joined_comes_apart_again(parts: list[BatchPart]) -> None:
    data = joined_parts(parts)
    assert is_batch(data) and parts_of(data) == parts
    assert len(data) <= 1 + sum(part.size for part in parts)


@given(PARTS, st.integers(1, 400))
def test_groups_keep_the_order_and_are_as_large_as_may_be(parts: list[BatchPart], most: int) -> None:
    groups = [*grouped(parts, most)]
    assert [part for group in groups for part in group] == parts
    for group in groups:
        assert len(group) == 1 or len(joined_parts(group)) <= most
    for before, behind in itertools.pairwise(groups):
        assert sum(part.size for part in (*before, behind[0])) >= most


def test_a_group_has_so_many_parts_and_bytes_at_most() -> None:
    small = [BatchPart(number, "", b"") for number in range(MOST_PARTS + 1)]
    assert [len(group) for group in grouped(small, 1 << 20)] == [MOST_PARTS, 1]
    large = [BatchPart(number, "", bytes(MOST_BYTES // 2)) for number in range(3)]
    assert [len(group) for group in grouped(large, 1 << 20)] == [1, 1, 1]
    assert [len(group) for group in grouped(small[:3], 0)] == [1, 1, 1]


def test_a_batch_over_its_limits_is_refused() -> None:
    with pytest.raises(UnreadableMessage, match="too many parts"):
        parts_of(joined_parts([BatchPart(number, "", b"") for number in range(MOST_PARTS + 1)]))
    with pytest.raises(UnreadableMessage, match="at most 65,536 go together"):
        parts_of(joined_parts([BatchPart(0, "", bytes(MOST_BYTES))]))


@given(PARTS.filter(bool), st.data())
def test_a_batch_that_is_cut_off_is_refused_or_has_fewer_parts(parts: list[BatchPart], data: st.DataObject) -> None:
    whole = joined_parts(parts)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    with contextlib.suppress(UnreadableMessage):
        assert parts_of(cut) == parts[: len(parts_of(cut))] != parts


@given(st.binary(max_size=200))
def test_any_bytes_are_a_batch_or_are_refused(data: bytes) -> None:
    try:
        parts = parts_of(MARK + data)
    except UnreadableMessage:
        return
    assert joined_parts(parts) == MARK + data


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableMessage, match="no text"):
        parts_of(joined_parts([BatchPart(0, "ab", b"")]).replace(b"ab", b"\xff\xfe"))
