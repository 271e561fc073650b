"""A token bucket in whole numbers: how many starts it holds now, and when it holds the next one.

It holds `burst` starts at most, and fills by `rate` starts a minute, evenly: in any time at most `burst` starts and
what comes in meanwhile are let through. A start is as many parts as a minute has microseconds, so that each microsecond
brings `rate` parts, and nothing is rounded.
"""

from noetl_ir.records import NamedTuple

START = 60_000_000
"""The parts of a start: microseconds of a minute."""

SET_BACK = 3_600_000_000
"""Microseconds by which a clock is taken for slow: one that is behind by more was set, and counts from then on."""


class Bucket(NamedTuple):
    """The parts that a bucket holds, and at which time (microseconds since the epoch)."""

    parts: int
    at: int


def full(burst: int, now: int) -> Bucket:
    """A bucket that nobody has taken from."""
    return Bucket(burst * START, now)


def filled(bucket: Bucket, rate: int, burst: int, now: int) -> Bucket:
    """A bucket as it is at a time. Its own time does not go back with a clock that is slow: what came in until then
    would come in twice.
    """
    if now < bucket.at - SET_BACK:
        return Bucket(min(bucket.parts, burst * START), now)
    passed = max(now - bucket.at, 0)
    return Bucket(min(bucket.parts + passed * rate, burst * START), bucket.at + passed)


def taken(bucket: Bucket, rate: int, burst: int, now: int) -> tuple[Bucket | None, int]:
    """A bucket behind a start that is taken from it; None, and the microseconds until there is one, where it holds
    none.
    """
    there = filled(bucket, rate, burst, now)
    if there.parts >= START:
        return there._replace(parts=there.parts - START), 0
    return None, -(-(START - there.parts) // rate)
