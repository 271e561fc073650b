"""How long timers wait, by the clock that nobody can set."""

import pytest

from noetl.engine.execution import Timer
from noetl.server.dues import Dues

SECOND = 1_000_000
HOUR = 3600 * SECOND


class Hands:
    """A clock that a test sets."""

    def __init__(self, time: int) -> None:
        self.time = time

    def now(self) -> int:
        return self.time


def wake(due: int, since: int, *, by_wall: bool = False) -> Timer:
    return Timer(due, "wake", 0, since, by_wall=by_wall)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_what_was_written_here_counts_from_then_wherever_the_wall_clock_goes(step: int) -> None:
    wall, steady = Hands(50 * HOUR), Hands(7)
    dues, timers = Dues(wall, steady), {"a": wake(50 * HOUR + 5, 50 * HOUR)}
    dues.written(timers, 7)
    wall.time += step
    assert (dues.next(), dues.ripe(11), dues.ripe(12)) == (12, [], ["a"])
    steady.time = 10
    dues.written({**timers, "b": wake(wall.time + 5, wall.time)}, 10)
    assert dues.ripe(15) == ["a", "b"] and dues.ripe(14) == ["a"], "the first has waited since then"


def test_the_clock_of_a_worker_that_is_wrong_moves_nothing() -> None:
    dues = Dues(Hands(50 * HOUR), Hands(0))
    dues.written({"ahead": wake(51 * HOUR + 5, 51 * HOUR), "behind": wake(HOUR + 6, HOUR)}, 0)
    assert dues.ripe(6) == ["ahead", "behind"] and not dues.ripe(4)


def test_what_was_read_is_due_when_its_log_says_so() -> None:
    wall, steady = Hands(50 * HOUR), Hands(100)
    dues = Dues(wall, steady)
    dues.read({"past": wake(49 * HOUR, HOUR), "to come": wake(50 * HOUR + 3, HOUR)})
    wall.time += HOUR
    assert dues.ripe(102) == ["past"] and dues.ripe(103) == ["past", "to come"]


def test_a_time_of_day_follows_the_wall_clock() -> None:
    wall, steady = Hands(50 * HOUR), Hands(100)
    dues = Dues(wall, steady)
    dues.written({"noon": wake(52 * HOUR, 50 * HOUR, by_wall=True)}, 100)
    assert dues.has_moments and dues.next() == 100 + 2 * HOUR
    wall.time += HOUR
    assert dues.next() == 100 + HOUR
    wall.time += HOUR
    assert dues.ripe(100) == ["noon"]


def test_a_timer_that_was_written_anew_under_its_name_begins_anew() -> None:
    dues = Dues(Hands(HOUR), Hands(0))
    dues.written({"a": wake(HOUR + 5, HOUR)}, 0)
    dues.written({"a": wake(HOUR + 5, HOUR)}, 3)
    assert dues.next() == 8
    dues.written({}, 4)
    assert dues.next() is None
