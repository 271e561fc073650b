"""The inbox of all executions that are driven here: what came since the last look, by execution."""

from collections.abc import Mapping

from noetl.ports import Clock, Store
from noetl.server.execution import Ask, OwnedExecution, ask_of
from noetl.server.signal_secrets import NO_SECRETS, SignalRedactor

LOOK_EVERY = 50_000
"""Microseconds between two looks, so that a busy run does not ask all the time."""


class Inbox:
    """Reads requests from outside. Those of an execution wait, in their order, until its secrets can be hidden."""

    def __init__(self, store: Store, clock: Clock, secrets: SignalRedactor = NO_SECRETS) -> None:
        self._secrets = secrets
        self._store = store
        self._clock = clock
        self._posted: int | None = None
        self._looked = 0
        self.is_hurried = False
        self._asked: dict[str, list[Ask]] = {}

    def hurry(self) -> None:
        """Something was posted here: look at once."""
        self.is_hurried = True

    def open(self) -> None:
        """Requests matter from now on; those that came before are read with each execution that is taken up."""
        if self._posted is None:
            self._posted = self._store.posted()

    def read_for(self, owned: OwnedExecution) -> None:
        """A request that was posted while nobody drove an execution is answered in the next round."""
        execution_id = owned.execution.execution_id
        if rows := self._store.inbox(execution_id, owned.execution.inbox_row):
            self._asked[execution_id] = [ask_of(row) for row in rows]

    def take_asks(self, executions: Mapping[str, OwnedExecution]) -> dict[str, list[Ask]]:
        """The requests that came since the last look, and those that waited for whom was taken up."""
        asked = self._look_for_asks(executions)
        for execution_id, asks in [*asked.items()]:
            owned = executions.get(execution_id)
            if owned is not None and not owned.can_hide(self._secrets, asks):
                self._asked[execution_id] = asked.pop(execution_id)
        return asked

    def _look_for_asks(self, executions: Mapping[str, OwnedExecution]) -> dict[str, list[Ask]]:
        asked, self._asked = self._asked, {}
        now = self._clock.now()
        # What was read for an execution that was taken up goes out at once; only the question to the store waits.
        if now - self._looked < LOOK_EVERY and not self.is_hurried:
            return asked
        self._looked, self.is_hurried = now, False
        # The number of the last post is one small query; rows are asked for only where it moved.
        posted = self._store.posted()
        if posted != self._posted:
            for row in self._store.posts(self._posted or 0):
                owned = executions.get(row.execution_id)
                # The log says which row was applied last. A row at or below it was answered before a crash, and a
                # cancel or signal must not count twice.
                if owned is not None and row.row > owned.execution.inbox_row:
                    known = asked.setdefault(row.execution_id, [])
                    # `read_for` may have read it already, when its execution was taken up between two looks.
                    if row.row not in {ask.row for ask in known}:
                        known.append(ask_of(row))
            self._posted = posted
        return asked

    def forget(self, execution_id: str) -> None:
        """The execution is not driven here any more."""
        self._asked.pop(execution_id, None)

    def clear(self) -> None:
        """Forget what was read; who is taken up again reads it again."""
        self._asked.clear()
