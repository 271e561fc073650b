"""Workers in other processes: which there are, the leases of their claims, and their local loops."""

from collections.abc import Collection, Sequence

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports.bus import SAY_EVERY
from noetl.server.workers.affinity import Affinity, worker_of
from noetl.server.workers.leases import Leases
from noetl.server.workers.macs import Macs, SignedOrder
from noetl.server.workers.registry import WorkerRegistry
from noetl.server.workers.tracker import Left, pool_of
from noetl_ir.events import Event
from noetl_ir.orders import LeaseHeartbeat, Report, RunPipeline, StopPipeline
from noetl_ir.plan import Step


class RemoteWorkers:
    """A `WorkerTracker` of workers in other processes. Anybody may speak on their bus: `macs` tell who has an order."""

    def __init__(self, leases: Leases, registry: WorkerRegistry, macs: Macs) -> None:
        self._macs = macs
        self._affinity = Affinity()
        self._registry = registry
        self._leases = leases

    def take_up(self, execution: Execution, running: Sequence[str]) -> Sequence[str]:
        """None is lost: whoever has a claim has a full lease."""
        if running:
            self._registry.take_up(execution.execution_id)
        for run in running:
            self._leases.grant(execution.execution_id, run, execution.regions[run].claim)
        return ()

    def stops(self, execution: Execution, running: Sequence[str]) -> Sequence[StopPipeline]:
        """None: who has a claim keeps it."""
        return ()

    def pool_for(self, program: Program, order: RunPipeline) -> str | None:
        """The pool of the step, of the playbook, or `default`; or a worker with its loop."""
        address = self._affinity.address_for(program, order)
        return address if address != "" else pool_of(program.plan.steps[order.step])

    def queue_of(self, step: Step) -> str:
        return pool_of(step)

    def slots_of(self, pool: str) -> int | None:
        """The slots of workers that were heard of and go on; None of an address, which has the loops of one worker."""
        return None if "@" in pool else self._registry.slots_of(pool)

    def stamped(self, order: SignedOrder) -> SignedOrder:
        return self._macs.stamped(order)

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        return self._macs.is_fit(said)

    def observe_events(self, execution_id: str, events: Sequence[Event]) -> None:
        for event in events:
            match event.event_type:
                case "task.started" if "call" not in event.data:
                    self._leases.grant(execution_id, event.run, event.claim)
                case "task.done" | "task.lost" | "retry.started":
                    self._leases.end_lease(execution_id, event.run)
                case "loop.done":
                    self._affinity.end_loop(execution_id, event.run)

    def listen(self) -> None:
        self._leases.listen()

    def hear_heartbeat(self, heartbeat: LeaseHeartbeat) -> None:
        self._registry.heard_of(heartbeat.execution_id)
        self._leases.renew(heartbeat.execution_id, heartbeat.run, heartbeat.claim, worker_of(heartbeat.sender))

    def hear_report(self, program: Program, report: Report) -> Sequence[RunPipeline]:
        worker = worker_of(report.sender)
        self._registry.expect(worker)
        self._registry.heard_of(report.execution_id)
        self._leases.renew(report.execution_id, report.run, report.claim, worker)
        return self._affinity.claimed(program, report.execution_id, report.events[0].step, report.run, worker)

    def find_abandoned(self) -> Left:
        ended, heard = self._leases.pop_expired(), self._registry.take_heard()
        leaving = sorted({*heard.leaving, *(claim.holder for claim in ended if claim.holder)})
        return Left(ended, [left for worker in leaving for left in self._affinity.leave(worker)], heard.taken)

    def until_next_look(self) -> int | None:
        lease = self._leases.until_next_expiry()
        return SAY_EVERY if lease is None else min(lease, SAY_EVERY)

    def order_again(self, but: Collection[str] = ()) -> None:
        self._affinity.begin_again(but)

    def forget(self, execution_id: str) -> None:
        self._registry.heard_of(execution_id)
        self._leases.forget(execution_id)
        self._affinity.forget(execution_id)

    def clear(self) -> None:
        self._leases.clear()
        self._affinity.clear()
