"""Dead letters: messages that were tried too often, in a stream of their own.

They are kept for a person to see; the oldest go first.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from nats.errors import Error as NatsError
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError

from noetl.bus.nats.connection import NatsConnection
from noetl.bus.nats.names import header_of, text_of
from noetl.ports.bus import DeadLetter

KEPT = 10_000
SHOWN = 1_000
"""How many of them are read, the newest."""

_AGAIN = 0.5
_QUEUE, _KEY, _TRIES, _REASON = "Noetl-Queue", "Noetl-Key", "Noetl-Tries", "Noetl-Reason"


class DeadLetters:
    """The dead letters of a bus."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._stream = f"{connection.address.prefix}_dead_letters"
        self._subject = connection.subjects.dead_letters
        self._under_way: set[asyncio.Future[None]] = set()
        self._makes = connection.subjects.is_server
        if self._makes:
            connection.soon(lambda: connection.spawn(self._make()))

    def keep(self, letter: DeadLetter, then: Callable[[], None]) -> None:
        """Keep a letter, and do `then` once it is kept; from any thread."""
        self._connection.soon(self._begin, letter, then)

    def read(self) -> tuple[DeadLetter, ...]:
        """All of them, the oldest first; nothing while NATS is away."""
        try:
            return self._connection.wait(self._read())
        except (TimeoutError, NatsError, OSError):
            return ()

    def _begin(self, letter: DeadLetter, then: Callable[[], None]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(future)
        self._connection.spawn(self._keep(letter, then, future))

    async def _keep(self, letter: DeadLetter, then: Callable[[], None], future: asyncio.Future[None]) -> None:
        headers = {
            _QUEUE: header_of(letter.queue), _KEY: header_of(letter.key), _TRIES: str(letter.tries),
            _REASON: header_of(letter.reason),
        }  # fmt: skip
        try:
            while True:
                try:
                    # Without its body: what could not be read may be anything, and the key says what it was.
                    await self._connection.streams.publish(self._subject, b"", headers=headers)
                    break
                except (TimeoutError, NatsError, OSError):
                    if self._makes:
                        await self._make()
                    await asyncio.sleep(_AGAIN)
            # The message is ended only when its letter is kept: if this process dies in between it is delivered
            # again, and not lost without a trace.
            then()
        finally:
            self._under_way.discard(future)
            if not future.done():
                future.set_result(None)

    async def _make(self) -> None:
        """Have the stream, which is for servers to make: who may make one can have it take what is for others."""
        with suppress(TimeoutError, NatsError, OSError):
            config = StreamConfig(name=self._stream, subjects=[self._subject], max_msgs=KEPT)
            await self._connection.streams.add_stream(config)

    async def _read(self) -> tuple[DeadLetter, ...]:
        # A letter that was handed in before the question is part of the answer.
        if self._under_way:
            await asyncio.wait(self._under_way)
        try:
            state = (await self._connection.streams.stream_info(self._stream)).state
        except NotFoundError:
            return ()
        found = []
        # By number: a consumer would have to be made for the purpose, and would need rights of its own.
        for number in range(max(state.first_seq, state.last_seq - SHOWN + 1), state.last_seq + 1):
            headers = (await self._connection.streams.get_msg(self._stream, number)).headers or {}
            found.append(
                DeadLetter(
                    text_of(headers.get(_QUEUE)),
                    text_of(headers.get(_KEY)),
                    int(headers.get(_TRIES, "0")),
                    text_of(headers.get(_REASON)),
                )
            )
        return tuple(found)
