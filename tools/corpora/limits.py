"""Works on many files in two processes, each file with a time limit. What a work raises is told, and stops nothing."""

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Generic, NamedTuple, TypeVar

What = TypeVar("What")
Found = TypeVar("Found")

PROCESSES = 2


class Done(NamedTuple, Generic[What, Found]):
    """`found` of a work on the file `what` after `seconds`; `broken` is a traceback, or that the time was up."""

    what: What
    seconds: float
    found: Found | None
    broken: str


class _TimeUp(BaseException):
    """No work catches this by accident."""


def _end(number: int, frame: FrameType | None) -> None:
    raise _TimeUp


class _Limited(Generic[What, Found]):
    """A work with its limit, as other processes get it."""

    def __init__(self, work: Callable[[What], Found], limit: float) -> None:
        self._work = work
        self._limit = limit

    def __call__(self, what: What) -> Done[What, Found]:
        begun = time.perf_counter()
        before = signal.signal(signal.SIGALRM, _end)
        try:
            # An alarm interrupts Python wherever it is, also in a loop that never looks at a clock.
            signal.setitimer(signal.ITIMER_REAL, self._limit)
            try:
                found = self._work(what)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            return Done(what, time.perf_counter() - begun, found, "")
        except _TimeUp:
            return Done(what, time.perf_counter() - begun, None, f"not done after {self._limit:g} s")
        except Exception:
            return Done(what, time.perf_counter() - begun, None, traceback.format_exc())
        finally:
            signal.signal(signal.SIGALRM, before)


def limited(
    work: Callable[[What], Found], files: Iterable[What], limit: float, processes: int = PROCESSES
) -> Iterator[Done[What, Found]]:
    """Do a work on each file, in order; `limit` in seconds. `work` is a function of a module."""
    # Forked, so that what is imported here is imported once and not in each process.
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap(_Limited(work, limit), files, chunksize=4)
