"""The triggers of the store in memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from noetl.ports import ExecutionRow, triggers
from noetl.ports.triggers import AwaitedEnd, TriggerLetter, TriggerRow
from noetl.store.memory.standing import MemoryStanding


class MemoryTriggers(MemoryStanding[TriggerRow]):
    """`Triggers` in dictionaries."""

    noun = "trigger"

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        record_deed: Callable[[str, str], None],
    ) -> None:
        super().__init__(changing, looking, record_deed)
        self._ends: dict[int, AwaitedEnd] = {}
        self._letters: dict[int, TriggerLetter] = {}
        self._number = 0

    def forget_beside(self, name: str) -> None:
        """`MemoryStanding.forget_beside`."""
        self._ends = {number: end for number, end in self._ends.items() if end.trigger != name}
        self._letters = {number: one for number, one in self._letters.items() if one.trigger != name}

    def execution_ended(self, ended: ExecutionRow) -> None:
        """Keep the end of an execution that nobody called for who waits for it, within the change that ends it."""
        if ended.parent_execution_id is not None:
            return
        for row in self._rows.values():
            if row.kind == "after" and not row.paused:
                self._number += 1
                self._ends[self._number] = AwaitedEnd(self._number, row.name, ended.execution_id, ended.ended or 0)

    def awaited_ends(self, limit: int, trigger: str = "", execution_id: str = "") -> tuple[AwaitedEnd, ...]:
        """`Triggers.awaited_ends`."""
        with self._looking():
            found = [
                end
                for end in self._ends.values()
                if trigger in ("", end.trigger) and execution_id in ("", end.execution_id)
            ]
            return tuple(found[:limit])

    def settle_end(self, number: int, letter: TriggerLetter | None = None) -> None:
        """`Triggers.settle_end`."""
        with self._changing():
            if letter is not None:
                self._keep_letter(letter)
            self._ends.pop(number, None)

    def put_letter(self, letter: TriggerLetter) -> None:
        """`Triggers.put_letter`."""
        with self._changing():
            self._keep_letter(letter)

    def _keep_letter(self, letter: TriggerLetter) -> None:
        if all(one.key != letter.key for one in self._letters.values()):
            self._number += 1
            self._letters[self._number] = letter._replace(number=self._number)
            mine = [number for number, one in self._letters.items() if one.trigger == letter.trigger]
            for number in mine[: -triggers.MOST_LETTERS]:
                del self._letters[number]

    def dead_letters(self, trigger: str, after: int, limit: int) -> tuple[TriggerLetter, ...]:
        """`Triggers.dead_letters`."""
        with self._looking():
            mine = [one for one in self._letters.values() if one.trigger == trigger and one.number > after]
            return tuple(mine[:limit])

    def remove_letter(self, number: int) -> bool:
        """`Triggers.remove_letter`."""
        with self._changing():
            return self._letters.pop(number, None) is not None
