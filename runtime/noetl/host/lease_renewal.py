"""The lease of an owner: a thread renews it as long as the process runs, which shows that it does not stand still.

A process may stand still for any time (a signal, a paused machine) and go on as if nothing had happened. An owner that
has not renewed for `LEASE` seconds may lose its executions to others. It cannot know that at once, so its appends are
refused; and once it runs again it asks what it has lost.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from noetl.ports import StoreFailure

LEASE = 8.0
"""Seconds without a renewal after which an owner stands still."""

RENEW_EVERY = 2.0
"""Seconds between two renewals."""

LATE = LEASE - 1.0
"""Seconds after which an owner asks whether it has lost anything: sooner than anybody may have taken it."""


def hung_text(who: str, seconds: float) -> str:
    """The message about an owner that has not renewed for so long."""
    return f"{who} has it and has stood still for {round(seconds)} s"


class Renewal:
    """Calls `renew` from a thread of its own every `RENEW_EVERY` seconds, from `begin` to `end`. Any thread may ask.

    `renew` gets the time of the renewal; where it raises StoreFailure there was none. `clock` is in monotonic seconds.
    """

    def __init__(self, renew: Callable[[float], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._renew = renew
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._was_late = False
        self._asked = 0.0
        self.last = clock()

    def begin_renewal(self) -> None:
        """Renew from now on."""
        if self._thread is None:
            self.last = self._clock()
            # A thread, since the one that drives may be busy for seconds with a large turn, and that is no standing
            # still.
            self._thread = threading.Thread(target=self._run, name="noetl lease", daemon=True)
            self._thread.start()

    def end_renewal(self) -> None:
        """Renew no more."""
        self._over.set()
        # A renewal that finds its ownership lost may end itself, and a thread cannot wait for itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(RENEW_EVERY)

    def was_late(self) -> bool:
        """Whether others may have taken what is held, since this was asked last."""
        now = self._clock()
        # The thread that renews may stand still with the process; so the age of the last renewal is looked at here
        # too.
        if self._thread is not None and now - self.last > LATE and now - self._asked > RENEW_EVERY:
            self._was_late = True
        late, self._was_late = self._was_late, False
        if late:
            self._asked = now
        return late

    def now(self) -> None:
        """Renew."""
        now = self._clock()
        late = now - self.last > LATE
        # A store that is away for a moment is no reason to stop: it is tried again in two seconds, and four misses
        # cost the lease.
        with suppress(StoreFailure):
            self._renew(now)
            self.last = now
            self._was_late = self._was_late or late

    def _run(self) -> None:
        while not self._over.wait(RENEW_EVERY):
            self.now()
