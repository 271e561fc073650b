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

    def put_row(self, row: Row) -> None:
        """Keep one; one of its name is replaced."""
        with self._changing():
            self._rows[row.name] = row
            self._record_deed(f"{self.noun}-put", row.name)

    def remove_row(self, name: str) -> bool:
        """Keep one no more; whether there was one."""
        with self._changing():
            is_there = self._rows.pop(name, None) is not None
            self.forget_beside(name)
            if is_there:
                self._record_deed(f"{self.noun}-delete", name)
            return is_there

    def forget_beside(self, name: str) -> None:
        """Forget what is kept beside one, within the change that removes it; nothing by itself."""

    def rows_named(self, name: str) -> tuple[Row, ...]:
        """All of them by name; with `name` that one, none where it is not there."""
        with self._looking():
            return tuple([row for _, row in sorted(self._rows.items()) if name in ("", row.name)])

    def move_row(self, before: Row, after: Row) -> bool:
        """Replace one where it still is as it was; whether it was."""
        with self._changing():
            there = self._rows.get(before.name)
            if there == before:
                self._rows[before.name] = after
                if before.paused != after.paused:
                    self._record_deed(f"{self.noun}-{'pause' if after.paused else 'resume'}", after.name)
            return there in (before, after)
