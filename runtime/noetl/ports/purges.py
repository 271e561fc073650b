"""The port of purges: executions that are over leave a store, with all that is kept of them.

A purge is one transaction, from which on an execution is in no list and its log can be read by nobody. A long log
would hold up the commits of all others if it went in that transaction, and values and output are not in the database:
they go afterwards. The store remembers until then what was purged, so that a crash in between leaves nothing behind.
"""

from collections.abc import Collection
from typing import Protocol, runtime_checkable


class Purges(Protocol):
    """The purges of a store. All raise StoreFailure."""

    def purge(self, execution_ids: Collection[str]) -> None:
        """Executions that are over are gone, all of them or none, in one durable transaction: their rows, requests,
        places and keys of starts. One that is not there is passed over. Raises `noetl.ports.Unpurgeable`.
        """
        ...

    def purged(self, execution_id: str = "") -> tuple[str, ...]:
        """Executions that were purged and of which something may be left; with an id that one, if it is one of them."""
        ...

    # In small pieces, between which others commit.
    def sweep(self, execution_id: str, limit: int) -> bool:
        """Remove at most `limit` events of one that was purged; whether none is left."""
        ...

    def forget(self, execution_id: str) -> None:
        """Nothing is left of one that was purged, here and elsewhere."""
        ...


@runtime_checkable
# Apart from `Blobs` and `Outputs`: those of a store elsewhere (the API of a server) are not this process's to remove.
class Removable(Protocol):
    """Values or output of executions that can be removed."""

    def remove(self, execution_id: str) -> int:
        """Remove all of an execution; the bytes removed. Raises StoreFailure."""
        ...
