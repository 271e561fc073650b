"""The port of schedules: what is started at which times, and how far these times were dealt with."""

from typing import Protocol, runtime_checkable

from noetl.ports.standing import Standing
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
class Schedules(Standing[ScheduleRow], Protocol):
    """The schedules of a store."""


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its schedules there.
class Scheduled(Protocol):
    """A store with schedules."""

    @property
    def scheduling(self) -> Schedules: ...
