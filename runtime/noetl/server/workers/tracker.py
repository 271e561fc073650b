"""The tracker: what a control plane asks about its workers, that is where orders go and which claims are lost."""

from collections.abc import Collection, Sequence
from typing import Protocol

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.server.workers.macs import SignedOrder
from noetl_ir.events import Event
from noetl_ir.orders import LeaseHeartbeat, Report, RunPipeline, StopPipeline
from noetl_ir.plan import Step
from noetl_ir.records import NamedTuple

DEFAULT_POOL = "default"
"""The pool of a step that names none, nor does its playbook."""


def pool_of(step: Step) -> str:
    """The pool in which the pipelines of a step run."""
    return step.pool or DEFAULT_POOL


class LostClaim(NamedTuple):
    """A claim on an attempt whose worker is gone; `holder` is the session that had it, empty where it is not known."""

    execution_id: str
    run: str
    claim: int
    holder: str


class Left(NamedTuple):
    """Claims that are lost, local loops (execution id, key) whose worker leaves or is gone, and executions that
    another server took up.
    """

    claims: Sequence[LostClaim]
    loops: Sequence[tuple[str, str]]
    taken: Sequence[str]


NOTHING = Left((), (), ())


class WorkerTracker(Protocol):
    """Watches the workers of one control plane: in this process (`LocalWorkers`) or in others (`RemoteWorkers`)."""

    def take_up(self, execution: Execution, running: Sequence[str]) -> Sequence[str]:
        """Watch an execution from now on. Returns those of its `running` attempts (token keys) that are lost."""
        ...

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """Another server goes on with an execution. Returns the orders that stop its `running` attempts here."""
        ...

    def pool_for(self, program: Program, order: RunPipeline) -> str | None:
        """The pool that an order goes to; None when it waits until it is known who has its loop."""
        ...

    def queue_of(self, step: Step) -> str:
        """The pool in whose queue the orders of a step lie, but for those that go to one worker."""
        ...

    def slots_of(self, pool: str) -> int | None:
        """The slots of the workers that take from a pool; None where its queue is short by itself."""
        ...

    def stamped(self, order: SignedOrder) -> SignedOrder:
        """The order with the code by which its worker later proves that it was given it (`Macs`)."""
        ...

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        """Whether the sender of a report or heartbeat was given the order that it is about."""
        ...

    def observe_events(self, execution_id: str, events: Sequence[Event]) -> None:
        """Take in events that are on disk: they start and end leases."""
        ...

    def listen(self) -> None:
        """Say that all messages that came until now are about to be read: only up to here may leases expire."""
        ...

    def hear_heartbeat(self, heartbeat: LeaseHeartbeat) -> None:
        """Take in a heartbeat: the holder of a claim is alive."""
        ...

    def hear_report(self, program: Program, report: Report) -> Sequence[RunPipeline]:
        """Take in a report that was recorded. Returns the orders of a local loop that waited for its worker."""
        ...

    def find_abandoned(self) -> Left:
        """The claims, loops and executions that were left behind since the last look."""
        ...

    def until_next_look(self) -> int | None:
        """Microseconds until the next look, None for never."""
        ...

    def order_again(self, but: Collection[str] = ()) -> None:
        """Bind local loops anew whose first iteration nobody claimed, `but` for those of some executions."""
        ...

    def forget(self, execution_id: str) -> None:
        """The execution is over, or not driven here any more."""
        ...

    def clear(self) -> None:
        """Forget every execution."""
        ...


class LocalWorkers:
    """A `WorkerTracker` of workers in this process: they end with it, and take from every pool.

    All names mean the one `pool`, but for those in `limited`: these have a queue of their own, since the bus counts
    what is taken of each.
    """

    def __init__(self, pool: str, limited: Collection[str] = ()) -> None:
        self._pool = pool
        self._limited = limited

    def take_up(self, execution: Execution, running: Sequence[str]) -> Sequence[str]:
        """All of them: the process that ran them is gone."""
        return running

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """All of them: the server that goes on takes them for lost and orders them again."""
        return [StopPipeline(execution.execution_id, run, execution.regions[run].claim) for run in running]

    def pool_for(self, program: Program, order: RunPipeline) -> str:
        return self.queue_of(program.plan.steps[order.step])

    def queue_of(self, step: Step) -> str:
        named = pool_of(step) if self._limited else self._pool
        return named if named in self._limited else self._pool

    def slots_of(self, pool: str) -> int | None:
        return None

    def stamped(self, order: SignedOrder) -> SignedOrder:
        """Unchanged: nobody else can speak on a bus inside one process."""
        return order

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        return True

    def observe_events(self, execution_id: str, events: Sequence[Event]) -> None:
        """`WorkerTracker.observe_events`."""

    def listen(self) -> None:
        """`WorkerTracker.listen`."""

    def hear_heartbeat(self, heartbeat: LeaseHeartbeat) -> None:
        """`WorkerTracker.hear_heartbeat`."""

    def hear_report(self, program: Program, report: Report) -> Sequence[RunPipeline]:
        return ()

    def find_abandoned(self) -> Left:
        return NOTHING

    def until_next_look(self) -> int | None:
        return None

    def order_again(self, but: Collection[str] = ()) -> None:
        """`WorkerTracker.order_again`."""

    def forget(self, execution_id: str) -> None:
        """`WorkerTracker.forget`."""

    def clear(self) -> None:
        """`WorkerTracker.clear`."""
