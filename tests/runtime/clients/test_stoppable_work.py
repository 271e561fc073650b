"""Work in a thread of its own: it is stopped where its task is cancelled, whatever other threads of asyncio do."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from noetl.clients.stoppable_work import own_thread, stoppable


def test_work_gives_its_result_or_raises() -> None:
    async def stop() -> None:
        raise AssertionError("nothing is to be stopped")

    assert asyncio.run(stoppable(lambda: 3, stop, 0.01)) == 3
    with pytest.raises(ZeroDivisionError):
        asyncio.run(stoppable(lambda: 1 // 0, stop, 0.01))


def test_what_hangs_is_stopped_though_every_thread_of_asyncio_hangs() -> None:
    hangs, ended = threading.Event(), threading.Event()

    async def stop() -> None:
        await own_thread(ended.set)  # as a statement that has to be sent to a server

    async def limited() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        other = asyncio.ensure_future(asyncio.to_thread(hangs.wait, 60))
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await stoppable(partial(ended.wait, 60), stop, 0.01)
            assert ended.is_set() and not other.done()
        finally:
            hangs.set()
            await other

    asyncio.run(limited())


def test_a_second_cancellation_leaves_no_work_behind() -> None:
    begun, ended = threading.Event(), threading.Event()
    stopping: list[asyncio.Future[bool]] = []

    async def stop() -> None:
        stopping[0].cancel()  # while it is being stopped
        ended.set()

    async def cancelled_twice() -> None:
        stopping.append(asyncio.ensure_future(stoppable(lambda: begun.set() or ended.wait(60), stop, 0.01)))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        stopping[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping[0]
        assert ended.is_set()

    asyncio.run(cancelled_twice())
