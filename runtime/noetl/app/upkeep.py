"""The upkeep of a store beside a server: work that is done now and then, and takes little of its time."""

import threading
import time
from collections.abc import Callable, Sequence

from noetl.host.log_lines import log_line

FIRST, EVERY = 60.0, 600.0
"""Seconds before the first round of upkeep, and between two rounds."""

SHARE = 20
"""The pause between two pieces of work, as a multiple of the time that the piece took."""

UpkeepPause = Callable[[], bool]
"""Called between two pieces of work; whether to go on."""

UpkeepJob = Callable[[UpkeepPause], str]
"""A kind of upkeep: does what there is to do, and says it; nothing where there was none."""


class Upkeep(threading.Thread):
    """Does jobs one after the other, each in small pieces. `say` hears what they did."""

    def __init__(self, jobs: Sequence[UpkeepJob], say: Callable[[str], None], first: float = FIRST) -> None:
        super().__init__(name="noetl-upkeep", daemon=True)
        self._jobs = jobs
        self._say = say
        self._first = first
        self._ended = threading.Event()
        self._piece = 0.0

    def run(self) -> None:
        """Until it is ended. A store that fails is looked at the next time."""
        wait = self._first
        while not self._ended.wait(wait):
            wait = EVERY
            for job in self._jobs:
                self._piece = time.monotonic()
                try:
                    done = job(self._pause)
                except Exception:  # the service says what is wrong with the store
                    continue
                if done:
                    self._say(log_line("info", done))

    def end_soon(self) -> None:
        """End soon."""
        self._ended.set()

    def _pause(self) -> bool:
        # The pause is a multiple of the work: a large store is read slowly, and never takes more than a twentieth of
        # the disk's time.
        ended = self._ended.wait((time.monotonic() - self._piece) * SHARE)
        self._piece = time.monotonic()
        return not ended
