"""Reports and their answers, straight between a worker and the server that it works for.

A worker knows where a report goes from the order that it is about, and from each answer. Where that server is gone,
NATS says so at once, and the report goes to any other one, which hands it on to all where it is not its own. One that
is there and silent, cut off or stopped, is passed by after `QueueLimits.silence_seconds`: then all servers are asked,
as one of them may have taken over. A report that gets lost is repeated by its worker, so nothing is stored on the way.

What is said while messages are collected (`together`) goes in batches, to whoever is known to read them: a server whose
address says so, and a worker that sent a batch. In a batch each report is judged, answered and repeated alone.
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
from noetl.bus.nats.codec import Codec, packed_body, unpacked_body
from noetl.bus.nats.connection import Message, NatsConnection, status_of
from noetl.bus.nats.dead_letters import DeadLetters
from noetl.bus.nats.names import header_of, text_of
from noetl.bus.nats.publisher import FROM, KEY
from noetl.bus.nats.queues import QueueLimits
from noetl.messages.batches import BatchPart, grouped, is_batch, joined_parts, parts_of
from noetl.messages.encoding import UnreadableMessage
from noetl.ports.bus import REPORTS, DeadLetter, Full
from noetl_ir.records import NamedTuple

FORGET_AFTER = 120.0
"""Seconds after which a report that is neither answered nor repeated takes no room any more."""

_ROUTES = 100_000
_BATCHES = 10_000


class NatsTicket:
    """A `Ticket`."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: Any = None


class _OpenRequest(NamedTuple):
    """A report without an answer: when it was sent (`at`, monotonic seconds), whether it went to any server instead of
    its own (`is_any`), and the id of the execution that it is `about`.
    """

    ticket: NatsTicket
    key: str
    frame: bytes
    at: float
    is_any: bool
    about: str


class ReportRequests:
    """The worker's side: sends reports, and takes in their answers."""

    def __init__(
        self, connection: NatsConnection, limits: QueueLimits, codec: Codec, dead_letters: DeadLetters
    ) -> None:
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
        self._batches: BoundedTable[int, list[int]] = BoundedTable(_BATCHES)
        self._collected: dict[str, list[BatchPart]] | None = None
        connection.wait(connection.hear(f"{self._inbox}.*", self._answered))

    def route(self, execution_id: str, sender: str) -> None:
        """Reports about an execution go to this server from now on."""
        self._routes[execution_id] = sender

    def collect(self) -> None:
        """Keep the reports from now on until they are sent."""
        with self._lock:
            self._collected = self._collected or {}

    def send(self) -> None:
        """Send what was collected, to each server in as few messages as it reads."""
        with self._lock:
            collected, self._collected = self._collected or {}, None
        for subject, parts in collected.items():
            most = self._connection.largest if self._connection.subjects.takes_batches(subject) else 0
            for group in grouped(parts, most):
                self._send(subject, group)

    def _send(self, subject: str, parts: Sequence[BatchPart]) -> None:
        first = parts[0]
        if len(parts) == 1:
            self._connection.send(self._message(subject, first.number, first.key, first.frame))
            return
        # Where nobody hears the address, NATS says so about the batch, by the number of its first report.
        self._batches[first.number] = [part.number for part in parts]
        self._connection.send(Message(subject, joined_parts(parts), f"{self._inbox}.{first.number}"))

    def _message(self, subject: str, number: int, key: str, frame: bytes) -> Message:
        return Message(subject, frame, f"{self._inbox}.{number}", {KEY: header_of(key)})

    def report(self, key: str, report: Any) -> NatsTicket:
        """Send a report, or collect it. Raises Full, TooLarge."""
        frame, ticket = packed_body(self._codec.write_report(report), self._connection.largest), NatsTicket()
        about = self._codec.about(report)
        # A server that hangs is still subscribed, so NATS says nothing of it. Only the missing answer shows that
        # another one may have taken over.
        sender = self._all if self._is_silent(about) else self._routes.get(about, "")
        with self._lock:
            if not self._connection.is_up or not self._has_room(key):
                raise Full(f"the queue {REPORTS!r} takes no more for now")
            number = next(self._numbers)
            self._asked[number] = _OpenRequest(ticket, key, frame, time.monotonic(), not sender, about)
            self._keys.setdefault(key, []).append(number)
            if self._collected is not None:
                self._collected.setdefault(sender or self._any, []).append(BatchPart(number, key, frame))
                return ticket
        self._connection.send(self._message(sender or self._any, number, key, frame))
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
            numbers = self._keys.get(asked.key, [])
            if number in numbers:
                numbers.remove(number)
            if not numbers:
                self._keys.pop(asked.key, None)
        return asked

    def _answered(self, answer: Msg) -> None:
        number = int(answer.subject.rpartition(".")[2])
        if status_of(answer):
            for each in self._batches.pop(number, [number]):
                self._ask_any(each)
            return
        sender = (answer.headers or {}).get(FROM, "")
        # A batch has the numbers of its own parts: it is sent on that of the first one.
        try:
            parts = parts_of(answer.data) if is_batch(answer.data) else [BatchPart(number, "", answer.data)]
        except UnreadableMessage:
            return
        if sum([self._is_read(part, sender) for part in parts]):
            self._connection.wake()

    def _ask_any(self, number: int) -> None:
        """NATS says that nobody hears the server's address. The report goes to any other one, once."""
        asked = self._asked.get(number)
        # Once only: where no server at all is there, the report would else go round for ever.
        if asked is not None and not asked.is_any:
            self._asked[number] = asked._replace(is_any=True)
            self._connection.send(self._message(self._any, number, asked.key, asked.frame))

    def _is_read(self, part: BatchPart, sender: str) -> bool:
        """Whether an answer is one to a report that waits for it; whoever asked has it then."""
        asked = self._asked.get(part.number)
        if asked is None:
            return False
        try:
            asked.ticket.answer = self._codec.read_answer(unpacked_body(part.frame))
        except UnreadableMessage:
            return False
        self._silent.pop(asked.about, None)
        if sender:  # another server than the one that it was sent to
            self.route(asked.about, sender)
        with self._lock:
            # The same report has the same answer, however often it was sent.
            for each in list(self._keys.get(asked.key, [part.number])):
                if (other := self._forget(each)) is not None:
                    other.ticket.answer = asked.ticket.answer
        return True


