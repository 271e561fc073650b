"""Server-sent events: the envelopes of an execution as they are written, until it has ended.

Each has the position as its id, so a client that lost the connection goes on with `Last-Event-ID`, as after the event
`again`, which ends a stream that is old, and all of a server that stops.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from noetl.api.service import ApiService
from noetl.ports import Busy, StoreFailure

PAGE = 256
MOST = 500
"""Streams at once. One that is not heard of since costs two looks a second at the store."""
MOST_OF_ONE = 100
"""Of them for one address of a client."""
LONGEST = 3_600.0
"""Seconds after which a stream ends; the client goes on with a new one."""
LOOK_EVERY = 1.0
"""Seconds after which the log is looked at though nobody said that there is more: another server may have written."""
KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment keeps proxies from closing the connection."""


class Streams:
    """The open streams of this server: at most `most` at once and `of_one` for one client, each for at most `longest`
    seconds. They are bounded since each reads its log every `LOOK_EVERY` seconds.

    For one thread.
    """

    def __init__(
        self, service: ApiService, most: int = MOST, of_one: int = MOST_OF_ONE, longest: float = LONGEST
    ) -> None:
        self._service = service
        self._most = most
        self._of_one = of_one
        self._longest = longest
        self._open: Counter[str] = Counter()
        self._rung: set[asyncio.Event] = set()  # of the open streams: each is set when there may be more to say
        self._is_ending = False

    def end_soon(self) -> None:
        """End all now, and those that are still asked for: who follows goes on at another server, or at the next one
        here.
        """
        self._is_ending = True
        for rung in self._rung:
            rung.set()

    def followed(
        self, execution_id: str, after: int, may_go_on: Callable[[], bool], client: str = "", *, output: bool = False
    ) -> StreamingResponse:
        """The response that follows an execution from behind a position, as long as who asked for it may; with
        `output` it also says when tasks have printed more.

        Raises Busy.
        """
        if self._open.total() >= self._most:
            raise Busy(f"{self._most} executions are followed on this server; try again when one of them has ended")
        if self._open[client] >= self._of_one:
            raise Busy(f"{self._of_one} executions are followed from there; try again when one of them has ended")
        # nginx buffers responses unless it is told not to, and would deliver an hour of events at its end.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        rung = asyncio.Event()
        lines = self._lines(execution_id, after, may_go_on, rung, output=output)
        return StreamingResponse(self._counted(lines, client, rung), headers=headers, media_type="text/event-stream")

    async def _counted(self, lines: AsyncGenerator[str], client: str, rung: asyncio.Event) -> AsyncIterator[str]:
        self._open[client] += 1
        self._rung.add(rung)
        try:
            # A client that goes away cancels this generator only. The inner one is closed with it, else its listener
            # would stay for ever.
            async with aclosing(lines):
                async for line in lines:
                    yield line
        except StoreFailure:  # nothing but the end can be said now; who follows goes on from the last id
            return
        finally:
            self._rung.discard(rung)
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    async def _lines(
        self, execution_id: str, position: int, may_go_on: Callable[[], bool], rung: asyncio.Event, *, output: bool
    ) -> AsyncGenerator[str]:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._longest

        def notify() -> None:
            # The notifier is called by the thread that drives, and an asyncio event is not for other threads.
            loop.call_soon_threadsafe(rung.set)

        end = self._service.listen(execution_id, notify)
        silent, printed = 0.0, 0
        try:
            while may_go_on():
                if self._is_ending or loop.time() >= until:
                    yield f"id: {position}\nevent: again\ndata: {{}}\n\n"
                    return
                # Cleared before the log is read: what is written while it is read rings again, and is not missed.
                rung.clear()
                # Asked first: its last events are seen.
                over = await run_in_threadpool(self._service.is_over, execution_id)
                page = await run_in_threadpool(self._service.events, execution_id, position, PAGE)
                for envelope in page:
                    position += 1
                    yield f"id: {position}\nevent: {envelope['event_type']}\ndata: {json.dumps(envelope)}\n\n"
                if page:  # there may be more, without end: first it is asked whether this one may go on
                    silent = 0.0
                    continue
                if output and (last := await run_in_threadpool(self._service.output_end, execution_id)) != printed:
                    printed = last
                    # Without an id: it is no event of the log, and who lost the connection goes on behind the last one.
                    yield f"event: output\ndata: {json.dumps({'position': last})}\n\n"
                if over:
                    yield f"id: {position}\nevent: end\ndata: {{}}\n\n"
                    return
                try:
                    async with asyncio.timeout(LOOK_EVERY):
                        await rung.wait()
                except TimeoutError:
                    silent += LOOK_EVERY
                    if silent >= KEEP_ALIVE:
                        silent = 0.0
                        yield ": still here\n\n"
        finally:
            end()
