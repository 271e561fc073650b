"""The access that the parts of a store share: its connections, its holder, and the hook of its fault points."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from noetl.ports import Hook, StoreFailure
from noetl.store.postgres.owners import Holder
from noetl.store.postgres.pool import ConnectionPool, PostgresConnection

_T = TypeVar("_T")


class DatabaseAccess:
    """How the parts reach the database. Whatever is run may be repeated."""

    def __init__(self, pool: ConnectionPool, hook: Hook | None) -> None:
        self.pool = pool
        self.holder = Holder(pool)
        self.shown = pool.address.shown
        self._hook = hook

    def run(self, work: Callable[[PostgresConnection], _T]) -> _T:
        """Do something on a connection. Raises StoreFailure."""
        # A connection that was lost took the holder's lock with it. It is made anew before anything is done that
        # rests on it.
        self.holder.keep()
        return self.pool.run(work)

    def rows(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises StoreFailure."""
        return self.run(lambda connection: connection.execute(query, values, binary=True).fetchall())

    def reach(self, point: str) -> None:
        """Call the hook."""
        if self._hook is not None:
            self._hook(point)

    def unknown(self, execution_id: str) -> StoreFailure:
        """The error for an execution that is not there."""
        return StoreFailure(f"there is no execution {execution_id!r} in {self.shown}")
