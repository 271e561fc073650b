"""Broadcasts: every server and worker hears what the others say of themselves. What is lost is said again."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from nats.aio.msg import Msg

from noetl.bus.nats.codec import Codec, packed_body, unpacked_body
from noetl.bus.nats.connection import Message, NatsConnection
from noetl.messages.encoding import UnreadableMessage

KEPT = 10_000
"""Broadcasts that wait to be looked at; the oldest go first."""


class NatsBroadcasts:
    """A `Broadcasts`. It receives only what is said after the first call of `received`."""

    def __init__(self, connection: NatsConnection, codec: Codec) -> None:
        self._connection = connection
        self._codec = codec
        self._subjects = connection.subjects
        self._heard: deque[Any] | None = None

    def say(self, broadcast: Any) -> None:
        """As `Broadcasts.say`. A broadcast is dropped while NATS is away: it would be old when NATS is back."""
        if self._connection.is_up:
            self._connection.send(
                Message(
                    self._subjects.broadcasts,
                    packed_body(self._codec.write_broadcast(broadcast), self._connection.largest),
                )
            )

    def received(self) -> Sequence[Any]:
        if self._heard is None:
            self._heard = deque(maxlen=KEPT)
            self._connection.wait(self._connection.hear(self._subjects.heard, self._hear))
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return found

    def _hear(self, message: Msg) -> None:
        try:
            broadcast = self._codec.read_broadcast(unpacked_body(message.data))
        except UnreadableMessage:
            return
        # NATS lets a worker publish on the subject of its own pool only. So a broadcast is believed only where its
        # subject fits its content; else a worker could speak as a server, or as another pool.
        if self._heard is not None and self._subjects.may_say(message.subject, self._codec.pool_of(broadcast)):
            self._heard.append(broadcast)
            self._connection.wake()
