"""Background fetches: what takes long is fetched or stored by threads, so that the thread of the worker never waits.

Whoever asks is told `Pending`, goes on with something else, and asks again. What has come by then is kept for whoever
asked, in a mapping of their own, until they let go of it: so each time they get further than the time before.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakValueDictionary, ref

from noetl.ports import StoreFailure, StoreRefused

if TYPE_CHECKING:
    from queue import SimpleQueue

THREADS = 8
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Seconds before a store that failed is tried again: the first time, doubled each time, at most."""

_T = TypeVar("_T")


class Pending(BaseException):
    """What was asked for is on its way: ask again when `fetch` is over.

    No Exception, so that nobody on the way takes it for a failure: an expression, say, that follows a reference.
    """

    def __init__(self, fetch: Fetch) -> None:
        super().__init__(fetch)
        self.fetch = fetch


class Brings(Protocol):
    """Has work done that may take long; for an asker that cannot wait, beside it (`BackgroundFetches.brought`)."""

    def __call__(self, key: Hashable, work: Callable[[], _T]) -> _T: ...


class Fetch:
    """One thing that is fetched or stored. `problem` is why it did not work so far: it is tried again."""

    __slots__ = ("__weakref__", "_callbacks", "_error", "_key", "_value", "_work", "is_over", "pause", "problem")

    def __init__(self, key: Hashable, work: Callable[[], object]) -> None:
        self._key = key
        self._work = work
        self._value: object = None
        self._error: BaseException | None = None
        self._callbacks: deque[Callable[[], None]] = deque()
        self.is_over = False
        self.problem = ""
        self.pause = FIRST_PAUSE

    def outcome(self) -> object:
        """What came; or raises what went wrong."""
        if self._error is not None:
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

        self._callbacks.append(tell)
        if not self.is_over:
            await told.wait()


Held: TypeAlias = dict[Hashable, Fetch]
"""What one asker asked for, by its keys."""


class BackgroundFetches:
    """Runs fetches on at most so many threads; with none, on the spot. An fetch that nobody holds is forgotten.

    All but the threads' own part is for one thread: that of the worker, in which its tools run too.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._most = threads
        self._held: Held = {}
        self._going: WeakValueDictionary[Hashable, Fetch] = WeakValueDictionary()
        self._queue: SimpleQueue[ref[Fetch]] | None = None
        self._threads = 0
        self._undone = 0
        self._lock = threading.Lock()
        self._later: deque[tuple[float, ref[Fetch]]] = deque()
        self._callbacks: tuple[Callable[[], None], ...] = ()

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back, from any thread, when an fetch is over or did not work."""
        self._callbacks += (callback,)

    def serve(self, held: Held) -> None:
        """What is asked for from now on is asked for by whoever has `held`."""
        self._held = held

    def brought(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """What some work gives, whose `key` names it. Raises Pending until it is here, then what the work raised."""
        if not self._most:
            return work()
        fetch = self._held.get(key)
        if fetch is None:
            fetch = self._going.get(key)
            if fetch is None or fetch.is_over:
                fetch = self._sent(key, work)
            self._held[key] = fetch
        if not fetch.is_over:
            raise Pending(fetch)
        return cast("_T", fetch.outcome())

    def look(self) -> None:
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

    def _sent(self, key: Hashable, work: Callable[[], object]) -> Fetch:
        fetch = self._going[key] = Fetch(key, work)
        self._put(ref(fetch))
        return fetch

    def _put(self, fetch: ref[Fetch]) -> None:
        from queue import SimpleQueue

        if self._queue is None:
            self._queue = SimpleQueue()
        with self._lock:
            self._undone += 1
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
            for callback in self._callbacks:
                callback()

    def _do(self, waiting: ref[Fetch]) -> None:
        fetch = waiting()
        if fetch is not None and not fetch.run():
            self._later.append((time.monotonic() + fetch.pause, waiting))
            fetch.pause = min(2 * fetch.pause, LONGEST_PAUSE)
