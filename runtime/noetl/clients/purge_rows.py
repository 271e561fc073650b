"""The purges of the stores that speak SQL: which rows go, in one transaction, and which have to be none."""

from abc import abstractmethod
from collections.abc import Collection

from noetl.clients.deed_rows import record_deed
from noetl.clients.row_transaction import RowTransaction, SqlPart
from noetl.ports import Unpurgeable


class SqlPurges(SqlPart):
    """The `Purges` of a store that speaks SQL."""

    def purge(self, execution_ids: Collection[str]) -> None:
        """`Purges.purge`."""
        self.change(lambda tx: _purge(tx, execution_ids))

    def purged(self, execution_id: str = "") -> tuple[str, ...]:
        """`Purges.purged`."""
        which = "WHERE execution_id = :name" if execution_id else "ORDER BY number"
        query = f"SELECT execution_id FROM purged {which}"
        return tuple([str(name) for (name,) in self.look(query, {"name": execution_id} if execution_id else {})])

    def sweep(self, execution_id: str, limit: int) -> bool:
        """`Purges.sweep`."""
        found = self.look("SELECT number FROM purged WHERE execution_id = :name", {"name": execution_id})
        return not found or self.remove_events(int(found[0][0]), limit)

    def forget(self, execution_id: str) -> None:
        """`Purges.forget`."""

        def forgotten(tx: RowTransaction) -> None:
            tx.rows("DELETE FROM purged WHERE execution_id = :name", {"name": execution_id})

        self.change(forgotten)

    @abstractmethod
    def remove_events(self, number: int, limit: int) -> bool:
        """Remove at most `limit` events of the execution of that number in a transaction; whether none is left."""


_ROW = "SELECT parent_execution_id, ended IS NOT NULL FROM executions WHERE execution_id = :name"
_CHILDREN = "SELECT execution_id FROM executions WHERE parent_execution_id = :name"
_ADDRESSED = "SELECT row FROM mail WHERE execution_id = :name AND row IS NOT NULL LIMIT 1"
# Of executions that are over: those of one that is not are its owner's.
_GO = (
    "INSERT INTO purged (number, execution_id) SELECT number, execution_id FROM executions WHERE execution_id = :name",
    "DELETE FROM mail_waits WHERE execution_id = :name",
    "DELETE FROM places WHERE execution_id = :name",
    "DELETE FROM starts WHERE execution_id = :name",
    "DELETE FROM attributes WHERE execution = (SELECT number FROM executions WHERE execution_id = :name)",
    "DELETE FROM inbox WHERE execution = (SELECT number FROM executions WHERE execution_id = :name)",
    # Messages, whose subject is another one, go on: whoever is told of a failure need not find it any more.
    "DELETE FROM outbox WHERE topic IN (SELECT topic FROM outbox_topics) AND subject = :name",
    "DELETE FROM executions WHERE execution_id = :name",
)


def _purge(tx: RowTransaction, execution_ids: Collection[str]) -> None:
    wanted = {*execution_ids}
    for name in execution_ids:
        values = {"name": name}
        if not (found := tx.rows(_ROW, values)):
            continue
        if not found[0][1]:
            raise Unpurgeable(f"execution {name!r} is not over")
        for (child,) in tx.rows(_CHILDREN, values):
            if child not in wanted:
                raise Unpurgeable(f"execution {name!r} has a child that would stay, {child!r}")
        # The mailbox gives it to the next wait, once somebody has told that this one did not take it.
        if tx.rows(_ADDRESSED, values):
            raise Unpurgeable(f"a signal of the mailbox is on its way to execution {name!r}")
        for statement in _GO:
            tx.rows(statement, values)
        if found[0][0] is None:
            record_deed(tx, "purge", name)
