"""How long is waited for room: by a clock of the test's own, which time passes on only where somebody waits."""

import math

import pytest

from noetl.ports import NoRoom, StoreFailure
from noetl.server.store_retry import LONGEST, OVER_AFTER, TOLD_AFTER, StoreRetry

FULL = NoRoom("a.db: the disk is full", "the disk is full")


class Time:
    """A clock in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_some(self) -> None:
        self.now += 0.1


def retrying(longest: float = LONGEST) -> tuple[StoreRetry, Time, list[str]]:
    time, said = Time(), list[str]()
    made = StoreRetry(longest, said.append, time)
    made.wait = time.pass_some
    return made, time, said


def failing(until: Time, moment: float) -> int:
    """Fail for want of room until a moment."""
    if until.now < moment:
        raise FULL
    return 7


def test_what_was_not_stored_is_tried_until_there_is_room() -> None:
    wait, time, said = retrying()
    assert wait(lambda: failing(time, 110.0)) == 7
    assert time.now == pytest.approx(110, abs=0.2)
    assert said == [f"nothing can be stored: {FULL}; waiting 20 s at most for that to change"]
    time.now += OVER_AFTER + 1
    wait.check()
    assert said[1:] == ["there is room again: going on"]
    assert wait.problem is None


def test_nothing_is_said_of_a_moment() -> None:
    wait, time, said = retrying()
    assert wait(lambda: failing(time, 100.0 + TOLD_AFTER / 2)) == 7
    time.now += OVER_AFTER + 1
    wait.check()
    assert said == []


def test_it_says_so_within_5_s_and_ends_after_its_time() -> None:
    wait, time, said = retrying()
    with pytest.raises(NoRoom):
        wait(lambda: failing(time, math.inf))
    assert time.now == pytest.approx(100 + LONGEST, abs=0.2)
    assert TOLD_AFTER < 5 and len(said) == 1


def test_a_second_time_has_a_limit_of_its_own() -> None:
    wait, time, said = retrying()
    for moment in (115.0, 150.0):
        assert wait(lambda: failing(time, moment)) == 7  # noqa: B023
        time.now = max(time.now, 140.0)
        wait.check()
    assert len([text for text in said if "nothing can be stored" in text]) == 2


def test_who_does_not_want_to_wait_does_not() -> None:
    wait, time, _ = retrying()
    wait.interrupt()
    with pytest.raises(NoRoom):
        wait(lambda: failing(time, math.inf))
    assert time.now == pytest.approx(100, abs=0.2)


def test_other_failures_are_not_waited_for() -> None:
    wait, time, _ = retrying()

    def lost() -> None:
        raise StoreFailure("the server is lost")

    with pytest.raises(StoreFailure, match="lost"):
        wait(lost)
    assert time.now == 100.0 and wait.problem is None


def test_what_is_in_a_hurry_fails_at_its_first_write_and_waits_at_the_next() -> None:
    wait, time, _ = retrying(math.inf)
    with pytest.raises(NoRoom):
        wait.hurried(lambda: wait(lambda: failing(time, 110.0)))
    assert time.now == 100.0
    assert wait.problem is FULL
    assert wait.hurried(lambda: (wait(lambda: 1), wait(lambda: failing(time, 110.0)))) == (1, 7)
    assert wait(lambda: failing(time, 120.0)) == 7
