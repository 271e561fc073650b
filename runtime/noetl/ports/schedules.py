"""The port of schedules: what is started at which times, and how far these times were dealt with."""

from collections.abc import Iterable
from typing import Protocol, Self, runtime_checkable

from noetl.ports.standing import Standing
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

PAUSED, SKIPPED, MISSED = "paused", "skipped", "missed"
QUOTA, REFUSED = "quota", "refused"
"""Why a time was not started: its schedule was paused, the execution of the time before ran, nobody was there; its
namespace had no place, or the start was refused otherwise, for longer than a time may wait.
"""

MOST_UNSTARTED = 10


class UnstartedTime(NamedTuple):
    """A time that was dealt with and not started (microseconds since the epoch), and why: one of the words above.
    `running` is the execution that one was skipped for.
    """

    time: int
    why: str
    running: str = ""


class ScheduleRow(NamedTuple):
    """A schedule. Times are microseconds since the epoch.

    - `document`: as it was given; `paused`: nothing is started.
    - `cursor`: all times up to it, and itself, were dealt with: started, skipped or passed.
    - `last`: the execution that was started last, empty for none; `trouble`: why the last time that was due could not
      be started, empty where it could.
    - `began`: when it was kept, or its times were changed; 0 where an older version kept it.
    - `unstarted`: the times that were not started, in their order, the `MOST_UNSTARTED` newest. Those behind
      `cursor` are `waiting`.
    """

    name: str
    document: dict[str, Json]
    cursor: int
    paused: bool = False
    last: str = ""
    trouble: str = ""
    began: int = 0
    unstarted: tuple[UnstartedTime, ...] = ()

    def with_unstarted(self, times: Iterable[UnstartedTime]) -> Self:
        """The row with more times that were not started; of one that it has the reason is another one."""
        found = {each.time: each for each in (*self.unstarted, *times)}
        return self._replace(unstarted=tuple([found[time] for time in sorted(found)][-MOST_UNSTARTED:]))

    @property
    def waiting(self) -> tuple[UnstartedTime, ...]:
        """The times whose starts were refused and that still wait, each the first one for its reason, in their order;
        those between and behind them wait, too.
        """
        return tuple([each for each in self.unstarted if each.time > self.cursor])


# Rows, and no calendar: which times there are follows from the document, in one function of the server.
class Schedules(Standing[ScheduleRow], Protocol):
    """The schedules of a store."""


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its schedules there.
class Scheduled(Protocol):
    """A store with schedules."""

    @property
    def scheduling(self) -> Schedules: ...
