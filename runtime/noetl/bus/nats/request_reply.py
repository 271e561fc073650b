"""Reports and their answers, straight between a worker and the server that it works for.

A worker knows where a report goes from the order that it is about, and from each answer. Where that server is gone,
NATS says so at once, and the report goes to any other one, which hands it on to all where it is not its own. One that
is there and silent, cut off or stopped, is passed by after `Limits.silence_seconds`: then all servers are asked, as
one of them may have taken over. A report that gets lost is repeated by its worker, so nothing is stored on the way.
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any

from nats.aio.msg import Msg

from noetl.bounded_table import BoundedTable
from noetl.bus.nats.codec import Codec, packed, unpacked
from noetl.bus.nats.connection import Message, NatsConnection, status_of
from noetl.bus.nats.dead_letters import DeadLetters
from noetl.bus.nats.names import header_of, text_of
from noetl.bus.nats.publisher import FROM, KEY
from noetl.bus.nats.queues import Limits
from noetl.messages.encoding import UnreadableMessage
from noetl.ports import DeadLetter, Full
from noetl_ir.records import NamedTuple

REPORTS = "@reports"
"""The name of the reports' queue among the dead letters."""

FORGET_AFTER = 120.0
"""Seconds after which a report that is neither answered nor repeated takes no room any more."""

_ROUTES = 100_000


class NatsTicket:
    """A `Ticket`."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: Any = None


class _OpenRequest(NamedTuple):
    """A report that has no answer yet, when it was sent, whether it went to any server, and what it is about."""

    ticket: NatsTicket
    message: Message
    at: float
    is_any: bool
    about: str


class ReportRequests:
    """The side of the worker."""

    def __init__(self, connection: NatsConnection, limits: Limits, codec: Codec, dead_letters: DeadLetters) -> None:
        self._connection = connection
        self._limits = limits
        self._codec = codec
        self._dead_letters = dead_letters
        self._any = connection.subjects.any_server
        self._all = connection.subjects.all_servers
        self._inbox = connection.inbox
        self._lock = threading.Lock()
        self._numbers = count()
        self._asked: dict[int, _OpenRequest] = {}
        self._keys: dict[str, list[int]] = {}
        self._routes: BoundedTable[str, str] = BoundedTable(_ROUTES)
        self._silent: BoundedTable[str, float] = BoundedTable(_ROUTES)
        connection.wait(connection.hear(f"{self._inbox}.*", self._answered))

    def route(self, execution_id: str, sender: str) -> None:
        """Reports about an execution go to this server from now on."""
        self._routes[execution_id] = sender

    def report(self, key: str, report: Any) -> NatsTicket:
        """Send a report. Raises Full, TooLarge."""
        frame, ticket = packed(self._codec.write_report(report), self._connection.largest), NatsTicket()
        about = self._codec.about(report)
        # A server that hangs is still subscribed, so NATS says nothing of it. Only the missing answer shows that
        # another one may have taken over.
        sender = self._all if self._is_silent(about) else self._routes.get(about, "")
        with self._lock:
            if not self._connection.is_up or not self._has_room(key):
                raise Full(f"the queue {REPORTS!r} takes no more for now")
            number = next(self._numbers)
            message = Message(sender or self._any, frame, f"{self._inbox}.{number}", {KEY: header_of(key)})
            self._asked[number] = _OpenRequest(ticket, message, time.monotonic(), not sender, about)
            self._keys.setdefault(key, []).append(number)
        self._connection.send(message)
        return ticket

    def _is_silent(self, about: str) -> bool:
        """Whether nothing that was said about an execution has had an answer for too long."""
        now = time.monotonic()
        return now - self._silent.setdefault(about, now) > self._limits.silence_seconds

    def _has_room(self, key: str) -> bool:
        # A report that is sent again takes no further room: were it refused, the one that is lost would never be
        # repeated.
        if key in self._keys or len(self._keys) < self._limits.capacity:
            return True
        # Looked for only where there is no room: in quiet times nothing is walked over.
        old = time.monotonic() - FORGET_AFTER
        for number in [number for number, asked in self._asked.items() if asked.at < old]:
            self._forget(number)
        return len(self._keys) < self._limits.capacity

    def _forget(self, number: int) -> _OpenRequest | None:
        asked = self._asked.pop(number, None)
        if asked is not None:
            key = text_of((asked.message.headers or {}).get(KEY))
            numbers = self._keys.get(key, [])
            if number in numbers:
                numbers.remove(number)
            if not numbers:
                self._keys.pop(key, None)
        return asked

    def _answered(self, answer: Msg) -> None:
        number = int(answer.subject.rpartition(".")[2])
        asked = self._asked.get(number)
        if asked is None:
            return
        if status_of(answer):
            # NATS says that nobody hears that server's address. The report goes to any other one, once.
            # Once only: where no server at all is there, the report would else go round for ever.
            if not asked.is_any:
                self._asked[number] = asked._replace(is_any=True)
                self._connection.send(asked.message._replace(subject=self._any))
            return
        try:
            asked.ticket.answer = self._codec.read_answer(unpacked(answer.data))
        except UnreadableMessage:
            return
        self._silent.pop(asked.about, None)
        if sender := (answer.headers or {}).get(FROM):  # another server than the one that it was sent to
            self.route(asked.about, sender)
        with self._lock:
            # The same report has the same answer, however often it was sent.
            key = text_of((asked.message.headers or {}).get(KEY))
            for each in list(self._keys.get(key, [number])):
                if (other := self._forget(each)) is not None:
                    other.ticket.answer = asked.ticket.answer
        self._connection.wake()


class ReportDelivery:
    """A `ReportDelivery`: one handing out of a report."""

    __slots__ = ("_message", "_replies", "body", "is_out", "key", "redeliveries")

    def __init__(self, replies: "ReportReplies", key: str, body: Any, message: Msg, redeliveries: int = 0) -> None:
        self._replies = replies
        self._message = message
        self.key = key
        self.body = body
        self.redeliveries = redeliveries
        self.is_out = True

    def answer(self, answer: Any) -> None:
        self._replies.tell(self._message, answer)
        self.ack()

    def pass_on(self, answer: Any) -> None:
        """Nobody may be there who has it yet; then it is repeated by the reporter."""
        if self.is_out:
            self._replies.pass_on(self._message)
        self.ack()

    def ack(self) -> None:
        if self.is_out:
            self.is_out = False
            self._replies.done()

    def nak(self, reason: str, delay: int = 0) -> None:
        if not self.is_out:
            return
        if self.redeliveries + 1 >= self._replies.limits.deliveries:
            self.dead_letter(reason)
            return
        self.is_out = False
        again = ReportDelivery(self._replies, self.key, self.body, self._message, self.redeliveries + 1)
        self._replies.again(again, delay / 1_000_000)

    def in_progress(self) -> None:
        """A report is nobody else's."""

    def dead_letter(self, reason: str) -> None:
        if self.is_out:
            self._replies.dead_letters.keep(DeadLetter(REPORTS, self.key, self.redeliveries + 1, reason), lambda: None)
            self.ack()


