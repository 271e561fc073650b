"""The port of notifications: who is to be told of which ends of executions, and what was told of them so far."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from noetl.ports.outbox import OutboxRow
from noetl.ports.standing import Standing
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class NotificationRow(NamedTuple):
    """A notification: `document` is as it was given, `paused`: nobody is told; `began` is when it was kept, `told` when
    its last message was sent, 0 for never (microseconds since the epoch).
    """

    name: str
    document: dict[str, Json]
    paused: bool = False
    began: int = 0
    told: int = 0


class ToldState(NamedTuple):
    """State of a notification: what it has told of a subject (a playbook, or an execution that is late), before and
    after a decision; None for nothing.
    """

    name: str
    subject: str
    before: dict[str, Json] | None
    after: dict[str, Json] | None


class Notifications(Standing[NotificationRow], Protocol):
    """The notifications of a store. Each change is one durable transaction. All raise StoreFailure."""

    def told_states(self, name: str, subjects: Sequence[str]) -> dict[str, dict[str, Json]]:
        """The states of a notification for some subjects, as far as there are any."""
        ...

    # Of two servers that look at the ends of one playbook the second one has to see what the first one told.
    def decide_told(self, states: Sequence[ToldState], rows: Sequence[OutboxRow], *, instead_of: int = 0) -> bool:
        """Put rows into the outbox in place of another one, and change what was told; whether it was as it is said to
        be before, else nothing changes.
        """
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its notifications there.
class Notifying(Protocol):
    """A store with notifications."""

    @property
    def notifying(self) -> Notifications: ...
