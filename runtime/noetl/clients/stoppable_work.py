"""Work that blocks, as that of a database's driver, in a thread of its own, which is stopped with its task."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

_T = TypeVar("_T")


async def own_thread(work: Callable[[], _T]) -> _T:
    """The result of some work in a thread of its own; raises what it raises.

    The threads of `asyncio.to_thread` are a few for the whole process, and a worker has more slots: statements that
    hang in all of them would keep waiting what is to end them.
    """
    executor = ThreadPoolExecutor(1, "noetl-work")
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, work)
    finally:
        executor.shutdown(wait=False)


async def stoppable(work: Callable[[], _T], stop: Callable[[], Awaitable[object]], every: float) -> _T:
    """The result of some work in a thread. On cancellation it is asked to `stop` each `every` seconds until it is over,
    and left only then. Raises what the work raises.
    """
    doing = asyncio.ensure_future(own_thread(work))
    try:
        # A thread cannot be cancelled: without the shield the task would end at once, and the connection be closed
        # under a statement that runs.
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        while not doing.done():
            with suppress(asyncio.CancelledError):  # a second one: the worker had the same limit, or is told to stop
                await stop()  # again and again: it only stops what runs at that moment
                await asyncio.wait([doing], timeout=every)
        doing.cancelled() or doing.exception()  # seen, so that nobody is told of it later
        raise