class ReportReplies:
    """The side of the server, which hears once it asks for the first time. `address` is where its reports go."""

    def __init__(self, connection: NatsConnection, limits: Limits, codec: Codec, dead_letters: DeadLetters) -> None:
        self.limits = limits
        self.dead_letters = dead_letters
        self.address = connection.subjects.reports_to(secrets.token_hex(12))
        self._connection = connection
        self._codec = codec
        self._any = connection.subjects.any_server
        self._all = connection.subjects.all_servers
        self._is_open = False
        self._lock = threading.Lock()
        self._size = 0
        self._waiting: deque[ReportDelivery] = deque()

    def reports(self) -> Sequence[ReportDelivery]:
        """All reports that wait now."""
        if not self._is_open:
            self._is_open = True
            self._connection.wait(self._open())
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found

    def tell(self, message: Msg, answer: Any) -> None:
        """Answer a report; who did not know where it goes knows it then."""
        frame = packed(self._codec.write_answer(answer), self._connection.largest)
        # Who sent it straight here knows the address; the header is saved on nearly every answer.
        sender = None if message.subject == self.address else {FROM: self.address}
        self._connection.send(Message(message.reply, frame, "", sender))

    def pass_on(self, message: Msg) -> None:
        """Have all servers hear what is not for this one; what they were passed already goes no further."""
        # What all have heard already is passed on by none, else two servers would send it to each other without end.
        if message.subject != self._all:
            self._connection.send(Message(self._all, message.data, message.reply, dict(message.headers or {})))

    def again(self, delivery: ReportDelivery, seconds: float) -> None:
        """Have a report come again."""
        if seconds > 0:
            self._connection.soon(lambda: self._connection.later(seconds, self._arrive, delivery))
        else:
            self._arrive(delivery)

    def done(self) -> None:
        """There is room for one more."""
        with self._lock:
            self._size -= 1

    async def _open(self) -> None:
        await self._connection.hear(self.address, self._heard)
        # A queue group: NATS gives each report to one of the servers.
        await self._connection.hear(self._any, self._heard, "servers")
        await self._connection.hear(self._all, self._heard)

    def _heard(self, message: Msg) -> None:
        """A report; when there is no room it is dropped, and comes again. What asks for an answer elsewhere is, too."""
        # The answer is sent with the server's rights. A report that asks for it on the subject of an order would have
        # the server speak for whoever sent it.
        if not self._connection.subjects.may_be_answered(message.reply):
            return
        key = text_of((message.headers or {}).get(KEY))
        try:
            body = self._codec.read_report(unpacked(message.data))
        except UnreadableMessage as problem:
            self.dead_letters.keep(DeadLetter(REPORTS, key, 1, f"it cannot be read: {problem}"), lambda: None)
            return
        with self._lock:
            if self._size >= self.limits.capacity:
                return
            self._size += 1
        self._arrive(ReportDelivery(self, key, body, message))

    def _arrive(self, delivery: ReportDelivery) -> None:
        self._waiting.append(delivery)
        self._connection.wake()
