"""The schedules of the stores that speak SQL."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from noetl.clients.deed_rows import record_deed
from noetl.clients.row_transaction import RowTransaction
from noetl.ports import StoreFailure
from noetl.ports.schedules import ScheduleRow

_COLUMNS = "name, document, cursor, paused, last, trouble, began"
_FIELDS = "document = :document, cursor = :cursor, paused = :paused, last = :last, trouble = :trouble, began = :began"
_FIND = f"SELECT {_COLUMNS} FROM schedules WHERE name = :name"
_PUT = f"""
INSERT INTO schedules ({_COLUMNS}) VALUES (:name, :document, :cursor, :paused, :last, :trouble, :began)
ON CONFLICT (name) DO UPDATE SET {_FIELDS}
"""


class SqlSchedules(ABC):
    """The `Schedules` of a store that speaks SQL."""

    def put_schedule(self, row: ScheduleRow) -> None:
        """`Schedules.put_schedule`."""

        def put(tx: RowTransaction) -> None:
            tx.rows(_PUT, _values(row))
            record_deed(tx, "schedule-put", row.name)

        self.change(put)

    def remove_schedule(self, name: str) -> bool:
        """`Schedules.remove_schedule`."""
        found: list[bool] = []

        def removed(tx: RowTransaction) -> None:
            found.append(bool(tx.rows(_FIND, {"name": name})))
            tx.rows("DELETE FROM schedules WHERE name = :name", {"name": name})
            if found[-1]:
                record_deed(tx, "schedule-delete", name)

        self.change(removed)
        return found[-1]

    def schedules(self, name: str = "") -> tuple[ScheduleRow, ...]:
        """`Schedules.schedules`."""
        query = _FIND if name else f"SELECT {_COLUMNS} FROM schedules ORDER BY name"
        return tuple([_row(values) for values in self.look(query, {"name": name} if name else {})])

    def move_schedule(self, before: ScheduleRow, after: ScheduleRow) -> bool:
        """`Schedules.move_schedule`."""
        found: list[bool] = []

        def moved(tx: RowTransaction) -> None:
            # A repeat, whose answer was lost, finds what it did.
            there = [_row(values) for values in tx.rows(f"{_FIND} {self.locking}", {"name": before.name})]
            found.append(there in ([before], [after]))
            if there == [before]:
                tx.rows(_PUT, _values(after))
                if before.paused != after.paused:
                    record_deed(tx, "schedule-pause" if after.paused else "schedule-resume", after.name)

        self.change(moved)
        return found[-1]

    locking = ""
    """How a query locks the rows that it finds."""

    @abstractmethod
    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction, which may be repeated until it is on disk."""

    @abstractmethod
    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""


def _values(row: ScheduleRow) -> dict[str, Any]:
    return {**row._asdict(), "document": json.dumps(row.document, sort_keys=True), "paused": int(row.paused)}


def _row(values: tuple[Any, ...]) -> ScheduleRow:
    name, document, cursor, paused, last, trouble, began = values
    try:
        return ScheduleRow(name, json.loads(document), int(cursor), bool(paused), last, trouble, int(began))
    except (ValueError, RecursionError) as problem:
        raise StoreFailure(f"the schedule {name!r} is damaged [{problem}]") from problem
