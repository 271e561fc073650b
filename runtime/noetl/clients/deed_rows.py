"""The row of a deed, as stores that speak SQL add it to the transaction of the deed."""

from collections.abc import Mapping

from noetl.clients.row_transaction import RowTransaction
from noetl.ports.actors import deed_of

COLUMNS = "at, who, via, address, deed, subject, outcome, reason"
_ADD = f"""
INSERT INTO audit ({COLUMNS}, once) VALUES (:at, :who, :via, :address, :deed, :subject, :outcome, :reason, :once)
ON CONFLICT (once) DO NOTHING
"""


def record_deed(transaction: RowTransaction, deed: str, subject: str) -> None:
    """Record a change within its transaction, where somebody acts."""
    if (values := deed_of(deed, subject)) is not None:
        add_deed(transaction, values)


def add_deed(transaction: RowTransaction, values: Mapping[str, str | int]) -> None:
    """Add a row, by columns; its repeat is none."""
    transaction.rows(_ADD, {name: value for name, value in values.items() if name != "row"})
