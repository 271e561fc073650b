"""Notices: every server and worker hears what the others say of themselves. What is lost is said again."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from nats.aio.msg import Msg

from noetl.bus.nats.link import Link, Message
from noetl.bus.nats.wire import Wire, packed, unpacked
from noetl.messages import Unreadable

KEPT = 10_000
"""Notices that wait to be looked at; the oldest go first."""


class NatsBoard:
    """A `Board`. It hears from the first look on."""

    def __init__(self, link: Link, wire: Wire) -> None:
        self._link = link
        self._wire = wire
        self._subjects = link.subjects
        self._heard: deque[Any] | None = None

    def say(self, notice: Any) -> None:
        """`Board.say`. While NATS is away it is not said."""
        if self._link.is_up:
            self._link.send(
                Message(self._subjects.notices, packed(self._wire.write_notice(notice), self._link.largest))
            )

    def notices(self) -> Sequence[Any]:
        """`Board.notices`."""
        if self._heard is None:
            self._heard = deque(maxlen=KEPT)
            self._link.wait(self._link.hear(self._subjects.heard, self._hear))
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return found

    def _hear(self, message: Msg) -> None:
        try:
            notice = self._wire.read_notice(unpacked(message.data))
        except Unreadable:
            return
        # A worker speaks for itself: what servers say, and what workers of other pools say, is not for it to say.
        if self._heard is not None and self._subjects.may_say(message.subject, self._wire.pool_of(notice)):
            self._heard.append(notice)
            self._link.wake()
