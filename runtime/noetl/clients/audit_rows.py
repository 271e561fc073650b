"""The audit of the stores that speak SQL."""

from noetl.clients.deed_rows import COLUMNS, add_deed
from noetl.clients.row_transaction import RowTransaction, SqlPart
from noetl.ports.audit import AuditRow, WantedAudit

_CONDITIONS = {
    "who": "who = :who", "subject": "subject = :subject", "outcome": "outcome = :outcome",
    "since": "at >= :since", "before": "row < :before",
}  # fmt: skip


class SqlAudit(SqlPart):
    """The `Audit` of a store that speaks SQL."""

    def add_deed(self, row: AuditRow) -> None:
        """`Audit.add_deed`."""
        self.change(lambda transaction: add_deed(transaction, row._asdict()))

    def deeds(self, wanted: WantedAudit) -> list[AuditRow]:
        """`Audit.deeds`."""
        values = {name: value for name, value in wanted._asdict().items() if value and name != "deeds"}
        conditions = [_CONDITIONS[name] for name in values if name != "limit"]
        if named := {f"deed{number}": deed for number, deed in enumerate(wanted.deeds)}:
            conditions.append(f"deed IN ({', '.join([f':{name}' for name in named])})")
        where = " AND ".join(conditions) or "1 = 1"
        limit = "LIMIT :limit" if wanted.limit else ""
        query = f"SELECT row, {COLUMNS} FROM audit WHERE {where} ORDER BY row DESC {limit}"
        return [AuditRow(*values) for values in self.look(query, {**values, **named})]

    def forget_deeds(self, before: int) -> int:
        """`Audit.forget_deeds`."""
        found: list[int] = []

        def forgotten(transaction: RowTransaction) -> None:
            # The triggers of the table let go of what is older than this, and of nothing else.
            transaction.rows("UPDATE audit_kept SET since = :before WHERE since < :before", {"before": before})
            rows = transaction.rows("SELECT count(*) FROM audit WHERE at < :before", {"before": before})
            found.append(int(rows[0][0]))
            transaction.rows("DELETE FROM audit WHERE at < :before", {"before": before})

        self.change(forgotten)
        return found[-1]
