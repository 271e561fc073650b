"""When the timers of one execution are due by a clock that nobody can set.

The log has due times of the wall clock, and clocks are set. So how long there is to wait is taken once: for a timer
that an event wrote here, from the two times of that event, which are of one clock, whoever's it was; for one that was
read from a log, from its due time and the wall clock of that moment. From then on the steady clock measures it. Only a
timer about a time of day follows the wall clock, wherever that is set to.
"""

from collections.abc import Iterator, Mapping

from noetl.engine.execution import Timer
from noetl.ports import Clock

CLOCK_SET = 100_000
"""Microseconds by which the two clocks may drift apart before the wall clock counts as set."""


class Dues:
    """Due times by the name of the timer, in microseconds of the `steady` clock; `clock` is the wall clock."""

    __slots__ = ("_clock", "_of", "_steady")

    def __init__(self, clock: Clock, steady: Clock) -> None:
        self._clock = clock
        self._steady = steady
        self._of: dict[str, tuple[Timer, int]] = {}

    def read(self, timers: Mapping[str, Timer]) -> None:
        """Take timers that were read from a log: their due times are converted by the two clocks as they are now."""
        ahead = self._steady.now() - self._clock.now()
        self._of = {name: (timer, timer.due + ahead) for name, timer in timers.items()}

    def written(self, timers: Mapping[str, Timer], at: int) -> None:
        """Take the timers that are set after a turn that began `at` that time of the steady clock. A new timer runs its
        length from there; one that was known keeps its due time.
        """
        known, self._of = self._of, {}
        for name, timer in timers.items():
            there = known.get(name)
            # A timer under a known name may be another one, of the next attempt, say. Identity tells, as the fold
            # makes a new record for each timer that is set.
            new = there is None or there[0] is not timer
            self._of[name] = (timer, at + timer.due - timer.since) if there is None or new else there

    def ripe(self, now: int) -> list[str]:
        """The names of those that are due, the earliest first."""
        return [name for _, name in sorted((due, name) for name, due in self._steadily() if due <= now)]

    def next(self) -> int | None:
        """When the next one is due."""
        return min((due for _, due in self._steadily()), default=None)

    @property
    def has_moments(self) -> bool:
        """Whether any timer is for a time of day."""
        return any(timer.by_wall for timer, _ in self._of.values())

    def _steadily(self) -> Iterator[tuple[str, int]]:
        ahead: int | None = None
        for name, (timer, due) in self._of.items():
            if timer.by_wall:
                # The two clocks are read once a pass and not once a timer: two timers of one moment are then due at
                # one moment too.
                if ahead is None:
                    ahead = self._steady.now() - self._clock.now()
                due = timer.due + ahead
            yield name, due


class ClockSetting:
    """Whether the wall clock was set, as the steady one shows."""

    def __init__(self, clock: Clock, steady: Clock) -> None:
        self._clock = clock
        self._ahead = clock.now() - steady.now()

    def was_changed(self, now: int) -> bool:
        """Whether that happened since the last look; `now` is the time of the steady clock."""
        # The clocks drift apart a little by themselves. The drift since the last setting counts, so slow adjustment
        # by the machine's time service does add up to one, and is then taken over.
        ahead = self._clock.now() - now
        if abs(ahead - self._ahead) <= CLOCK_SET:
            return False
        self._ahead = ahead
        return True
