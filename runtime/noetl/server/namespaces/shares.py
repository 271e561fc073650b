"""The shares of namespaces: which one an execution has, as far as the store said when it was looked at last."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from noetl.messages.weighted_queue import NO_SHARE, Share
from noetl.ports import Clock, StoreFailure
from noetl.ports.bus import lane_of
from noetl.ports.namespaces import NamespaceRow
from noetl.server.checked_documents import BadDocument
from noetl.server.namespaces.document import pool_limits
from noetl.server.namespaces.windows import QueueWindow

_NONE: Mapping[str, int] = {}
LOOK_EVERY = 5_000_000
"""Microseconds between two looks at the namespaces of the store."""


class NamespaceShares:
    """The share of each path. `rows` reads the namespaces of the store; `clock` says when to look again. `limits` are
    how much of a pool may be at work at once, of all together.
    """

    def __init__(
        self, rows: Callable[[], Sequence[NamespaceRow]], clock: Clock, limits: Mapping[str, int] = _NONE
    ) -> None:
        self._rows = rows
        self._clock = clock
        self._limits = limits
        self._due: int | None = None
        self._by_prefix: dict[str, Share] = {}
        self._known: tuple[NamespaceRow, ...] = ()
        self.lanes: dict[str, int] = {}
        """The queues that namespaces have of their own, with how much of each may be at work at once."""
        self.rests: dict[str, int] = {**limits}
        """How much may be at work at once of all others, by pool, where a limit is set for all together."""

    def look(self) -> bool:
        """Whether there are namespaces; the store is asked now and then."""
        now = self._clock.now()
        if self._due is None or now >= self._due:
            self._due = now + LOOK_EVERY
            with suppress(StoreFailure):  # they stay as they were; the service says what is wrong with the store
                rows = tuple(self._rows())
                if rows != self._known:  # to read documents takes longer than to see that they are as they were
                    self._known = rows
                    self._by_prefix = {row.prefix: _share_of(row) for row in rows}
                    self._divide(rows)
        return bool(self._by_prefix)

    def _divide(self, rows: Sequence[NamespaceRow]) -> None:
        """Give each lane its part, and the rest of the limit of a pool to all others in it."""
        wanted: dict[str, dict[str, int]] = {}
        for row in rows:
            for pool, most in _limits_of(row).items():
                wanted.setdefault(pool, {})[row.name] = most
        lanes, rests = dict[str, int](), {**self._limits}
        for pool, parts in wanted.items():
            if pool in self._limits:
                rests[pool], parts = divided(self._limits[pool], parts)
            lanes |= {lane_of(pool, name): most for name, most in parts.items()}
        self.lanes, self.rests = lanes, rests

    def new_window(self) -> QueueWindow:
        """Says how much of a pool lies on the bus."""
        return QueueWindow(self._clock)

    def share_of(self, path: str) -> Share:
        """The share of a path: that of its longest prefix."""
        return share_in(self._by_prefix, path)


def divided(limit: int, parts: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """The rest of a limit for the others, and the part of each namespace: as much as it may have, where that leaves one
    for the others, else less in proportion. Together they are no more than the limit, but that each has one at least.
    """
    total = sum(parts.values())
    if total < limit:
        return limit - total, {**parts}
    spare = max(0, limit - 1 - len(parts))
    fitted = {name: 1 + (most - 1) * spare // max(1, total - len(parts)) for name, most in parts.items()}
    return max(1, limit - sum(fitted.values())), fitted


def share_in(by_prefix: Mapping[str, Share], path: str) -> Share:
    """The share of a path, of those that prefixes have: that of its longest one."""
    end = path.rfind("/")
    while end >= 0:
        found = by_prefix.get(path[: end + 1])
        if found is not None:
            return found
        end = path.rfind("/", 0, end)
    return NO_SHARE


def most_at_work(rows: Sequence[NamespaceRow], path: str, pool: str) -> tuple[str, int] | None:
    """The namespace of a path, and how much of it may be at work at once in a pool; None for any number."""
    share = share_in({row.prefix: _share_of(row) for row in rows}, path)
    most = next((_limits_of(row).get(pool) for row in rows if row.name == share.name), None)
    return None if most is None else (share.name, most)


def _share_of(row: NamespaceRow) -> Share:
    return Share(row.name, row.weight, frozenset(_limits_of(row)))


def _limits_of(row: NamespaceRow) -> dict[str, int]:
    try:
        return pool_limits(row.document)
    except BadDocument:  # a newer version may have put it there
        return {}
