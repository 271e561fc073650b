"""The service: one thread that drives every execution of a store, round after round, until it is told to stop.

It takes up what nobody drives, so a server that starts, or outlives another one, goes on with all that is not over.
Other threads hand work in with `do`; how much waits is bounded. When the store fails, what is in memory is given up
and read again from the log once the store answers: nothing that was acknowledged is lost, since nothing is
acknowledged before it is on disk. Where there is only no room, nothing is given up: the turn that could not be stored
waits for some (`store_retry`), tools go on meanwhile, and what others hand in is refused.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Future
from queue import Empty, Full, Queue
from types import MappingProxyType
from typing import Protocol, TypeVar

from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.host.backoff import Backoff
from noetl.host.engine_faults import fault_of
from noetl.host.log_lines import log_line
from noetl.host.measures import Measures
from noetl.ports import Busy, Clock, Conflict, Damaged, ExecutionRow, NoRoom, Owned, Store, StoreFailure, Wanted
from noetl.server.children import NotFound
from noetl.server.control import ControlPlane
from noetl.server.execution import FOREIGN
from noetl.server.store_retry import PAUSE, StoreRetry
from noetl_ir.records import NamedTuple

WAITING = 1_000
"""How many pieces of work from other threads may wait."""

SWEEP_EVERY = 2_000_000
"""Microseconds between two looks for executions that nobody drives, at least."""

SWEEP_SHARE = 100
"""How many times as long as such a look takes there is none: ten thousand that wait cost next to nothing."""

TAKEN_UP = 16
"""How many executions are taken up in a round: whoever is there already does not wait for the logs of all others."""

LOOK_FOR_ROOM = 1_000_000
"""Microseconds between two looks whether there is room, so that it is known before it is needed."""

FIRST_PAUSE, LONGEST_PAUSE = 250_000, 10_000_000
"""Microseconds before the store is tried again after a failure: the first time, doubled each time, at most."""

NOTHING: Mapping[str, int] = MappingProxyType({})
_T = TypeVar("_T")


class LocalWorker(Protocol):
    """Workers in the same thread; a service whose workers are elsewhere has an idle one."""

    @property
    def busy(self) -> int: ...

    def step(self) -> bool: ...

    def due(self) -> int | None: ...

    def take_no_more(self) -> None: ...

    def drop_all(self) -> None: ...


class Waiter(Protocol):
    """Passes the time, and is woken from other threads."""

    def open(self) -> None: ...

    def pass_time(self, due: int | None) -> bool: ...

    def poll(self) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class ServiceState(NamedTuple):
    """How the service stands.

    - `trouble`: why the store cannot be used, None when it can; `full`: why there is no room for values or
      events, empty where there is some.
    - `reaches`: whether the bus to workers elsewhere can be reached.
    - `refused`: how many reports and heartbeats came from senders that were not given the order.
    """

    executions: int
    busy: int
    waiting: int
    trouble: str | None
    stopping: bool
    reaches: bool
    refused: int = 0
    full: str = ""
    oldest: Mapping[str, int] = NOTHING
    """When the oldest order of each pool was given that nobody has begun (microseconds since the epoch)."""
    orders: Mapping[str, int] = NOTHING
    """How many orders wait here for room of each namespace, under an empty name of none."""


class _Piece:
    """A piece of work that another thread handed in."""

    __slots__ = ("_future", "_work")

    def __init__(self, future: "Future[_T]", work: Callable[[], _T]) -> None:
        self._future = future
        self._work = work

    def do(self) -> None:
        # The request may have gone away meanwhile (a client that hung up); its work is not begun then.
        if not self._future.set_running_or_notify_cancel():
            return
        try:
            self._future.set_result(self._work())
        # Whoever waits on the future would wait for ever if anything got past it, be it the end of the process.
        except BaseException as problem:
            self._future.set_exception(problem)

    def refuse(self, problem: Exception) -> None:
        if self._future.set_running_or_notify_cancel():
            self._future.set_exception(problem)


class Service:
    """Drives what a control plane keeps. `load` gives the program of a digest, and raises NotFound.

    `skips` says of an execution that it is not this service's to drive: one on a virtual clock, for example. `reaches`
    says whether the bus to workers elsewhere is there. `store_retry` is what the control plane stores with, and `look`
    raises NoRoom where there is none.
    """

    def __init__(
        self,
        control: ControlPlane,
        *,
        store: Store,
        worker: LocalWorker,
        waiter: Waiter,
        clock: Clock,
        load: Callable[[str], Program],
        skips: Callable[[str], bool],
        say: Callable[[str], None],
        reaches: Callable[[], bool] = lambda: True,
        store_retry: StoreRetry | None = None,
        look: Callable[[bool], None] = lambda suspected: None,
        measures: Measures | None = None,
        oldest_orders: Callable[[Container[str]], Mapping[str, int]] = lambda driven: NOTHING,
    ) -> None:
        self.measures = measures or Measures()
        self._oldest_orders = oldest_orders
        self._reached = True
        self._store_retry = store_retry or StoreRetry(math.inf, say)
        self._store_retry.wait = self._wait_for_room
        self._look = look
        self._look_due = 0
        self._control = control
        self._reaches = reaches
        self._store = store
        self._worker = worker
        self._waiter = waiter
        self._clock = clock
        self._load = load
        self._skips = skips
        self._say = say
        self._work: Queue[_Piece] = Queue(WAITING)
        self._sweep_due = 0
        self._found: deque[ExecutionRow] = deque()
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._trouble: str | None = None
        self._told: set[str] = set()
        self._stopping = False
        self._stop_by: int | None = None

    def do(self, work: Callable[[ControlPlane], _T]) -> "Future[_T]":
        """Have something done between two rounds; from any thread. Raises Busy.

        It fails with NoRoom where nothing can be stored now.
        """
        future: Future[_T] = Future()
        # After the last round nobody would take it from the queue. A piece that slips in between is done in `run`'s
        # `finally`.
        if self._stopping:
            raise Busy("the server is stopping")
        try:
            self._work.put_nowait(_Piece(future, lambda: self._store_retry.hurried(lambda: work(self._control))))
        except Full:
            raise Busy(f"{WAITING} requests wait already") from None
        self._waiter.wake()
        return future

    def stop(self, within: int) -> None:
        """Begin nothing new, let what is in flight finish for `within` microseconds, then end; from any thread."""
        # A second signal may only shorten the wait: who presses Ctrl-C twice does not want to wait longer.
        by = self._clock.now() + within
        self._stop_by = by if self._stop_by is None else min(by, self._stop_by)
        self._stopping = True
        self._waiter.wake()

    def wake(self) -> None:
        """There is something to look at; from any thread."""
        self._waiter.wake()

    def lacks_room(self, problem: NoRoom) -> None:
        """There was none for what somebody wanted to store; from any thread."""
        self._store_retry.failed(problem)

    def standing(self) -> ServiceState:
        """How it stands; from any thread."""
        executions = len(self._control.executions)
        waiting, reaches = self._work.qsize(), self._reaches()
        refused = self._control.refused
        problem = self._store_retry.problem
        trouble = self._trouble if problem is None else str(problem)
        full = problem.reason if isinstance(problem, NoRoom) else ""
        oldest = self._oldest_orders(self._control.executions)
        return ServiceState(
            executions, self._worker.busy, waiting, trouble, self._stopping, reaches, refused, full, oldest,
            self._control.orders.waiting_by_namespace(),
        )  # fmt: skip

    def run(self) -> None:
        """Drive until stopped. Whoever waits for work that was handed in is told when it ends."""
        self._waiter.open()
        try:
            while not self._is_over():
                self._round()
        finally:
            self._stopping = True
            self._worker.drop_all()
            self._control.close()
            self._waiter.close()
            while (piece := self._next()) is not None:
                piece.do()

    def _is_over(self) -> bool:
        if self._stop_by is None:
            return False
        return not self._worker.busy or self._clock.now() >= self._stop_by

    def _round(self) -> None:
        try:
            # Requests come before the turns, so that a cancel is decided ahead of the reports that came with it.
            did = self._work_off()
            self._look_for_room()
            if swept := self._clock.now() >= self._sweep_due:
                self._sweep()
            did = self._take_up() or did
            did = self._turns() or did
            if self._stopping:
                self._worker.take_no_more()
            did = self._worker.step() or did
            if not did:
                self._control.settle()  # no time passes over what is not on disk
            if swept:  # a round in between, of one who was only woken, says nothing of the store
                self._backoff.reset()
                self._trouble = None
        except StoreFailure as problem:
            self._give_up(problem, f"the store failed, trying again: {problem}")
            did = False
        # Only one execution is another server's; the control plane has let go of it, and all others go on.
        except Conflict as problem:
            self._say(log_line("info", f"another server goes on with an execution: {problem}"))
            did = True
        except Exception as problem:  # one of no single execution: all are read again from what is on disk
            self._give_up(problem, f"the server made a mistake, going on: {fault_of(problem)['message']}")
            did = False
        if did:
            self._waiter.poll()
        else:
            self._waiter.pass_time(self._next_due())

    def _turns(self) -> bool:
        began = time.perf_counter()
        did = self._control.step()
        if did:
            self.measures.observe("noetl_round_seconds", time.perf_counter() - began)
        return did

    def _work_off(self) -> bool:
        """Do what waits now; what comes meanwhile has the next round, so that a flood of it stops nothing else."""
        count = self._work.qsize()
        if count:
            self._control.settle()  # what fails for want of room fails for whom it is
        for _ in range(count):
            if (piece := self._next()) is not None:
                piece.do()
        return count > 0

    def _look_for_room(self) -> None:
        """Once a second, and say how it stands; where some was lacking it is tried, as not all of that can be seen."""
        if self._clock.now() >= self._look_due:
            self._look_due = self._clock.now() + LOOK_FOR_ROOM
            was_reached, self._reached = self._reached, self._reaches()
            if was_reached and not self._reached:
                self.measures.count("noetl_bus_losses")
            try:
                self._look(self._store_retry.problem is not None)
            except NoRoom as problem:
                self._store_retry.failed(problem)
        self._store_retry.check()

    def _wait_for_room(self) -> None:
        """The pause between two tries to store a turn: tools go on, and nobody waits for an answer."""
        until = time.monotonic() + PAUSE
        while (left := until - time.monotonic()) > 0:
            self._waiter.pass_time(self._clock.now() + round(left * 1_000_000))
        problem = self._store_retry.problem
        while problem is not None and (piece := self._next()) is not None:
            piece.refuse(problem)
        # The thread is within a store's call and cannot come back to `run` by itself. The wait for room must not
        # outlast the end that was asked for.
        if self._is_over():
            self._store_retry.interrupt()

    def _next(self) -> _Piece | None:
        try:
            return self._work.get_nowait()
        except Empty:
            return None

    def _next_due(self) -> int:
        times = (self._control.next_due(), self._worker.due())
        return min((time for time in times if time is not None), default=self._sweep_due)

    def _give_up(self, problem: Exception, what: str) -> None:
        """Forget what is in memory, and take it up again from the log after a pause."""
        # Said once per failure and not once per try: a store that is away for an hour would fill the log.
        if self._trouble is None:
            self._say(log_line("error", what))
        self._trouble = str(problem)
        self._worker.drop_all()
        self._control.drop()
        self._found.clear()
        self._sweep_due = self._clock.now() + self._backoff.pause
        # Each try reads the logs of all that is open anew, which is the last thing that a store in trouble needs
        # often.
        self._backoff.double()

    def _cannot_go_on(self, execution_id: str, why: str) -> None:
        if execution_id not in self._told:
            self._told.add(execution_id)
            self._say(log_line("error", f"execution {execution_id} cannot go on: {why}", execution_id))

    def _sweep(self) -> None:
        """Find the executions that are not over and that nobody drives; a child that waits for its caller is his."""
        began = self._clock.now()
        rows = self._store.executions(Wanted(open=True))
        names = {row.execution_id for row in rows}
        mine = self._control.executions
        # A child is taken up by whoever takes up its caller, since both have to be in one process for the outcome to
        # be handed up.
        others = [row for row in rows if row.execution_id not in mine and row.parent_execution_id not in names]
        owned = self._store.owned([row.execution_id for row in others]) if others else frozenset()
        self._found = deque(row for row in others if row.execution_id not in owned)
        now = self._clock.now()
        # The look lists all that is open. Where that takes a second, one every two seconds would be half of the
        # server's time.
        self._sweep_due = now + max(SWEEP_EVERY, SWEEP_SHARE * (now - began))

    def _take_up(self) -> bool:
        """Go on with some of those that were found; whether there were any."""
        count = min(len(self._found), TAKEN_UP)
        for _ in range(count):
            name = self._found.popleft().execution_id
            row = self._store.execution(name)  # some time may have passed since it was found
            if row is None or row.ended is not None or name in self._control.executions:
                continue
            try:
                if self._skips(name):
                    continue
                self._control.take_up(name, self._load(row.plan_digest))
            except NoRoom as problem:  # its lock is a file too; it is found again
                self._store_retry.failed(problem)
            except (Owned, Conflict):  # whoever was quicker goes on with it
                continue
            # One log that cannot be read must not keep the others from being driven; it is told once, and tried at
            # every sweep, as somebody may mend it.
            except (NotFound, IllegalFiring, Missing, Damaged) as problem:
                self._cannot_go_on(name, str(problem))
            # These are faults of the store or the process, not of this execution, and `_round` knows what to do with
            # them.
            except FOREIGN:
                raise
            except Exception as problem:
                self._cannot_go_on(name, str(fault_of(problem)["message"]))
        return count > 0
