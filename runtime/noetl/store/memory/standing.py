"""The documents beside playbooks of the store in memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic

from noetl.ports.standing import Row


class MemoryStanding(Generic[Row]):
    """The documents of one kind, in a dictionary. `noun` names one of them in deeds; `changing` and `looking` are
    what a change and a look are made in.
    """

    noun = ""

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        record_deed: Callable[[str, str], None],
    ) -> None:
        self._changing = changing
        self._looking = looking
        self._record_deed = record_deed
        self._rows: dict[str, Row] = {}

    def put(self, row: Row) -> None:
        """`Standing.put`."""
        with self._changing():
            self._rows[row.name] = row
            self._record_deed(f"{self.noun}-put", row.name)

    def remove(self, name: str) -> bool:
        """`Standing.remove`."""
        with self._changing():
            is_there = self._rows.pop(name, None) is not None
            self.forget_beside(name)
            if is_there:
                self._record_deed(f"{self.noun}-delete", name)
            return is_there

    def forget_beside(self, name: str) -> None:
        """Forget what is kept beside one, within the change that removes it; nothing by itself."""

    def rows(self, name: str = "") -> tuple[Row, ...]:
        """`Standing.rows`."""
        with self._looking():
            return tuple([row for _, row in sorted(self._rows.items()) if name in ("", row.name)])

    def move(self, before: Row, after: Row) -> bool:
        """`Standing.move`."""
        with self._changing():
            there = self._rows.get(before.name)
            if there == before:
                self._rows[before.name] = after
                if before.paused != after.paused:
                    self._record_deed(f"{self.noun}-{'pause' if after.paused else 'resume'}", after.name)
            return there in (before, after)
