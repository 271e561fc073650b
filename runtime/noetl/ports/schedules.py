"""The port of schedules: what is started at which times, and how far these times were dealt with."""

from typing import Protocol, runtime_checkable

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class ScheduleRow(NamedTuple):
    """A schedule. Times are microseconds since the epoch.

    - `document`: as it was given; `paused`: nothing is started.
    - `cursor`: all times up to it, and itself, were dealt with: started, skipped or passed.
    - `last`: the execution that was started last, empty for none; `trouble`: why the last time that was due could not
      be started, empty where it could.
    - `began`: when it was kept, or its times were changed; 0 where an older version kept it.
    """

    name: str
    document: dict[str, Json]
    cursor: int
    paused: bool = False
    last: str = ""
    trouble: str = ""
    began: int = 0


# Rows, and no calendar: which times there are follows from the document, in one function of the server.
class Schedules(Protocol):
    """The schedules of a store. Each change is one durable transaction. All raise StoreFailure."""

    def put_schedule(self, row: ScheduleRow) -> None:
        """Keep a schedule; one of its name is replaced."""
        ...

    def remove_schedule(self, name: str) -> bool:
        """Keep it no more; whether there was one."""
        ...

    def schedules(self, name: str = "") -> tuple[ScheduleRow, ...]:
        """All schedules by name; with `name` that one, none where it is not there."""
        ...

    # Of two servers that have started the same time one moves it; the other finds that it was moved.
    def move_schedule(self, before: ScheduleRow, after: ScheduleRow) -> bool:
        """Replace a row where it still is as it was; whether it was."""
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its schedules there.
class Scheduled(Protocol):
    """A store with schedules."""

    @property
    def scheduling(self) -> Schedules: ...
