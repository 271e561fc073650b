"""The questions of a control plane about its workers: where orders go, and what is left behind by those who are
gone.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.server.workers.macs import Order
from noetl_ir.events import Event
from noetl_ir.orders import LeaseHeartbeat, Report, RunPipeline, StopPipeline
from noetl_ir.plan import Step
from noetl_ir.records import NamedTuple

DEFAULT_POOL = "default"
"""The pool of a step that names none, nor does its playbook."""


def pool_of(step: Step) -> str:
    """The pool in which the pipelines of a step run."""
    return step.pool or DEFAULT_POOL


class Claim(NamedTuple):
    """The claim on an attempt that nobody has any more; `holder` is who had it, empty where that is not known."""

    execution_id: str
    run: str
    claim: int
    holder: str


class Left(NamedTuple):
    """Claims that are lost, local loops (execution id, key) whose worker leaves or is gone, and executions that
    another server took up.
    """

    claims: Sequence[Claim]
    loops: Sequence[tuple[str, str]]
    taken: Sequence[str]


NOTHING = Left((), (), ())


class WorkerTracker(Protocol):
    """Keeps an eye on the workers of one control plane."""

    def take_up(self, execution: Execution, running: Sequence[str]) -> Sequence[str]:
        """An execution is driven here from now on; which of its attempts that run are lost."""
        ...

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """Another server goes on with an execution; which of its attempts that run are to be stopped here."""
        ...

    def pool_for(self, program: Program, order: RunPipeline) -> str | None:
        """The pool that an order goes to; None when it waits until it is known who has its loop."""
        ...

    def queue_of(self, step: Step) -> str:
        """The pool in whose queue the orders of a step lie, but for those that go to one worker."""
        ...

    def stamped(self, order: Order) -> Order:
        """The order with what proves, in what a worker says, that it has it."""
        ...

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        """Whether a worker that says something has the order that it is about."""
        ...

    def observe_events(self, execution_id: str, events: Sequence[Event]) -> None:
        """Events are on disk."""
        ...

    def listen(self) -> None:
        """Everything that was said until now is about to be heard."""
        ...

    def hear_heartbeat(self, heartbeat: LeaseHeartbeat) -> None:
        """The holder of a claim is there."""
        ...

    def hear_report(self, program: Program, report: Report) -> Sequence[RunPipeline]:
        """A report was recorded; the orders that waited for that."""
        ...

    def find_abandoned(self) -> Left:
        """The attempts that were left behind since the last look."""
        ...

    def until_next_look(self) -> int | None:
        """Microseconds until the next look, None for never."""
        ...

    def order_again(self) -> None:
        """Order again what nobody claimed."""
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
        """Whoever ran them is gone."""
        return running

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """To whoever goes on they are lost."""
        return [StopPipeline(execution.execution_id, run, execution.regions[run].claim) for run in running]

    def pool_for(self, program: Program, order: RunPipeline) -> str:
        return self.queue_of(program.plan.steps[order.step])

    def queue_of(self, step: Step) -> str:
        named = pool_of(step) if self._limited else self._pool
        return named if named in self._limited else self._pool

    def stamped(self, order: Order) -> Order:
        """Nobody else speaks on a bus inside of a process."""
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

    def order_again(self) -> None:
        """`WorkerTracker.order_again`."""

    def forget(self, execution_id: str) -> None:
        """`WorkerTracker.forget`."""

    def clear(self) -> None:
        """`WorkerTracker.clear`."""
