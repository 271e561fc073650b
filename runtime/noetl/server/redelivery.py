"""Redelivery: orders that nobody claims, and outcomes of children that nobody took, are sent again.

An order has no answer of its own, and a crash may come between the log and the bus. So every `LOOK_EVERY` microseconds
all pipelines that wait for a worker are looked at, and ordered again where `WaitingOrders` says so.
"""

from collections.abc import Collection, Iterator, Mapping

from noetl.ports import Clock
from noetl.server.children import ChildCaller
from noetl.server.execution import OwnedExecution
from noetl.server.waiting_orders import LOOK_EVERY, WaitingOrders
from noetl_ir.orders import Order, RunPipeline


class Redelivery:
    """Decides when to order again, by a steady `clock`. `executions` are those that are driven here."""

    def __init__(self, executions: Mapping[str, OwnedExecution], clock: Clock) -> None:
        self._executions = executions
        self._waiting: dict[str, WaitingOrders] = {}
        self._handed: dict[ChildCaller, RunPipeline] = {}
        self._due = clock.now() + LOOK_EVERY

    def hand_up(self, child: ChildCaller, order: RunPipeline) -> None:
        """The outcome of a child is on its way to the task that waits for it."""
        self._handed[child] = order

    def is_due(self, now: int) -> bool:
        """Whether it is time for a look."""
        return now >= self._due

    def wait(self, now: int) -> None:
        """The next look comes in its time."""
        self._due = now + LOOK_EVERY

    def orders_again(self, but: Collection[str] = ()) -> Iterator[Order]:
        """The orders that are due again, `but` for those of executions whose orders have not all left yet."""
        # Built anew at each look, so that executions which are over leave nothing here and nobody has to call for
        # that.
        self._waiting = {name: self._waiting.get(name) or WaitingOrders() for name in self._executions}
        for name, owned in self._executions.items():
            if name in but:
                continue
            yield from owned.order_again(self._waiting[name])
        # A child's end is in the child's log, the caller's wait in its own. A crash between them loses the order, not
        # the fact: it is given again until the caller's log shows that it was taken.
        self._handed = {child: order for child, order in self._handed.items() if self._is_parked(order)}
        yield from self._handed.values()

    def next_due(self, waiting: Collection[str]) -> int | None:
        """When the next look is due; None while nothing waits. `waiting` are executions that wait for a worker."""
        return self._due if waiting or any(map(self._is_parked, self._handed.values())) else None

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._handed.clear()

    def _is_parked(self, order: RunPipeline) -> bool:
        """Whether the task that waited for this outcome still does."""
        owned = self._executions.get(order.execution_id)
        return owned is not None and owned.is_parked(order)
