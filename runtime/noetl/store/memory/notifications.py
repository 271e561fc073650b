"""The notifications of the store in memory."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from noetl.ports.notifications import NotificationRow, ToldState
from noetl.ports.outbox import OutboxRow
from noetl.store.memory.outbox import MemoryOutbox
from noetl.store.memory.standing import MemoryStanding
from noetl_ir.expr import Json


class MemoryNotifications(MemoryStanding[NotificationRow]):
    """`Notifications` in dictionaries."""

    noun = "notification"

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        outbox: MemoryOutbox,
        record_deed: Callable[[str, str], None],
    ) -> None:
        super().__init__(changing, looking, record_deed)
        self._outbox = outbox
        self._told: dict[tuple[str, str], str] = {}

    def forget_beside(self, name: str) -> None:
        """`MemoryStanding.forget_beside`."""
        self._told = {key: body for key, body in self._told.items() if key[0] != name}

    def told_states(self, name: str, subjects: Sequence[str]) -> dict[str, dict[str, Json]]:
        """`Notifications.told_states`."""
        with self._looking():
            return {each: json.loads(self._told[name, each]) for each in subjects if (name, each) in self._told}

    def decide_told(self, states: Sequence[ToldState], rows: Sequence[OutboxRow], *, instead_of: int = 0) -> bool:
        """`Notifications.decide_told`."""
        with self._changing():
            for state in states:
                there = self._told.get((state.name, state.subject))
                if (None if there is None else json.loads(there)) != state.before:
                    return False
            for state in states:
                self._told.pop((state.name, state.subject), None)
                if state.after is not None:
                    self._told[state.name, state.subject] = json.dumps(state.after)
            self._outbox.put_rows(rows, instead_of)
            return True
