"""The triggers of the stores that speak SQL."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from noetl.clients.deed_rows import record_deed
from noetl.clients.row_transaction import RowTransaction
from noetl.ports import StoreFailure
from noetl.ports.triggers import MOST_LETTERS, AwaitedEnd, TriggerLetter, TriggerRow

_COLUMNS = ", ".join(TriggerRow._fields)
_FIELDS = ", ".join(f"{name} = :{name}" for name in TriggerRow._fields[1:])
_FIND = f"SELECT {_COLUMNS} FROM triggers WHERE name = :name"
_PUT = f"""
INSERT INTO triggers ({_COLUMNS}) VALUES ({", ".join(f":{name}" for name in TriggerRow._fields)})
ON CONFLICT (name) DO UPDATE SET {_FIELDS}
"""
_REMOVE = tuple(
    f"DELETE FROM {table} WHERE {column} = :name"
    for table, column in (("trigger_ends", "trigger_name"), ("trigger_letters", "trigger_name"), ("triggers", "name"))
)
_ENDS = "SELECT number, trigger_name, execution_id, ended FROM trigger_ends ORDER BY number LIMIT :limit"
_KEEP_LETTER = """
INSERT INTO trigger_letters (trigger_name, key, body, reason, at) VALUES (:trigger, :key, :body, :reason, :at)
ON CONFLICT (key) DO NOTHING
"""
# Whoever sends what cannot be started fills no store.
_CUT = """
DELETE FROM trigger_letters WHERE trigger_name = :trigger AND number <= (SELECT number FROM trigger_letters
  WHERE trigger_name = :trigger ORDER BY number DESC LIMIT 1 OFFSET :most)
"""
_LETTERS = """
SELECT number, trigger_name, key, body, reason, at FROM trigger_letters
WHERE trigger_name = :name AND number > :after ORDER BY number LIMIT :limit
"""
_LETTER = "SELECT number FROM trigger_letters WHERE number = :number"


class SqlTriggers(ABC):
    """The `Triggers` of a store that speaks SQL."""

    def put_trigger(self, row: TriggerRow) -> None:
        """`Triggers.put_trigger`."""

        def put(tx: RowTransaction) -> None:
            tx.rows(_PUT, _values(row))
            record_deed(tx, "trigger-put", row.name)

        self.change(put)

    def remove_trigger(self, name: str) -> bool:
        """`Triggers.remove_trigger`."""
        found: list[bool] = []

        def removed(tx: RowTransaction) -> None:
            found.append(bool(tx.rows(_FIND, {"name": name})))
            for statement in _REMOVE:
                tx.rows(statement, {"name": name})
            if found[-1]:
                record_deed(tx, "trigger-delete", name)

        self.change(removed)
        return found[-1]

    def triggers(self, name: str = "") -> tuple[TriggerRow, ...]:
        """`Triggers.triggers`."""
        query = _FIND if name else f"SELECT {_COLUMNS} FROM triggers ORDER BY name"
        return tuple([_row(values) for values in self.look(query, {"name": name} if name else {})])

    def move_trigger(self, before: TriggerRow, after: TriggerRow) -> bool:
        """`Triggers.move_trigger`."""
        found: list[bool] = []

        def moved(tx: RowTransaction) -> None:
            # A repeat, whose answer was lost, finds what it did.
            there = [_row(values) for values in tx.rows(f"{_FIND} {self.locking}", {"name": before.name})]
            found.append(there in ([before], [after]))
            if there == [before]:
                tx.rows(_PUT, _values(after))
                # It moves behind its starts, too, which nobody asked for.
                if before.paused != after.paused:
                    record_deed(tx, "trigger-pause" if after.paused else "trigger-resume", after.name)

        self.change(moved)
        return found[-1]

    def awaited_ends(self, limit: int) -> tuple[AwaitedEnd, ...]:
        """`Triggers.awaited_ends`."""
        return tuple([AwaitedEnd(*values) for values in self.look(_ENDS, {"limit": limit})])

    def settle_end(self, number: int, letter: TriggerLetter | None = None) -> None:
        """`Triggers.settle_end`."""

        def settled(tx: RowTransaction) -> None:
            if letter is not None:
                _keep_letter(tx, letter)
            tx.rows("DELETE FROM trigger_ends WHERE number = :number", {"number": number})

        self.change(settled)

    def put_letter(self, letter: TriggerLetter) -> None:
        """`Triggers.put_letter`."""

        def put(tx: RowTransaction) -> None:
            _keep_letter(tx, letter)

        self.change(put)

    def dead_letters(self, trigger: str, after: int, limit: int) -> tuple[TriggerLetter, ...]:
        """`Triggers.dead_letters`."""
        rows = self.look(_LETTERS, {"name": trigger, "after": after, "limit": limit})
        return tuple(
            [
                TriggerLetter(number, name, key, _read(name, body), reason, at)
                for number, name, key, body, reason, at in rows
            ]
        )

    def remove_letter(self, number: int) -> bool:
        """`Triggers.remove_letter`."""
        found: list[bool] = []

        def removed(tx: RowTransaction) -> None:
            found.append(bool(tx.rows(_LETTER, {"number": number})))
            tx.rows("DELETE FROM trigger_letters WHERE number = :number", {"number": number})

        self.change(removed)
        return found[0]

    locking = ""
    """How a query locks the rows that it finds."""

    @abstractmethod
    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction, which may be repeated until it is on disk."""

    @abstractmethod
    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""


def _keep_letter(tx: RowTransaction, letter: TriggerLetter) -> None:
    tx.rows(_KEEP_LETTER, _letter_values(letter))
    tx.rows(_CUT, {"trigger": letter.trigger, "most": MOST_LETTERS})


def _values(row: TriggerRow) -> dict[str, Any]:
    written = {name: json.dumps(getattr(row, name), sort_keys=True) for name in ("document", "templates")}
    return {**row._asdict(), **written, "paused": int(row.paused)}


def _letter_values(letter: TriggerLetter) -> dict[str, Any]:
    values = {**letter._asdict(), "body": json.dumps(letter.body)}
    del values["number"]
    return values


def _row(values: tuple[Any, ...]) -> TriggerRow:
    name, kind, document, templates, paused, last, trouble, began = values
    return TriggerRow(
        name, kind, _read(name, document), _read(name, templates), bool(paused), last, trouble, int(began)
    )


def _read(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise StoreFailure(f"the trigger {name!r} is damaged [{problem}]") from problem
