"""Work on many files, over the cores there are."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

MANY = 24
"""From how many files on it pays to start processes."""

Work = TypeVar("Work")
Done = TypeVar("Done")


def over_cores(do: Callable[[Work], Done], work: Sequence[Work]) -> Iterator[Done]:
    """The values that `do` makes of each piece of work, in their order. `do` is a function of a module."""
    cores = _cores()
    if len(work) < MANY or cores < 2:
        yield from map(do, work)
        return
    yield do(work[0])  # what it imports is there when the processes are forked
    from multiprocessing import get_context

    with get_context().Pool(min(cores, len(work))) as pool:
        yield from pool.imap(do, work[1:], chunksize=max(1, min(8, len(work) // (4 * cores))))


def _cores() -> int:
    import os

    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
