"""The warm subprocesses of this process: how many there are, which takes what, and when another is started.

As many as there are cores start at once. Beyond that a request waits for one that comes free, and another is started
only when none did for about as long as a start takes: short code is served by few, and code that waits for something
gets one each. While none comes free at all, that time is halved with each start.

One that ran to an end is kept unless the code left something behind. So as many are kept as ran at once; what was not
needed in the last ten seconds is ended, half of it at a time.
"""

import asyncio
import atexit
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from weakref import WeakKeyDictionary

from noetl.host.processes import Hear
from noetl.tools.python.frames import frame_of
from noetl.tools.python.interpreter import Interpreter
from noetl_ir.expr import Json

KEPT = 4
"""How many are kept however little there is to do, where there are not more cores."""
WINDOW = 10.0
"""Seconds after which half of those that were not needed in them are ended."""

_LOOKS = 4
"""Looks that must find none free before another is started. A loop that stood still meanwhile has not looked: what
came in then is seen before the next look."""
_SHORTEST, _LONGEST = 0.002, 0.025
"""Seconds between two looks, at least and at most; within these a start takes as long as all looks but the first."""

Later = Callable[[float, Callable[[], None]], object]


class Pool:
    """Gives each request a subprocess of its own for as long as it runs."""

    def __init__(
        self,
        start: Callable[[], Interpreter] = Interpreter,
        *,
        cores: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        later: Later | None = None,
    ) -> None:
        self._start = start
        self._cores = cores or cores_here()
        self._clock = clock
        self._later: Later = later or _call_later
        self._idle: list[Interpreter] = []
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()
        self._start_took = 0.03  # seconds, until one has been started
        self._unneeded = 0
        self._window_ends = 0.0
        self._retired = False
        self._owner = os.getpid()
        atexit.register(self.close)

    async def ask(self, request: dict[str, Json], hear: Hear, seconds: float | None) -> dict[str, Json]:
        """Have a request answered. Raises Died, and TimeoutError after `seconds` with a subprocess.

        On these and on cancellation the subprocess and what it started are gone before the exception leaves.
        """
        # Packed before a subprocess is taken: what cannot be packed costs none.
        frame = frame_of(request)
        queue = self._queue()
        worker = await self._taken(queue)
        begun = self._clock()

        def at_ready() -> None:
            self._start_took = self._clock() - begun
            queue.starting -= 1
            queue.look_again()

        try:
            async with asyncio.timeout(seconds):
                response = await worker.ask(frame, hear, at_ready)
        except (ConnectionError, EOFError):
            self._end(queue, worker)
            raise worker.death() from None
        except BaseException:
            self._end(queue, worker)
            raise
        # The code left something behind (a thread, a changed setting of the interpreter, open files): the next task
        # must not find it.
        if response.get("spent"):
            self._end(queue, worker)
        else:
            self._free(queue, worker)
        return response

    def warm(self, count: int) -> None:
        """Have at least `count` subprocesses idle."""
        while len(self._idle) < count:
            self._idle.append(self._start())

    def close(self) -> None:
        """End the idle subprocesses."""
        # After a fork the subprocesses are the parent's, and are not for a child to end.
        while self._owner == os.getpid() and self._idle:
            self._idle.pop().kill()

    def retire(self) -> None:
        """Keep no subprocess any more; those that run end with what waits for them."""
        self._retired = True
        self.close()
        atexit.unregister(self.close)

    def _queue(self) -> "_Queue":
        """Who waits on the running loop; each has its own, for a future is of one loop."""
        if self._owner != os.getpid():  # after a fork the subprocesses are our parent's
            self._idle, self._owner = [], os.getpid()
            self._queues.clear()
        loop = asyncio.get_running_loop()
        return self._queues.get(loop) or self._queues.setdefault(loop, _Queue())

    async def _taken(self, queue: "_Queue") -> Interpreter:
        """A subprocess that is now the caller's."""
        worker = self._idle_one()
        if worker is None and queue.busy < self._cores:
            worker = self._start()
        if worker is not None:
            queue.taken(worker)
            return worker
        waiter: asyncio.Future[Interpreter] = asyncio.get_running_loop().create_future()
        queue.waiters.append(waiter)
        self._watch(queue)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._free(queue, waiter.result())
            raise

    def _idle_one(self) -> Interpreter | None:
        """The idle one that ran last; those that died meanwhile are forgotten."""
        while self._idle:
            worker = self._idle.pop()
            self._unneeded = min(self._unneeded, len(self._idle))
            if worker.is_alive():
                return worker
            worker.kill()
        return None

    def _free(self, queue: "_Queue", worker: Interpreter) -> None:
        """Give a subprocess to who waits longest, else keep it."""
        queue.came_free()
        if (waiter := queue.next()) is not None:
            waiter.set_result(worker)
            return
        queue.left(worker)
        if self._retired:
            worker.kill()
            return
        self._idle.append(worker)
        self._watch_idle(queue)

    def _end(self, queue: "_Queue", worker: Interpreter) -> None:
        """End a subprocess; another takes its place where it was one of the few and somebody waits."""
        worker.kill()
        queue.left(worker)
        if queue.busy < self._cores:
            self._start_for(queue)

    def _start_for(self, queue: "_Queue") -> None:
        """Start a subprocess for who waits longest. Where none can be started, one that runs may still come free."""
        if (waiter := queue.next()) is None:
            return
        try:
            worker = self._start()
        except OSError as problem:
            if queue.busy:
                queue.waiters.appendleft(waiter)
            else:
                waiter.set_exception(problem)
            return
        queue.taken(worker)
        waiter.set_result(worker)

    def _watch(self, queue: "_Queue") -> None:
        """Look now and then whether one came free, as long as somebody waits."""
        if queue.watched:
            return
        queue.watched = True
        queue.look_again()

        def look() -> None:
            if not queue.somebody():
                queue.watched = False
                return
            room = self._cores - queue.starting
            queue.looks -= room > 0
            if queue.looks <= 0:
                for _ in range(room):
                    self._start_for(queue)
                queue.halvings += 1
                queue.look_again()
            again()

        def again() -> None:
            self._later(min(max(self._start_took / (_LOOKS - 1), _SHORTEST), _LONGEST), look)

        again()

    def _watch_idle(self, queue: "_Queue") -> None:
        """End, window by window, half of those above `KEPT` that were idle all the time."""
        most = max(KEPT, self._cores)
        now = self._clock()
        if now >= self._window_ends:
            surplus = min(self._unneeded, len(self._idle) - most)
            for _ in range((surplus + 1) // 2):
                self._idle.pop(0).kill()
            self._unneeded, self._window_ends = len(self._idle), now + WINDOW
        if len(self._idle) <= most or queue.ebbing:
            return
        queue.ebbing = True

        def ebb() -> None:
            queue.ebbing = False
            self._watch_idle(queue)

        self._later(self._window_ends - now, ebb)


class _Queue:
    """Who waits for a subprocess on one loop, longest first, and how many of that loop run."""

    def __init__(self) -> None:
        self.waiters: deque[asyncio.Future[Interpreter]] = deque()
        self.busy = 0
        self.starting = 0
        self.looks = _LOOKS
        self.halvings = 0
        self.watched = False
        self.ebbing = False

    def taken(self, worker: Interpreter) -> None:
        self.busy += 1
        self.starting += not worker.ready

    def left(self, worker: Interpreter) -> None:
        self.busy -= 1
        self.starting -= not worker.ready

    def somebody(self) -> bool:
        """Whether anybody still waits."""
        while self.waiters and self.waiters[0].done():
            self.waiters.popleft()
        return bool(self.waiters)

    def next(self) -> "asyncio.Future[Interpreter] | None":
        """Who waits longest, no longer among those who wait."""
        return self.waiters.popleft() if self.somebody() else None

    def came_free(self) -> None:
        self.halvings = 0
        self.look_again()

    def look_again(self) -> None:
        """Begin to count anew."""
        self.looks = max(1, _LOOKS >> self.halvings)


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _call_later(seconds: float, work: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closing: who waits on it is cancelled
        asyncio.get_running_loop().call_later(seconds, work)


POOL = Pool()

_FOLDERS = 8
"""How many folders of packages keep subprocesses of their own."""
_POOLS: dict[str, Pool] = {}


def close() -> None:
    """End the idle subprocesses of all pools."""
    for pool in (POOL, *_POOLS.values()):
        pool.close()


def pool_of(packages: str) -> Pool:
    """The pool whose subprocesses find the packages in a folder; that of all others without one."""
    if not packages:
        return POOL
    # Taken out and put back: the order is that of use.
    pool = _POOLS.pop(packages, None) or Pool(partial(Interpreter, packages))
    _POOLS[packages] = pool
    if len(_POOLS) > _FOLDERS:
        _POOLS.pop(next(iter(_POOLS))).retire()
    return pool
