"""Messages that were given up, in a stream of their own: kept for a person to see, the oldest go first."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from nats.errors import Error as NatsError
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError

from noetl.bus.nats.link import Link
from noetl.bus.nats.names import header_of, text_of
from noetl.ports import Parked

KEPT = 10_000
SHOWN = 1_000
"""How many of them are read, the newest."""

_AGAIN = 0.5
_QUEUE, _KEY, _TRIES, _REASON = "Noetl-Queue", "Noetl-Key", "Noetl-Tries", "Noetl-Reason"


class Parking:
    """Keeps what was given up."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._stream = f"{link.place.prefix}_parked"
        self._subject = link.subjects.parked
        self._under_way: set[asyncio.Future[None]] = set()
        self._makes = link.subjects.is_server
        if self._makes:
            link.soon(lambda: link.spawn(self._make()))

    def park(self, parked: Parked, then: Callable[[], None]) -> None:
        """Keep a message, and do `then` once it is kept; from any thread."""
        self._link.soon(self._begin, parked, then)

    def parked(self) -> tuple[Parked, ...]:
        """What was given up, the oldest first; nothing while NATS is away."""
        try:
            return self._link.wait(self._read())
        except (TimeoutError, NatsError, OSError):
            return ()

    def _begin(self, parked: Parked, then: Callable[[], None]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(future)
        self._link.spawn(self._keep(parked, then, future))

    async def _keep(self, parked: Parked, then: Callable[[], None], future: asyncio.Future[None]) -> None:
        headers = {
            _QUEUE: header_of(parked.queue), _KEY: header_of(parked.key), _TRIES: str(parked.tries),
            _REASON: header_of(parked.reason),
        }  # fmt: skip
        try:
            while True:
                try:
                    await self._link.streams.publish(self._subject, b"", headers=headers)
                    break
                except (TimeoutError, NatsError, OSError):
                    if self._makes:
                        await self._make()
                    await asyncio.sleep(_AGAIN)
            then()
        finally:
            self._under_way.discard(future)
            if not future.done():
                future.set_result(None)

    async def _make(self) -> None:
        """Have the stream, which is for servers to make: who may make one can have it take what is for others."""
        with suppress(TimeoutError, NatsError, OSError):
            config = StreamConfig(name=self._stream, subjects=[self._subject], max_msgs=KEPT)
            await self._link.streams.add_stream(config)

    async def _read(self) -> tuple[Parked, ...]:
        if self._under_way:
            await asyncio.wait(self._under_way)
        try:
            state = (await self._link.streams.stream_info(self._stream)).state
        except NotFoundError:
            return ()
        found = []
        for number in range(max(state.first_seq, state.last_seq - SHOWN + 1), state.last_seq + 1):
            headers = (await self._link.streams.get_msg(self._stream, number)).headers or {}
            found.append(
                Parked(
                    text_of(headers.get(_QUEUE)),
                    text_of(headers.get(_KEY)),
                    int(headers.get(_TRIES, "0")),
                    text_of(headers.get(_REASON)),
                )
            )
        return tuple(found)
