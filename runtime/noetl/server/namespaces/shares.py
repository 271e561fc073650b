"""The shares of namespaces: which one an execution has, as far as the store said when it was looked at last."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from noetl.messages.weighted_queue import NO_SHARE, Share
from noetl.ports import Clock, StoreFailure
from noetl.ports.namespaces import NamespaceRow
from noetl.server.namespaces.windows import QueueWindow

LOOK_EVERY = 5_000_000
"""Microseconds between two looks at the namespaces of the store."""


class NamespaceShares:
    """The share of each path. `rows` reads the namespaces of the store; `clock` says when to look again."""

    def __init__(self, rows: Callable[[], Sequence[NamespaceRow]], clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._due: int | None = None
        self._by_prefix: dict[str, Share] = {}

    def look(self) -> bool:
        """Whether there are namespaces; the store is asked now and then."""
        now = self._clock.now()
        if self._due is None or now >= self._due:
            self._due = now + LOOK_EVERY
            with suppress(StoreFailure):  # they stay as they were; the service says what is wrong with the store
                self._by_prefix = {row.prefix: Share(row.name, row.weight) for row in self._rows()}
        return bool(self._by_prefix)

    def new_window(self) -> QueueWindow:
        """Says how much of a pool lies on the bus."""
        return QueueWindow(self._clock)

    def share_of(self, path: str) -> Share:
        """The share of a path: that of its longest prefix."""
        end = path.rfind("/")
        while end >= 0:
            found = self._by_prefix.get(path[: end + 1])
            if found is not None:
                return found
            end = path.rfind("/", 0, end)
        return NO_SHARE
