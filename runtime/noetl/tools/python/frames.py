"""Messages between the worker and a python subprocess: 4 bytes of length, then that many bytes of codec."""

import struct

from noetl_ir.codec import pack_unsorted, unpack
from noetl_ir.expr import Json

HEADER = struct.Struct(">I")
READY = b"+"
"""What a fresh subprocess says once it can run code, before its first response."""
MOST = 2**32 - 1
MOST_DEPTH = 512


def frame_of(message: dict[str, Json]) -> bytes:
    """The bytes of a message with their length before them; raises ValueError for one that is too large."""
    data = pack_unsorted(message)
    if len(data) > MOST:
        raise ValueError("the message has more than 4 GiB")
    return HEADER.pack(len(data)) + data


def message_of(data: bytes) -> dict[str, Json]:
    """The message in the bytes after the length."""
    message = unpack(data, max_bytes=MOST, max_depth=MOST_DEPTH, max_items=MOST)
    assert isinstance(message, dict)
    return message
