"""The purges of a SQLite file."""

from collections.abc import Callable

from noetl.clients.purge_rows import SqlPurges
from noetl.clients.row_transaction import RowTransaction
from noetl.store.sqlite.transaction import SqlitePart

_SWEEP = """
DELETE FROM events WHERE key IN
  (SELECT key FROM events WHERE key > ?1 << 32 AND key < (?1 + 1) << 32 ORDER BY key LIMIT ?2)
"""


class SqlitePurges(SqlitePart, SqlPurges):
    """The purges of a store."""

    operation = "purge"

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """`SqlPurges.change`."""

        def changed(tx: RowTransaction) -> None:
            work(tx)
            # Who once took one of them from an owner that stood still owns it no more.
            tx.rows("DELETE FROM taken WHERE execution_id IN (SELECT execution_id FROM purged)", {})

        super().change(changed)

    def remove_events(self, number: int, limit: int) -> bool:
        """`SqlPurges.remove_events`."""
        return self._store.write("sweep", lambda cursor: cursor.execute(_SWEEP, (number, limit)).rowcount < limit)
