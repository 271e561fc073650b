"""The notifications of the stores that speak SQL."""

import json
from collections.abc import Sequence
from typing import Any

from noetl.clients.outbox_rows import put_rows
from noetl.clients.row_transaction import RowTransaction
from noetl.clients.standing_rows import StandingRows
from noetl.ports.notifications import NotificationRow, ToldState
from noetl.ports.outbox import OutboxRow
from noetl_ir.expr import Json

_STATE = "SELECT body FROM notified WHERE name = :name AND subject = :subject"
_STATES = "SELECT subject, body FROM notified WHERE name = :name AND subject IN ({marks})"
_PUT_STATE = """
INSERT INTO notified (name, subject, body) VALUES (:name, :subject, :body)
ON CONFLICT (name, subject) DO UPDATE SET body = excluded.body
"""


class _Changed(Exception):
    """Something else was told meanwhile."""


class SqlNotifications(StandingRows[NotificationRow]):
    """The `Notifications` of a store that speaks SQL."""

    noun = "notification"
    columns = NotificationRow._fields
    beside = (("notified", "name"),)

    def values_of(self, row: NotificationRow) -> dict[str, Any]:
        """`StandingRows.values_of`."""
        return {**row._asdict(), "document": json.dumps(row.document, sort_keys=True), "paused": int(row.paused)}

    def row_of(self, values: tuple[Any, ...]) -> NotificationRow:
        """`StandingRows.row_of`."""
        name, document, paused, began, told = values
        return NotificationRow(name, self._body(name, document), bool(paused), began, told)

    def told_states(self, name: str, subjects: Sequence[str]) -> dict[str, dict[str, Json]]:
        """`Notifications.told_states`."""
        marks = {f"subject{number}": subject for number, subject in enumerate(subjects)}
        query = _STATES.format(marks=", ".join([f":{mark}" for mark in marks]))
        rows = self.look(query, {"name": name, **marks}) if marks else []
        return {subject: self._body(name, body) for subject, body in rows}

    def decide_told(self, states: Sequence[ToldState], rows: Sequence[OutboxRow], *, instead_of: int = 0) -> bool:
        """`Notifications.decide_told`."""

        def decided(tx: RowTransaction) -> None:
            for name in sorted({state.name for state in states}):
                # A lock on the notification: what it told of a subject may have no row yet that could be locked.
                tx.rows("UPDATE notifications SET began = began WHERE name = :name", {"name": name})
            for state in states:
                of = {"name": state.name, "subject": state.subject}
                there = tx.rows(_STATE, of)
                if (self._body(state.name, there[0][0]) if there else None) != state.before:
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

    def _body(self, name: str, text: str) -> dict[str, Json]:
        found = self.read_json(name, text)
        return found if isinstance(found, dict) else {}
