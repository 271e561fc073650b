"""The triggers of the stores that speak SQL."""

import json
from typing import Any

from noetl.clients.row_transaction import RowTransaction
from noetl.clients.standing_rows import StandingRows
from noetl.ports.triggers import MOST_LETTERS, AwaitedEnd, TriggerLetter, TriggerRow

_ENDS = "SELECT number, trigger_name, execution_id, ended FROM trigger_ends {where} ORDER BY number LIMIT :limit"
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


class SqlTriggers(StandingRows[TriggerRow]):
    """The `Triggers` of a store that speaks SQL."""

    noun = "trigger"
    columns = TriggerRow._fields
    beside = (("trigger_ends", "trigger_name"), ("trigger_letters", "trigger_name"))

    def values_of(self, row: TriggerRow) -> dict[str, Any]:
        """`StandingRows.values_of`."""
        written = {name: json.dumps(getattr(row, name), sort_keys=True) for name in ("document", "templates")}
        return {**row._asdict(), **written, "paused": int(row.paused)}

    def row_of(self, values: tuple[Any, ...]) -> TriggerRow:
        """`StandingRows.row_of`."""
        name, kind, document, templates, paused, last, trouble, began = values
        return TriggerRow(
            name, kind, json.loads(document), json.loads(templates), bool(paused), last, trouble, int(began)
        )

    def awaited_ends(self, limit: int, trigger: str = "", execution_id: str = "") -> tuple[AwaitedEnd, ...]:
        """`Triggers.awaited_ends`."""
        asked = {"trigger_name": trigger, "execution_id": execution_id}
        values = {name: text for name, text in asked.items() if text}
        where = " AND ".join([f"{name} = :{name}" for name in values])
        rows = self.look(_ENDS.format(where=f"WHERE {where}" if where else ""), {**values, "limit": limit})
        return tuple([AwaitedEnd(*row) for row in rows])

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
                TriggerLetter(number, name, key, self.read_json(name, body), reason, at)
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


def _keep_letter(tx: RowTransaction, letter: TriggerLetter) -> None:
    tx.rows(_KEEP_LETTER, _letter_values(letter))
    tx.rows(_CUT, {"trigger": letter.trigger, "most": MOST_LETTERS})


def _letter_values(letter: TriggerLetter) -> dict[str, Any]:
    values = {**letter._asdict(), "body": json.dumps(letter.body)}
    del values["number"]
    return values
