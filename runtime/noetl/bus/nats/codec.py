"""Messages to bytes and back: which codec a bus uses, and the frame around each body."""

import zlib
from collections.abc import Callable
from typing import Any

from noetl.messages.encoding import (
    MAX_BYTES,
    UnreadableMessage,
    read_answer,
    read_broadcast,
    read_order,
    read_report,
    write_answer,
    write_broadcast,
    write_order,
    write_report,
)
from noetl.ports.bus import MessageTooLarge
from noetl_ir.records import NamedTuple

_PLAIN, _DEFLATED = b"\x00", b"\x01"
_SMALL = 4096
"""Bytes below which a body goes as it is."""


class Codec(NamedTuple):
    """How bodies are written and read; readers raise UnreadableMessage. `about` gives the id of the execution that a
    body is about; `pool_of` the pool of the worker that says a broadcast, None for one that only servers say.
    """

    write_order: Callable[[Any], bytes]
    read_order: Callable[[bytes], Any]
    write_report: Callable[[Any], bytes]
    read_report: Callable[[bytes], Any]
    write_answer: Callable[[Any], bytes]
    read_answer: Callable[[bytes], Any]
    about: Callable[[Any], str]
    write_broadcast: Callable[[Any], bytes] = write_broadcast
    read_broadcast: Callable[[bytes], Any] = read_broadcast
    pool_of: Callable[[Any], str | None] = lambda broadcast: getattr(broadcast, "pool", None)


def _about(body: Any) -> str:
    return str(getattr(body, "execution_id", ""))  # an order to a worker is about none


MESSAGES = Codec(write_order, read_order, write_report, read_report, write_answer, read_answer, _about)
"""The codec of servers and workers."""


def packed_body(body: bytes, largest: int) -> bytes:
    """The frame of a body; a large one is deflated. Raises MessageTooLarge; `largest` is 0 before that is known."""
    # Level 1: orders are JSON-like and shrink to a fifth at any level, and the higher ones cost more time than the
    # network does.
    frame = _PLAIN + body if len(body) < _SMALL else _DEFLATED + zlib.compress(body, 1)
    if len(frame) > largest > 0:
        raise MessageTooLarge(f"{len(frame):,} bytes are more than the bus takes ({largest:,})")
    return frame


def unpacked_body(frame: bytes) -> bytes:
    """The body in a frame. Raises UnreadableMessage, also for one that would be too large."""
    if frame[:1] == _PLAIN:
        return frame[1:]
    if frame[:1] != _DEFLATED:
        raise UnreadableMessage("a frame of an unknown kind")
    inflating = zlib.decompressobj()
    try:
        # Bounded: a frame of a megabyte may inflate to a thousand.
        body = inflating.decompress(frame[1:], MAX_BYTES)
    except zlib.error as problem:
        raise UnreadableMessage(f"a frame that cannot be inflated [{problem}]") from None
    if inflating.unconsumed_tail or not inflating.eof:
        raise UnreadableMessage("a frame that is cut off or too large")
    return body
