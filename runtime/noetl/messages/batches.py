"""Several messages of one kind as one: reports to a server, or answers to a worker.

Each part is a message of its own, with a key and a number that its answer names: it is read, judged, answered and sent
again alone. A batch begins with a mark that no single message begins with, and goes only to processes that are known to
read batches, since older ones do not. Anybody may have sent it, so its sizes and counts are bounded.
"""

import struct
from collections.abc import Iterator, Sequence

from noetl.messages.encoding import UnreadableMessage
from noetl_ir.records import NamedTuple

MARK = b"\x02"
"""The first byte of a batch."""

MOST_PARTS = 256
MOST_BYTES = 64 << 10
"""Limits of one batch. What is deflated in it grows by a factor of a thousand at most, so it is no larger than the
largest single message.
"""

_HEAD = struct.Struct(">QII")


class BatchPart(NamedTuple):
    """A message in a batch: its number, its key, and its frame."""

    number: int
    key: str
    frame: bytes

    @property
    def size(self) -> int:
        """Bytes that it has in a batch; a key has at most four for a letter."""
        return _HEAD.size + 4 * len(self.key) + len(self.frame)


def grouped(parts: Sequence[BatchPart], most: int) -> Iterator[Sequence[BatchPart]]:
    """Parts in their order, as many together as one batch of at most `most` bytes has; one that is too large for any
    is alone.
    """
    begin = size = 0
    for index, part in enumerate(parts):
        size += part.size
        # A batch has at least one part, or one that is too large for any would never go.
        if index > begin and (index - begin >= MOST_PARTS or size >= min(most, MOST_BYTES)):
            yield parts[begin:index]
            begin, size = index, part.size
    if begin < len(parts):
        yield parts[begin:]


def joined_parts(parts: Sequence[BatchPart]) -> bytes:
    """The batch of some parts."""
    found = [MARK]
    for number, key, frame in parts:
        name = key.encode("utf-8", "surrogatepass")
        found += (_HEAD.pack(number, len(name), len(frame)), name, frame)
    return b"".join(found)


def is_batch(data: bytes) -> bool:
    """Whether a message is a batch."""
    return data[:1] == MARK


def parts_of(data: bytes) -> list[BatchPart]:
    """The parts of a batch, whose frames are still to be read. Raises UnreadableMessage."""
    found: list[BatchPart] = []
    at, end = len(MARK), len(data)
    if end > MOST_BYTES:
        raise UnreadableMessage(f"a batch of {end:,} bytes; at most {MOST_BYTES:,} go together")
    while at < end:
        if at + _HEAD.size > end or len(found) >= MOST_PARTS:
            raise UnreadableMessage("a batch ends early or has too many parts")
        number, named, framed = _HEAD.unpack_from(data, at)
        begin = at + _HEAD.size + named
        at = begin + framed
        if at > end:
            raise UnreadableMessage("a batch ends early")
        try:
            key = data[begin - named : begin].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise UnreadableMessage("a key in a batch is no text") from None
        found.append(BatchPart(number, key, data[begin:at]))
    return found