class NatsReportDelivery:
    """A `NatsReportDelivery`: one handing out of a report."""

    __slots__ = ("_replies", "_said", "body", "is_out", "key", "redeliveries")

    def __init__(self, replies: "ReportReplies", said: "_Heard", body: Any, redeliveries: int = 0) -> None:
        self._replies = replies
        self._said = said
        self.key = said.part.key
        self.body = body
        self.redeliveries = redeliveries
        self.is_out = True

    def answer(self, answer: Any) -> None:
        self._replies.tell(self._said, answer)
        self.ack()

    def pass_on(self, answer: Any) -> None:
        """As in `NatsReportDelivery`. Where no server has the execution yet, the worker repeats the report later."""
        if self.is_out:
            self._replies.pass_on(self._said)
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
        again = NatsReportDelivery(self._replies, self._said, self.body, self.redeliveries + 1)
        self._replies.again(again, delay / 1_000_000)

    def in_progress(self) -> None:
        """Nothing: a report is delivered to one server, and is not taken from it."""

    def dead_letter(self, reason: str) -> None:
        if self.is_out:
            self._replies.dead_letters.keep(DeadLetter(REPORTS, self.key, self.redeliveries + 1, reason), lambda: None)
            self.ack()


class _Heard(NamedTuple):
    """A report as it came: its subject, the subject of its answer without the number (`inbox`), and whether it came in
    a batch, which shows that its sender reads batches.
    """

    subject: str
    inbox: str
    part: BatchPart
    is_batched: bool

    @property
    def reply(self) -> str:
        """Where its answer goes."""
        return f"{self.inbox}.{self.part.number}"


