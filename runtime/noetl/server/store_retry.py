"""How long a run waits for a store that takes nothing, since its disk is full, say: it says so, and ends after a while.

What it could not store is tried again until then, so a run goes on as if nothing had been when there is room.
"""

import math
import time
from collections.abc import Callable
from typing import TypeVar

from noetl.host.log_lines import log_line
from noetl.ports import NoRoom, StoreFailure

TOLD_AFTER = 2.0
"""Seconds that nothing could be stored before that is said."""

LONGEST = 20.0
"""Seconds that are waited, unless told otherwise."""

OVER_AFTER = 3.0
"""Seconds without a failure after which all is well again; what failed is tried again within one."""

PAUSE = 0.1

_T = TypeVar("_T")


class StoreRetry:
    """Waits at most `longest` seconds. `say` hears of it; `clock` is in seconds, and `wait` passes some time."""

    def __init__(
        self,
        longest: float = LONGEST,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.wait: Callable[[], None] = lambda: time.sleep(PAUSE)
        self._longest = longest
        self._say = say
        self._clock = clock
        self._problem: StoreFailure | None = None
        self._first = 0.0
        self._last = 0.0
        self._is_told = False
        self._is_interrupted = False
        self._is_hurried = False

    def __call__(self, work: Callable[[], _T]) -> _T:
        """The value of some work that may be repeated; again while there is no room for it. Raises StoreFailure."""
        while True:
            try:
                result = work()
            except NoRoom as problem:
                self.failed(problem)
                # A client waits for this answer. It is told that there is no room, and may come again.
                if self._is_hurried:
                    raise
            else:
                # The first thing is stored, so whoever asked has begun something: what follows from it has to be
                # finished, and may wait.
                self._is_hurried = False
                return result
            self.check()
            self.wait()

    def hurried(self, work: Callable[[], _T]) -> _T:
        """Some work of which nothing is to be stored unless it can be at once; what follows on that may wait."""
        self._is_hurried = True
        try:
            return work()
        finally:
            self._is_hurried = False

    @property
    def problem(self) -> StoreFailure | None:
        """Why nothing can be stored now, if that is so."""
        return self._problem

    def failed(self, problem: StoreFailure) -> None:
        """Something could not be stored, and is tried again."""
        self._last = self._clock()
        # The time counts from the first failure of a row of them, and not from the last one, which comes each tenth
        # of a second.
        if self._problem is None:
            self._first, self._is_told = self._last, False
        self._problem = problem

    def interrupt(self) -> None:
        """Wait for nothing any more; safe in a signal handler."""
        # Only a flag: a handler of a signal may run in the middle of anything. `check` sees it within a tenth of a
        # second.
        self._is_interrupted = True

    def check(self) -> None:
        """Say how it stands. Raises StoreFailure when it has been waited for too long, or nobody wants to wait."""
        if self._problem is None:
            return
        now = self._clock()
        # What failed is tried again each tenth of a second, so three seconds without a failure mean that it went
        # through.
        if now - self._last > OVER_AFTER:
            self._problem = None
            if self._is_told:
                self._say(log_line("info", "there is room again: going on"))
            return
        waited = now - self._first
        if waited >= self._longest or self._is_interrupted:
            raise self._problem
        if waited >= TOLD_AFTER and not self._is_told:
            self._is_told = True
            most = f" {self._longest:g} s at most" if math.isfinite(self._longest) else ""
            text = f"nothing can be stored: {self._problem}; waiting{most} for that to change"
            self._say(log_line("error", text))
