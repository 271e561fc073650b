"""Loops with `exec: local`: the worker that claims the first iteration has all others too.

Until it is known who that is, one iteration is ordered and the others wait. Then they go to the worker's own
address. A worker that leaves has no loops any more: what was not claimed is ordered again.
"""

from collections.abc import Collection

from noetl.engine.program import Program
from noetl.ports.bus import address_of
from noetl.server.workers.tracker import pool_of
from noetl_ir.orders import RunPipeline


class _Binding:
    """`first` is the iteration that was ordered, `worker` who claimed one, `waiting` the others by their keys."""

    __slots__ = ("first", "waiting", "worker")

    def __init__(self) -> None:
        self.first = ""
        self.worker = ""
        self.waiting: dict[str, RunPipeline] = {}


class Affinity:
    """The local loops of the executions that are driven here."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, _Binding]] = {}

    def address_for(self, program: Program, order: RunPipeline) -> str | None:
        """The address that an order goes to, empty for its pool; None when it waits here for the worker."""
        loop = local_loop_of(program, order.step, order.run)
        if not loop:
            return ""
        binding = self._of.setdefault(order.execution_id, {}).setdefault(loop, _Binding())
        if binding.worker:
            return address_of(pool_of(program.plan.steps[order.step]), binding.worker)
        if binding.first in ("", order.run):
            binding.first = order.run
            return ""
        binding.waiting[order.run] = order
        return None

    def claimed(self, program: Program, execution_id: str, step: int, run: str, worker: str) -> list[RunPipeline]:
        """Bind a loop to the worker that claimed one of its iterations. Returns the orders that waited for that."""
        mine = self._of.get(execution_id)
        binding = mine.get(local_loop_of(program, step, run)) if mine else None
        if binding is None or binding.worker or not worker:
            return []
        binding.worker = worker
        waiting, binding.waiting = binding.waiting, {}
        return [*waiting.values()]

    def leave(self, worker: str) -> list[tuple[str, str]]:
        """Unbind the loops of a worker that takes nothing more. Returns them as (execution id, key of the loop run)."""
        left = [
            (name, loop)
            for name, mine in self._of.items()
            for loop, binding in mine.items()
            if binding.worker == worker
        ]
        for name, loop in left:
            del self._of[name][loop]
        return left

    def begin_again(self, but: Collection[str] = ()) -> None:
        """Who was to claim the first iteration of a loop may never do so: let the next one that is ordered be it; `but`
        for executions whose orders have not all left yet.
        """
        for name, mine in self._of.items():
            for binding in mine.values() if name not in but else ():
                binding.first = binding.first if binding.worker else ""

    def end_loop(self, execution_id: str, loop: str) -> None:
        """A loop is over."""
        self._of.get(execution_id, {}).pop(loop, None)

    def forget(self, execution_id: str) -> None:
        """An execution is over, or not driven here any more."""
        self._of.pop(execution_id, None)

    def clear(self) -> None:
        """Forget everything."""
        self._of.clear()


def local_loop_of(program: Program, step: int, run: str) -> str:
    """The key of the outermost local loop that a pipeline iterates in, empty for none."""
    for level, loop in enumerate(program.plan.steps[step].loops):
        if loop.exec == "local":
            return "/".join(run.split("/")[: level + 1])
    return ""


def worker_of(sender: str) -> str:
    """The name of the worker whose session sent a report."""
    return sender.rpartition(":")[0]