class ReportReplies:
    """The server's side. It listens from the first call of `reports` on; `address` is the subject of its own
    reports.
    """

    def __init__(
        self, connection: NatsConnection, limits: QueueLimits, codec: Codec, dead_letters: DeadLetters
    ) -> None:
        self.limits = limits
        self.dead_letters = dead_letters
        self.address = connection.subjects.batches_to(secrets.token_hex(12))
        self._connection = connection
        self._codec = codec
        self._any = connection.subjects.any_server
        self._all = connection.subjects.all_servers
        self._is_open = False
        self._lock = threading.Lock()
        self._size = 0
        self._waiting: deque[NatsReportDelivery] = deque()
        self._collected: dict[tuple[str, bool], list[BatchPart]] | None = None

    def collect(self) -> None:
        """Keep the answers from now on until they are sent."""
        self._collected = self._collected or {}

    def send(self) -> None:
        """Send what was collected, to each worker in as few messages as may be."""
        collected, self._collected = self._collected or {}, None
        for (inbox, is_known), parts in collected.items():
            for group in grouped(parts, self._connection.largest):
                data = group[0].frame if len(group) == 1 else joined_parts(group)
                self._send(f"{inbox}.{group[0].number}", data, is_known=is_known)

    def reports(self) -> Sequence[NatsReportDelivery]:
        """All reports that wait now."""
        if not self._is_open:
            self._is_open = True
            self._connection.wait(self._open())
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found

    def tell(self, said: _Heard, answer: Any) -> None:
        """Answer a report, or collect the answer where it can go in a batch."""
        frame = packed_body(self._codec.write_answer(answer), self._connection.largest)
        is_known = said.subject == self.address
        if said.is_batched and self._collected is not None:
            self._collected.setdefault((said.inbox, is_known), []).append(BatchPart(said.part.number, "", frame))
        else:
            self._send(said.reply, frame, is_known=is_known)

    def _send(self, reply: str, data: bytes, *, is_known: bool) -> None:
        """Send an answer. Where the worker does not know this server's address yet, a header tells it."""
        # Who sent it straight here knows the address; the header is saved on nearly every answer.
        self._connection.send(Message(reply, data, "", None if is_known else {FROM: self.address}))

    def pass_on(self, said: _Heard) -> None:
        """Have all servers hear what is not for this one; what they were passed already goes no further."""
        # What all have heard already is passed on by none, else two servers would send it to each other without end.
        # It goes alone: among all servers may be one that reads no batches.
        if said.subject != self._all:
            self._connection.send(Message(self._all, said.part.frame, said.reply, {KEY: header_of(said.part.key)}))

    def again(self, delivery: NatsReportDelivery, seconds: float) -> None:
        """Have a report come again."""
        if seconds > 0:
            self._connection.soon(lambda: self._connection.later(seconds, self._arrive, delivery))
        else:
            self._arrive(delivery)

    def done(self) -> None:
        """A report was dealt with: there is room for one more."""
        with self._lock:
            self._size -= 1

    async def _open(self) -> None:
        await self._connection.hear(self.address, self._heard)
        # A queue group: NATS gives each report to one of the servers.
        await self._connection.hear(self._any, self._heard, "servers")
        await self._connection.hear(self._all, self._heard)

    def _heard(self, message: Msg) -> None:
        """Take in a message with one report or a batch; one that wants its answer on a subject of others is dropped."""
        # The answer is sent with the server's rights. A report that asks for it on the subject of an order would have
        # the server speak for whoever sent it.
        if not self._connection.subjects.may_be_answered(message.reply):
            return
        inbox, _, number = message.reply.rpartition(".")
        is_batched = is_batch(message.data)
        key = text_of((message.headers or {}).get(KEY))
        try:
            parts = parts_of(message.data) if is_batched else [BatchPart(int(number), key, message.data)]
        except (UnreadableMessage, ValueError) as problem:
            self._cannot_read(key, problem)
            return
        found = [self._read(_Heard(message.subject, inbox, part, is_batched)) for part in parts]
        if any(found):
            self._connection.wake()

    def _read(self, said: _Heard) -> bool:
        """Whether a report can be read and has room; without room it is dropped, and comes again."""
        try:
            body = self._codec.read_report(unpacked_body(said.part.frame))
        except UnreadableMessage as problem:
            self._cannot_read(said.part.key, problem)
            return False
        with self._lock:
            if self._size >= self.limits.capacity:
                return False
            self._size += 1
        self._waiting.append(NatsReportDelivery(self, said, body))
        return True

    def _cannot_read(self, key: str, problem: Exception) -> None:
        self.dead_letters.keep(DeadLetter(REPORTS, key, 1, f"it cannot be read: {problem}"), lambda: None)

    def _arrive(self, delivery: NatsReportDelivery) -> None:
        self._waiting.append(delivery)
        self._connection.wake()
