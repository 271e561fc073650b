"""The notifications of the stores that speak SQL."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noetl.clients.deed_rows import record_deed
from noetl.clients.outbox_rows import put_rows
from noetl.clients.row_transaction import RowTransaction
from noetl.ports import StoreFailure
from noetl.ports.notifications import NotificationRow, ToldState
from noetl.ports.outbox import OutboxRow
from noetl_ir.expr import Json

_COLUMNS = "name, document, paused, began"
_FIND = f"SELECT {_COLUMNS} FROM notifications WHERE name = :name"
_PUT = f"""
INSERT INTO notifications ({_COLUMNS}) VALUES (:name, :document, :paused, :began)
ON CONFLICT (name) DO UPDATE SET document = :document, paused = :paused, began = :began
"""
_STATE = "SELECT body FROM notified WHERE name = :name AND subject = :subject"
_PUT_STATE = """
INSERT INTO notified (name, subject, body) VALUES (:name, :subject, :body)
ON CONFLICT (name, subject) DO UPDATE SET body = excluded.body
"""


class _Changed(Exception):
    """Something else was told meanwhile."""


class SqlNotifications(ABC):
    """The `Notifications` of a store that speaks SQL."""

    def put_notification(self, row: NotificationRow) -> None:
        """`Notifications.put_notification`."""
        values = {**row._asdict(), "document": json.dumps(row.document, sort_keys=True), "paused": int(row.paused)}

        def put(tx: RowTransaction) -> None:
            tx.rows(_PUT, values)
            record_deed(tx, "notification-put", row.name)

        self.change(put)

    def remove_notification(self, name: str) -> bool:
        """`Notifications.remove_notification`."""
        found: list[bool] = []

        def removed(tx: RowTransaction) -> None:
            found.append(bool(tx.rows(_FIND, {"name": name})))
            for table in ("notifications", "notified"):
                tx.rows(f"DELETE FROM {table} WHERE name = :name", {"name": name})
            if found[-1]:
                record_deed(tx, "notification-delete", name)

        self.change(removed)
        return found[-1]

    def notifications(self, name: str = "") -> tuple[NotificationRow, ...]:
        """`Notifications.notifications`."""
        query = _FIND if name else f"SELECT {_COLUMNS} FROM notifications ORDER BY name"
        return tuple([_row(values) for values in self.look(query, {"name": name} if name else {})])

    def told_states(self, name: str, subjects: Sequence[str]) -> dict[str, dict[str, Json]]:
        """`Notifications.told_states`."""
        found = {subject: self.look(_STATE, {"name": name, "subject": subject}) for subject in subjects}
        return {subject: _body(name, rows[0][0]) for subject, rows in found.items() if rows}

    def decide_told(self, states: Sequence[ToldState], rows: Sequence[OutboxRow], *, instead_of: int = 0) -> bool:
        """`Notifications.decide_told`."""

        def decided(tx: RowTransaction) -> None:
            for name in sorted({state.name for state in states}):
                # A lock on the notification: what it told of a subject may have no row yet that could be locked.
                tx.rows("UPDATE notifications SET began = began WHERE name = :name", {"name": name})
            for state in states:
                of = {"name": state.name, "subject": state.subject}
                there = tx.rows(_STATE, of)
                if (_body(state.name, there[0][0]) if there else None) != state.before:
                    raise _Changed
                if state.after is None:
                    tx.rows("DELETE FROM notified WHERE name = :name AND subject = :subject", of)
                else:
                    tx.rows(_PUT_STATE, {**of, "body": json.dumps(state.after, sort_keys=True)})
            put_rows(tx, rows, instead_of)

        try:
            self.change(decided)
        except _Changed:
            return False
        return True

    @abstractmethod
    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction, which may be repeated until it is on disk."""

    @abstractmethod
    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""


def _row(values: tuple[Any, ...]) -> NotificationRow:
    name, document, paused, began = values
    return NotificationRow(name, _body(name, document), bool(paused), began)


def _body(name: str, text: str) -> dict[str, Json]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise StoreFailure(f"the notification {name!r} is damaged [{problem}]") from problem
    return found if isinstance(found, dict) else {}
