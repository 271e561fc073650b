"""Server-sent events: the envelopes of an execution as they are written, until it has ended.

Each has the position as its id, so a client that lost the connection goes on with `Last-Event-ID`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from noetl.server.api.desk import Desk

PAGE = 256
LOOK_EVERY = 1.0
"""Seconds after which the log is looked at though nobody said that there is more: another server may have written."""
KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment keeps proxies from closing the connection."""


def followed(desk: Desk, execution_id: str, after: int, may_go_on: Callable[[], bool]) -> StreamingResponse:
    """The response that follows an execution from behind a position, as long as who asked for it may."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _lines(desk, execution_id, after, may_go_on), headers=headers, media_type="text/event-stream"
    )


async def _lines(desk: Desk, execution_id: str, position: int, may_go_on: Callable[[], bool]) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    rung = asyncio.Event()

    def ring() -> None:
        loop.call_soon_threadsafe(rung.set)

    end = desk.listen(execution_id, ring)
    silent = 0.0
    try:
        while may_go_on():
            rung.clear()
            over = await run_in_threadpool(desk.is_over, execution_id)  # asked first: its last events are seen
            while page := await run_in_threadpool(desk.events, execution_id, position, PAGE):
                for envelope in page:
                    position += 1
                    yield f"id: {position}\nevent: {envelope['event_type']}\ndata: {json.dumps(envelope)}\n\n"
                silent = 0.0
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
