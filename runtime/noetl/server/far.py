"""Workers in other processes: which there are, the leases of their claims, and their local loops."""

from collections.abc import Sequence

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.server.homes import Homes, worker_of
from noetl.server.leases import Leases
from noetl.server.macs import Macs, Order
from noetl.server.roll import SAY_EVERY, Roll
from noetl.server.watch import Left, pool_of
from noetl_ir.commands import Beat, Report, RunPipeline, StopPipeline
from noetl_ir.events import Event
from noetl_ir.plan import Step


class Far:
    """A `Watch` of workers in other processes. Anybody may speak on their bus, so that `macs` tell who has an order."""

    def __init__(self, leases: Leases, roll: Roll, macs: Macs) -> None:
        self._macs = macs
        self._homes = Homes()
        self._roll = roll
        self._leases = leases

    def take_up(self, execution: Execution, running: Sequence[str]) -> Sequence[str]:
        """`Watch.take_up`. None is lost: whoever has a claim has a full lease."""
        if running:
            self._roll.take_up(execution.execution_id)
        for run in running:
            self._leases.begin(execution.execution_id, run, execution.regions[run].claim)
        return ()

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """`Watch.stops`. None: who has a claim keeps it."""
        return ()

    def pool_for(self, program: Program, order: RunPipeline) -> str | None:
        """`Watch.pool_for`: `step.spec.pool`, else `executor.spec.pool`, else `default`; or a worker with its loop."""
        address = self._homes.address_for(program, order)
        return address if address != "" else pool_of(program.plan.steps[order.step])

    def queue_of(self, step: Step) -> str:
        """`Watch.queue_of`."""
        return pool_of(step)

    def stamped(self, order: Order) -> Order:
        """`Watch.stamped`."""
        return self._macs.stamped(order)

    def is_fit(self, said: Report | Beat) -> bool:
        """`Watch.is_fit`."""
        return self._macs.is_fit(said)

    def note(self, execution_id: str, events: Sequence[Event]) -> None:
        """`Watch.note`."""
        for event in events:
            match event.event_type:
                case "task.started" if "call" not in event.data:
                    self._leases.begin(execution_id, event.run, event.claim)
                case "task.done" | "task.lost" | "retry.started":
                    self._leases.end(execution_id, event.run)
                case "loop.done":
                    self._homes.end(execution_id, event.run)

    def listen(self) -> None:
        """`Watch.listen`."""
        self._leases.listen()

    def hear(self, beat: Beat) -> None:
        """`Watch.hear`."""
        self._roll.heard_of(beat.execution_id)
        self._leases.hear(beat.execution_id, beat.run, beat.claim, worker_of(beat.sender))

    def hear_report(self, program: Program, report: Report) -> Sequence[RunPipeline]:
        """`Watch.hear_report`."""
        worker = worker_of(report.sender)
        self._roll.expect(worker)
        self._roll.heard_of(report.execution_id)
        self._leases.hear(report.execution_id, report.run, report.claim, worker)
        return self._homes.claimed(program, report.execution_id, report.events[0].step, report.run, worker)

    def look(self) -> Left:
        """`Watch.look`."""
        ended, heard = self._leases.ended(), self._roll.look()
        leaving = sorted({*heard.leaving, *(claim.holder for claim in ended if claim.holder)})
        return Left(ended, [left for worker in leaving for left in self._homes.leave(worker)], heard.taken)

    def left(self) -> int | None:
        """`Watch.left`."""
        lease = self._leases.left()
        return SAY_EVERY if lease is None else min(lease, SAY_EVERY)

    def order_again(self) -> None:
        """`Watch.order_again`."""
        self._homes.begin_again()

    def forget(self, execution_id: str) -> None:
        """`Watch.forget`."""
        self._roll.heard_of(execution_id)
        self._leases.forget(execution_id)
        self._homes.forget(execution_id)

    def clear(self) -> None:
        """`Watch.clear`."""
        self._leases.clear()
        self._homes.clear()
