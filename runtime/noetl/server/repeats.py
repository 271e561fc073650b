"""What is said again: orders that nobody claims, and the outcomes of children that nobody took.

A command has no answer of its own, and a crash may come between the log and the bus. So every `LOOK_EVERY` all that
waits for a worker is looked at, and ordered again where `unclaimed` says so.
"""

from collections.abc import Collection, Iterator, Mapping

from noetl.ports import Clock
from noetl.server.children import Child
from noetl.server.shell import Shell
from noetl.server.unclaimed import LOOK_EVERY, Unclaimed
from noetl_ir.commands import Command, RunPipeline


class Repeats:
    """Keeps for how long things wait, by a steady `clock`. `shells` are the executions that are driven here."""

    def __init__(self, shells: Mapping[str, Shell], clock: Clock) -> None:
        self._shells = shells
        self._unclaimed: dict[str, Unclaimed] = {}
        self._handed: dict[Child, RunPipeline] = {}
        self._due = clock.now() + LOOK_EVERY

    def hand_up(self, child: Child, order: RunPipeline) -> None:
        """The outcome of a child is on its way to the task that waits for it."""
        self._handed[child] = order

    def is_due(self, now: int) -> bool:
        """Whether it is time for a look."""
        return now >= self._due

    def wait(self, now: int) -> None:
        """The next look comes in its time."""
        self._due = now + LOOK_EVERY

    def look(self) -> Iterator[Command]:
        """What is to be ordered again."""
        self._unclaimed = {name: self._unclaimed.get(name) or Unclaimed() for name in self._shells}
        for name, shell in self._shells.items():
            yield from shell.order_again(self._unclaimed[name])
        self._handed = {child: order for child, order in self._handed.items() if self._is_parked(order)}
        yield from self._handed.values()

    def next_due(self, unclaimed: Collection[str]) -> int | None:
        """When the next look is due; None while nothing waits. `unclaimed` are executions that wait for a worker."""
        return self._due if unclaimed or any(map(self._is_parked, self._handed.values())) else None

    def clear(self) -> None:
        """Forget everything."""
        self._unclaimed.clear()
        self._handed.clear()

    def _is_parked(self, order: RunPipeline) -> bool:
        """Whether the task that waited for this outcome still does."""
        shell = self._shells.get(order.execution_id)
        return shell is not None and shell.is_parked(order)
