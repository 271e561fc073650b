"""Messages of streams that others fill, taken by durable consumers: each comes again until somebody is done with it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NothingCame
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from noetl.bus.nats.connection import CALL_WITHIN, Message, NatsConnection
from noetl.bus.nats.names import address_in
from noetl.ports import Fence
from noetl.ports.messages import MessagesFailure, StreamMessage, StreamQuery

BATCH = 50
WAITS = 1.0
"""Messages that are taken at once, and the seconds in which they may come."""

ACK_WITHIN = 30
"""Seconds after which a message without an answer is handed out again."""


class _Taking:
    """A query that is taken from: its subscription, and what tells its stream from one of its name before."""

    def __init__(self, subscription: JetStreamContext.PullSubscription, stream: str) -> None:
        self.subscription = subscription
        self.stream = stream


class NatsMessages:
    """`Messages` over a connection of its own. Raises BusFailure."""

    def __init__(self, url: str, fence: Fence | None = None) -> None:
        self._connection = NatsConnection(address_in(url), fence=fence)
        self._taking: dict[StreamQuery, _Taking] = {}

    def take(self, queries: Sequence[StreamQuery]) -> list[Sequence[StreamMessage] | MessagesFailure]:
        """`Messages.take`."""

        async def all_of() -> list[Sequence[StreamMessage] | MessagesFailure]:
            return [*await asyncio.gather(*[self._taken(query) for query in queries])]

        return self._connection.wait(all_of(), 4 * CALL_WITHIN)

    def done(self, message: StreamMessage) -> None:
        """`Messages.done`."""
        self._connection.send(Message(message.handle, b"+ACK"))

    def later(self, message: StreamMessage, seconds: float) -> None:
        """`Messages.later`."""
        self._connection.send(Message(message.handle, b'-NAK {"delay": %d}' % round(seconds * 1e9)))

    def forget(self, query: StreamQuery) -> None:
        """`Messages.forget`."""

        async def forgotten() -> None:
            streams = self._connection.streams
            stream = query.stream or await streams.find_stream_name_by_subject(query.subject)
            await streams.delete_consumer(stream, query.consumer)

        self._taking.pop(query, None)
        try:
            self._connection.wait(forgotten())
        except (NatsError, TimeoutError, OSError):
            return

    def close(self) -> None:
        """`Messages.close`."""
        self._connection.close()

    async def _taken(self, query: StreamQuery) -> Sequence[StreamMessage] | MessagesFailure:
        try:
            if query not in self._taking:
                self._taking[query] = await self._open(query)
            taking = self._taking[query]
            found = await taking.subscription.fetch(BATCH, timeout=WAITS)
            return [_message(taking, message) for message in found]
        except NothingCame:
            # It may be that the consumer is gone, with its stream: whoever asks next finds out.
            return await self._checked(query)
        except (NatsError, TimeoutError, OSError) as problem:
            return self._failed(query, problem)

    async def _checked(self, query: StreamQuery) -> Sequence[StreamMessage] | MessagesFailure:
        taking = self._taking.get(query)
        try:
            if taking is not None:
                await taking.subscription.consumer_info()
        except (NatsError, TimeoutError, OSError) as problem:
            return self._failed(query, problem)
        return ()

    def _failed(self, query: StreamQuery, problem: Exception) -> MessagesFailure:
        self._taking.pop(query, None)
        if isinstance(problem, NotFoundError):
            # The driver has nothing else to say where no stream has the subject.
            stream = f"there is no stream `{query.stream}`" if query.stream else "no stream there has this subject"
            return MessagesFailure(f"{query.subject}: {stream}")
        return MessagesFailure(f"{query.subject}: {str(problem) or type(problem).__name__}")

    async def _open(self, query: StreamQuery) -> _Taking:
        streams = self._connection.streams
        stream = query.stream or await streams.find_stream_name_by_subject(query.subject)
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT, ack_wait=ACK_WITHIN, deliver_policy=DeliverPolicy.ALL, max_ack_pending=1_000
        )
        if query.since:
            begin = datetime.fromtimestamp(query.since / 1e6, UTC).isoformat()
            config.deliver_policy, config.opt_start_time = DeliverPolicy.BY_START_TIME, begin  # type: ignore[assignment]
        subscription = await streams.pull_subscribe(query.subject, query.consumer, stream, config)
        info = await streams.stream_info(stream)
        # Numbers begin anew in a stream that was made again under its name.
        return _Taking(subscription, f"{stream} {info.created}")


def _message(taking: _Taking, message: Msg) -> StreamMessage:
    number = message.metadata.sequence.stream
    headers = {name.lower(): text for name, text in (message.headers or {}).items()}
    return StreamMessage(f"{taking.stream} {number}", message.subject, headers, message.data, message.reply)
