"""The port of messages that start playbooks: taken from a stream, kept from others meanwhile, and done with."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from noetl_ir.records import NamedTuple


class StreamQuery(NamedTuple):
    """Which messages: those on a subject, of a stream (empty: the one that has the subject), by the consumer of that
    name, which is made where it is not there. It begins with messages since a time (microseconds since the epoch; 0:
    with all that there are).
    """

    consumer: str
    subject: str
    stream: str = ""
    since: int = 0


class StreamMessage(NamedTuple):
    """A message. `key` tells it from all others that there ever were, `handle` is what an answer goes to."""

    key: str
    subject: str
    headers: Mapping[str, str]
    data: bytes
    handle: str


class MessagesFailure(Exception):
    """Messages cannot be had now; the text says why, without secrets."""


class Messages(Protocol):
    """Where messages come from. One that has no answer within 30 seconds is handed out again, to anybody."""

    def take(self, queries: Sequence[StreamQuery]) -> list["Sequence[StreamMessage] | MessagesFailure"]:
        """Messages that have come for each of some queries; waits for a second where there is none."""
        ...

    def done(self, message: StreamMessage) -> None:
        """A message is dealt with, and not handed out again. It may be lost: then the message comes again."""
        ...

    def later(self, message: StreamMessage, seconds: float) -> None:
        """A message is to be handed out again, not before a time."""
        ...

    def forget(self, query: StreamQuery) -> None:
        """Remove the consumer of a query."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...
