"""Server and worker in one process and one thread: the embedded runtime.

Each round the server takes what waits and the worker does what it can. Their events are on disk before a tool with an
effect begins, a line is shown, or time passes. Tools run in short slices in between, and for as long as it takes when
server and worker have nothing to do. The process owns the execution that it drives; others reach it by the inbox.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Blobs, Clock, Store, StoreFailure
from noetl.ports.actors import Actor, acting
from noetl.ports.bus import Bus
from noetl.ports.idempotency import StartKey
from noetl.server.control import ControlPlane
from noetl.server.execution import Ask, Interrupted
from noetl.server.store_retry import StoreRetry
from noetl.worker.worker import Launcher, Worker
from noetl_ir.evaluate.work import go_on, stop
from noetl_ir.orders import Answer, Order, Said
from noetl_ir.records import NamedTuple


class WaitingLauncher(Launcher, Protocol):
    """A launcher that can also pass the time until something is due."""

    def pass_time(self, due: int | None) -> bool:
        """Wait until `due` or until something happens; False when nothing ever will."""
        ...

    def poll(self) -> None:
        """Give tools some time, and wait for nothing."""
        ...

    def close(self) -> None:
        """Stop every tool."""
        ...


class Ticking:
    """A launcher that calls `tick` each time before it waits."""

    def __init__(self, launcher: WaitingLauncher, tick: Callable[[], None]) -> None:
        self._tick = tick
        self._wait = launcher.pass_time
        self.immediate = launcher.immediate
        self.launch = launcher.launch
        self.finished = launcher.finished
        self.stop = launcher.stop
        self.poll = launcher.poll
        self.close = launcher.close

    def pass_time(self, due: int | None) -> bool:
        self._tick()
        return self._wait(due)


class Parts(NamedTuple):
    """The parts that the embedded runtime is put together from."""

    store: Store
    blobs: Blobs
    bus: Bus[Order, Said, Answer]
    clock: Clock
    launcher: WaitingLauncher
    control: ControlPlane
    worker: Worker
    store_retry: StoreRetry
    said: Sequence[str] = ()
    """The last that the control plane said: why it gave something up."""


class Embedded:
    """Drives one execution and its children to their end."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._interrupted = False
        self._driving = False

    def interrupt(self) -> None:
        """Stop after the current round, or within it where something is evaluated; safe in a handler of a signal.

        What an unfinished turn has decided is never stored, and is decided again when the execution is resumed.
        """
        # The flag is set before the evaluation is stopped: the round that ends by it must find it.
        self._interrupted = True
        if self._driving:
            stop()
        self._parts.store_retry.interrupt()

    def start(
        self,
        program: Program,
        execution_id: str,
        request: Request,
        key: StartKey | None = None,
        actor: Actor | None = None,
    ) -> str:
        """Start an execution, for `actor`, and drive it; returns its status, `paused` or `interrupted` when it stopped
        early. Raises Taken where another one was started with the key.
        """
        with acting(actor):
            self._parts.control.start(program, execution_id, request, key)
        return self._drive(execution_id)

    def resume(self, program: Program, execution_id: str, *, retry_fault: bool = False) -> str:
        """Take up an execution from its log and drive it, with `retry_fault` one that a mistake of the engine ended."""
        control = self._parts.control
        owned = control.resume(execution_id, program, retry_fault=retry_fault)
        # Who resumes on the command line wants it to go on, whoever paused it.
        if owned.execution.paused and not owned.execution.is_over:
            control.ask(execution_id, Ask("resume"))
        return self._drive(execution_id)

    def _drive(self, execution_id: str) -> str:
        """Go round until nothing is left to do, for children that nobody waits for either."""
        self._driving = True
        try:
            return self._rounds(execution_id)
        # The turn that was interrupted is not held in the journal. Those before it were decided whole, and are
        # stored.
        except Interrupted:
            with suppress(Interrupted):  # what follows on them may be a turn again, which is left for later
                self._parts.control.settle()
            return "interrupted"
        finally:
            self._driving = False
            # The stop is a state of the process. Without this, the next evaluation (of a test, or of the ending)
            # would end at once.
            go_on()

    def _rounds(self, execution_id: str) -> str:
        control, worker = self._parts.control, self._parts.worker
        execution = control.executions[execution_id].execution
        while not self._interrupted:
            moved = control.step()
            self._parts.store_retry.check()
            if (
                owned := control.executions.get(execution_id)
            ) is not None:  # another one, where the engine made a mistake
                execution = owned.execution
            # While there is work, tools only get moments (`poll`). To wait for them here would leave the answers of
            # others lying.
            if worker.step() or moved:
                self._parts.launcher.poll()
                continue
            control.settle()  # nobody waits with something that is not on disk
            if execution.paused and not execution.is_over and not worker.busy:
                return "paused"
            if not (worker.busy or control.is_open) or not self._pass_time():
                break
        control.settle()
        # A store that refuses even the event of a mistake keeps nothing of this execution. In a server others go on
        # beside it; here there is no other, and who started it has to hear why it stands.
        if execution_id not in control.executions:
            raise StoreFailure(self._parts.said[-1] if self._parts.said else f"execution {execution_id} is given up")
        # Interrupted while the store had no room: the reason is told, else the run seems to end by itself.
        if not execution.is_over:
            self._parts.store_retry.check()
        return execution.status if execution.is_over else "interrupted"

    def _pass_time(self) -> bool:
        parts = self._parts
        dues = (parts.control.next_due(), parts.worker.due(), parts.bus.due())
        times = [time for time in dues if time is not None]
        return parts.launcher.pass_time(min(times, default=None))
