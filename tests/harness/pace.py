"""How slow this machine is now, for tests of promises that have a number in seconds.

A promise is made for a machine that is not overloaded; a test of it must fail where the product blocks, and not where a
machine of CI is three times slower or does something else meanwhile. What blocks takes many times as long as promised.
"""

from time import perf_counter

WORK = 1_000_000
REFERENCE = 0.02
"""Passes of a loop, and the seconds that they take where the bounds were chosen: 2 cores with nothing else to do."""

SLOWEST = 5.0
"""Beyond that a bound would bind nothing."""
ROOM = 2.0
"""The factor by which a bound is wider than any promise: a scheduler may leave a process out for a moment."""


def pace() -> float:
    """How many times slower than where bounds were chosen this machine works now, others on it included; 1 to 5."""
    begun, total = perf_counter(), 0
    for number in range(WORK):
        total += number & 7
    return min(max(1.0, (perf_counter() - begun) / REFERENCE), SLOWEST)


def allowed(seconds: float) -> float:
    """The bound for what takes at most so long by a promise, as fast as this machine is now: ask behind what is
    measured.
    """
    return seconds * ROOM * pace()
