"""Starts by messages: those that come for the triggers of a store are started, and done with behind that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256

from noetl.clients.content import json_of
from noetl.ports.messages import Messages, MessagesFailure, StreamMessage, StreamQuery
from noetl.ports.triggers import Triggers
from noetl.server.schedules.starter import StartRefused
from noetl.server.triggers.document import MOST_BYTES, NATS, NatsSubject
from noetl.server.triggers.mapping import NotMapped
from noetl.server.triggers.starter import Happening, KnownTrigger, TriggerStarter, key_of
from noetl_ir import codec
from noetl_ir.expr import Json

WITHIN = 2.0
"""Seconds that a look waits for the servers of messages; one that takes longer goes on by itself."""

AGAIN = 5.0
"""Seconds until a message is handed out again whose start could not be made, and until a server of messages that could
not be reached is tried again.
"""


class _Visit(threading.Thread):
    """A piece of work with one server of messages, which may hang. `problem` is what it failed with."""

    def __init__(self, work: Callable[[], None]) -> None:
        # Who ends the process waits for no server that does not answer.
        super().__init__(name="noetl-messages-at", daemon=True)
        self._work = work
        self.problem: Exception | None = None

    def run(self) -> None:
        """Once."""
        try:
            self._work()
        except Exception as problem:
            self.problem = problem


class MessageStarter:
    """Takes messages for the triggers that wait for some. `open_messages` gives the streams at a URL, `bus_url` is
    where they are for documents that name none, empty for nowhere.

    Each URL is dealt with by itself, as one that hangs would else hold up the triggers of all others.
    """

    def __init__(
        self,
        triggers: Triggers,
        starter: TriggerStarter,
        open_messages: Callable[[str], Messages],
        bus_url: str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._triggers = triggers
        self._starter = starter
        self._open_messages = open_messages
        self._bus_url = bus_url
        self._now = now
        self._opened: dict[str, Messages] = {}
        self._not_before: dict[str | StreamQuery, float] = {}
        self._known: dict[StreamQuery, str] = {}
        self._visits: dict[str, _Visit] = {}
        self._closed = False

    def look(self) -> None:
        """Start what has come. Raises StoreFailure, also that of an earlier look which went on by itself."""
        rows = [row for row in self._triggers.rows() if row.kind == NATS]
        waiting: dict[str, list[tuple[KnownTrigger, StreamQuery]]] = {}
        paused = set[StreamQuery]()
        for row in rows:
            known = self._starter.known(row.name)
            if known is None or not isinstance(cause := known.trigger.cause, NatsSubject):
                continue
            query = StreamQuery(_consumer_of(known), cause.subject, cause.stream, _since(known, cause))
            url = cause.url or self._bus_url
            self._known[query] = url
            if row.paused:
                paused.add(query)
            else:
                waiting.setdefault(url, []).append((known, query))
        wanted = {query for pairs in waiting.values() for _, query in pairs} | paused
        left: dict[str, list[StreamQuery]] = {}
        # Copied, as visits change them at the same time.
        for query, url in [*self._known.items()]:
            if query not in wanted:
                left.setdefault(url, []).append(query)
        there = wanted | waiting.keys()
        self._not_before = {at: until for at, until in [*self._not_before.items()] if at in there}
        begun = []
        for url in waiting | left:
            if url not in self._visits:
                work = partial(self._deal_with_url, url, waiting.get(url, []), left.get(url, []), wanted)
                self._visits[url] = _Visit(work)
                self._visits[url].start()
                begun.append(self._visits[url])
        self._collect(begun)

    def _collect(self, begun: Sequence[_Visit]) -> None:
        """Wait for what was begun now, not for long. Raises what it or an earlier one failed with."""
        until = time.monotonic() + WITHIN
        for visit in begun:
            visit.join(max(until - time.monotonic(), 0))
        over = [self._visits.pop(url) for url, visit in [*self._visits.items()] if not visit.is_alive()]
        for visit in over:
            if visit.problem is not None:
                raise visit.problem

    def _deal_with_url(
        self, url: str, pairs: list[tuple[KnownTrigger, StreamQuery]], left: list[StreamQuery], wanted: set[StreamQuery]
    ) -> None:
        self._forget(self._opened.get(url), left, {query.consumer for query in wanted})
        pairs = [pair for pair in pairs if self._now() >= self._not_before.get(pair[1], 0)]
        if pairs:
            self._take(url, pairs)

    def _forget(self, messages: Messages | None, left: list[StreamQuery], names: set[str]) -> None:
        """Remove the consumers of triggers that are not there any more, as far as they were known here."""
        for query in left:
            self._known.pop(query, None)
            if messages is not None and query.consumer not in names:
                messages.forget(query)

    def close(self) -> None:
        """Hang up everywhere."""
        self._closed = True
        for visit in self._visits.values():
            visit.join(WITHIN)
        while self._opened:
            self._opened.popitem()[1].close()

    def _take(self, url: str, pairs: list[tuple[KnownTrigger, StreamQuery]]) -> None:
        messages = self._messages_at(url, [known for known, _ in pairs])
        if messages is None:
            return
        try:
            taken = messages.take([query for _, query in pairs])
        except TimeoutError:
            taken = [MessagesFailure("the server of messages does not answer") for _ in pairs]
        for (known, query), found in zip(pairs, taken, strict=True):
            if isinstance(found, MessagesFailure):
                self._starter.hinder(known, StartRefused(str(found)))
                self._not_before[query] = self._now() + AGAIN
                continue
            for message in found:
                self._deal_with(messages, known, message)

    def _deal_with(self, messages: Messages, known: KnownTrigger, message: StreamMessage) -> None:
        """Start what a message leads to. It is done with once that, or its dead letter, is on disk."""
        happening = _happening(known, message)
        try:
            if len(message.data) > MOST_BYTES:
                raise NotMapped(f"the message has more than {MOST_BYTES:,} bytes")
            self._starter.start(known, happening)
        except NotMapped as problem:
            self._starter.refuse(known, happening, problem)
        except StartRefused as problem:
            self._starter.hinder(known, problem)
            messages.later(message, AGAIN)
            return
        messages.done(message)

    def _messages_at(self, url: str, asking: list[KnownTrigger]) -> Messages | None:
        if self._now() < self._not_before.get(url, 0):
            return None
        if url not in self._opened:
            try:
                if not url:
                    raise MessagesFailure("neither `spec.nats.url` nor `noetl server --bus` says where messages are")
                self._opened[url] = self._open_messages(url)
            except MessagesFailure as problem:
                self._not_before[url] = self._now() + AGAIN
                for known in asking:
                    self._starter.hinder(known, StartRefused(str(problem)))
                return None
            if self._closed and (late := self._opened.pop(url, None)) is not None:
                late.close()
        return self._opened.get(url)


def _happening(known: KnownTrigger, message: StreamMessage) -> Happening:
    is_long = len(message.data) > MOST_BYTES
    scope: dict[str, Json] = {
        "body": None if is_long else _body_of(message.data),
        "headers": {**message.headers},
        "subject": message.subject,
    }
    started_by: dict[str, Json] = {"subject": message.subject, "message": message.key}
    return Happening(key_of(known.row.name, f"message {message.key}"), scope, started_by, scope)


def _body_of(data: bytes) -> Json:
    """JSON where it is some, else text, else null."""
    try:
        value = json_of(data)
        codec.check(value)
        return value
    except (ValueError, codec.CodecError):
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None


def _consumer_of(known: KnownTrigger) -> str:
    """The name of a trigger's consumer: for another subject it is another one, as a consumer keeps its own."""
    cause: Mapping[str, object] = known.trigger.cause._asdict()
    told = f"{known.row.name} {cause['subject']} {cause['deliver']}"
    return f"noetl-{sha256(told.encode()).hexdigest()[:24]}"


def _since(known: KnownTrigger, cause: NatsSubject) -> int:
    return known.row.began if cause.deliver == "new" else 0
