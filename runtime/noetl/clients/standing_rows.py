"""The documents beside playbooks of the stores that speak SQL: a table of them for each kind."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic

from noetl.clients.deed_rows import record_deed
from noetl.clients.row_transaction import RowTransaction, SqlPart
from noetl.ports import StoreFailure
from noetl.ports.standing import Row


class StandingRows(SqlPart, Generic[Row]):
    """The table of one kind. `noun` names one of them, in deeds too; `columns` are those of the table, its key first;
    `beside` are the tables and columns that name one as well, and that it leaves with.
    """

    noun = ""
    columns: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()

    @abstractmethod
    def values_of(self, row: Row) -> Mapping[str, Any]:
        """The values of a row, by columns."""

    @abstractmethod
    def row_of(self, values: tuple[Any, ...]) -> Row:
        """The row of values. Raises ValueError, RecursionError and StoreFailure for one that is damaged."""

    def put(self, row: Row) -> None:
        """`Standing.put`."""

        def put(tx: RowTransaction) -> None:
            self._write(tx, row)
            record_deed(tx, f"{self.noun}-put", row.name)

        self.change(put)

    def remove(self, name: str) -> bool:
        """`Standing.remove`."""
        found: list[bool] = []

        def removed(tx: RowTransaction) -> None:
            found.append(bool(tx.rows(self._find, {"name": name})))
            # Itself first, which is what other changes lock first.
            for table, column in ((f"{self.noun}s", "name"), *self.beside):
                tx.rows(f"DELETE FROM {table} WHERE {column} = :name", {"name": name})
            if found[-1]:
                record_deed(tx, f"{self.noun}-delete", name)

        self.change(removed)
        return found[-1]

    def rows(self, name: str = "") -> tuple[Row, ...]:
        """`Standing.rows`."""
        query = self._find if name else f"SELECT {', '.join(self.columns)} FROM {self.noun}s ORDER BY name"
        return tuple([self._row(values) for values in self.look(query, {"name": name} if name else {})])

    def move(self, before: Row, after: Row) -> bool:
        """`Standing.move`."""
        found: list[bool] = []

        def moved(tx: RowTransaction) -> None:
            # A repeat, whose answer was lost, finds what it did.
            there = [self._row(values) for values in tx.rows(f"{self._find} {self.locking}", {"name": before.name})]
            found.append(there in ([before], [after]))
            if there == [before]:
                self._write(tx, after)
                # It moves behind its starts, too, which nobody asked for.
                if before.paused != after.paused:
                    record_deed(tx, f"{self.noun}-{'pause' if after.paused else 'resume'}", after.name)

        self.change(moved)
        return found[-1]

    def read_json(self, name: str, text: str) -> Any:
        """A value that stands in a row. Raises StoreFailure."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise self._damaged(name, problem) from problem

    def _row(self, values: tuple[Any, ...]) -> Row:
        try:
            return self.row_of(values)
        except (ValueError, RecursionError) as problem:
            raise self._damaged(values[0], problem) from problem

    def _damaged(self, name: str, problem: Exception) -> StoreFailure:
        return StoreFailure(f"the {self.noun} {name!r} is damaged [{problem}]")

    @property
    def _find(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.noun}s WHERE name = :name"

    def _write(self, tx: RowTransaction, row: Row) -> None:
        columns = ", ".join(self.columns)
        values = ", ".join(f":{column}" for column in self.columns)
        fields = ", ".join(f"{column} = :{column}" for column in self.columns[1:])
        query = f"INSERT INTO {self.noun}s ({columns}) VALUES ({values}) ON CONFLICT (name) DO UPDATE SET {fields}"
        tx.rows(query, self.values_of(row))
