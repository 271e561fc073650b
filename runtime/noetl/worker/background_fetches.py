"""Background fetches: threads fetch and store what takes long, so that the thread of the worker never waits.

Whoever asked for a fetch through their `Needs` awaits it: a coroutine of the worker's loop, or a tool in asyncio
(`in_asyncio`). Only the askers hold a fetch. One that nobody waits for any more is garbage, and not tried again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast
from weakref import WeakValueDictionary, ref

from noetl.host.backoff import Backoff
from noetl.ports import StoreFailure, StoreRefused
from noetl.ports.needs import Awaited, Needs

if TYPE_CHECKING:
    from queue import SimpleQueue

THREADS = 8
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Seconds before a store that failed is tried again."""

_T = TypeVar("_T")


class Fetch:
    """One thing that is fetched or stored. `problem` is why it did not work so far: it is tried again."""

    __slots__ = ("__weakref__", "_callbacks", "_error", "_value", "_work", "backoff", "is_over", "problem")

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._value: object = None
        self._error: BaseException | None = None
        self._callbacks: deque[Callable[[], None]] = deque()
        self.is_over = False
        self.problem = ""
        self.backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)

    def outcome(self) -> object:
        """The value that came; or raises what went wrong."""
        if self._error is not None:
            # One error may be raised for several askers. With its traceback it would grow by their frames each time,
            # and keep them alive.
            raise self._error.with_traceback(None)
        return self._value

    def run(self) -> bool:
        """Do it; whether it is over. A store that failed may do it later, one that refuses does not."""
        try:
            self._value = self._work()
        except StoreRefused as error:
            self._error = error
        except StoreFailure as problem:
            self.problem = str(problem)
            return False
        except BaseException as error:
            self._error = error
        self.is_over = True
        # Popped one by one: `over` may add one from the other thread meanwhile, and a `for` over a deque that changes
        # raises.
        while self._callbacks:
            self._callbacks.popleft()()
        return True

    async def over(self) -> None:
        """Wait until it is over."""
        import asyncio

        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(told.set)

        # Registered before it is looked whether it is over: in the other order a fetch that ends in between tells
        # nobody.
        self._callbacks.append(tell)
        if not self.is_over:
            await told.wait()


async def in_asyncio(coroutine: Coroutine[Awaited, None, _T]) -> _T:
    """The result of a coroutine of the worker's loop, in the loop of asyncio, where tools run."""
    try:
        while True:
            awaited = coroutine.send(None)
            assert isinstance(awaited, Fetch), "a tool waits for fetches alone"
            await awaited.over()
    except StopIteration as done:
        return cast("_T", done.value)
    finally:
        # A tool that is cancelled ends here, and what it awaited would otherwise stay open until the collector comes
        # by.
        coroutine.close()


class BackgroundFetches:
    """Runs fetches on at most `threads` threads; with none, on the spot. A fetch that nobody holds is forgotten.

    Its methods are for one thread, that of the worker, in which the tools' loop runs too.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._most = threads
        # Weak, as the askers alone decide for how long a fetch is of use: a worker that holds a thousand plans'
        # fetches would never let go of them.
        self._going: WeakValueDictionary[Hashable, Fetch] = WeakValueDictionary()
        self._queue: SimpleQueue[ref[Fetch]] | None = None
        self._threads = 0
        self._undone = 0
        self._lock = threading.Lock()
        self._later: deque[tuple[float, ref[Fetch]]] = deque()
        self._callbacks: tuple[Callable[[], None], ...] = ()

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back, from any thread, when a fetch is over or did not work."""
        self._callbacks += (callback,)

    def needs(self) -> Needs:
        """The needs of one more asker, fetched here."""
        return Needs(self._begin if self._most else None)

    def retry_failed(self) -> None:
        """Try again what did not work, as far as it is time."""
        if not self._later:
            return
        now = time.monotonic()
        for _ in range(len(self._later)):
            due, fetch = self._later.popleft()
            if due > now:
                self._later.append((due, fetch))
            else:
                self._put(fetch)

    def _begin(self, key: Hashable, work: Callable[[], object]) -> Fetch:
        """A fetch of some work: the same one for all who ask for its `key` before it is over."""
        fetch = self._going.get(key)
        if fetch is None or fetch.is_over:
            fetch = self._going[key] = Fetch(work)
            self._put(ref(fetch))
        return fetch

    def _put(self, fetch: ref[Fetch]) -> None:
        from queue import SimpleQueue

        if self._queue is None:
            self._queue = SimpleQueue()
        with self._lock:
            self._undone += 1
            # Threads are made as they are needed and never ended: most runs fetch nothing, and those that do fetch
            # again.
            is_short = self._threads < min(self._undone, self._most)
            self._threads += is_short
        self._queue.put(fetch)
        if is_short:
            threading.Thread(target=self._work_off, args=(self._queue,), name="noetl-fetches", daemon=True).start()

    def _work_off(self, queue: SimpleQueue[ref[Fetch]]) -> None:
        while True:
            self._do(queue.get())
            with self._lock:
                self._undone -= 1
            # Told after the count went down, and also after a failure: the worker has to learn that something is
            # missing.
            for callback in self._callbacks:
                callback()

    def _do(self, waiting: ref[Fetch]) -> None:
        # The queue holds weak references too. A fetch whose asker has gone is not done at all.
        fetch = waiting()
        if fetch is not None and not fetch.run():
            self._later.append((time.monotonic() + fetch.backoff.pause, waiting))
            fetch.backoff.double()
