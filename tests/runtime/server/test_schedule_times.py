"""The times of schedules. Expected times are by hand, from the rules of the zones (tzdata): Berlin leaves 02:00 for
03:00 on 2026-03-29, and comes back from 03:00 to 02:00 on 2026-10-25.
"""

from itertools import islice

import pytest

from noetl.server.schedules.times import BadTimes, Calendar, checked_cron, checked_zone, time_of

BERLIN = "Europe/Berlin"


def after(calendar: Calendar, moment: str, count: int) -> list[str]:
    return [calendar.text_of(time) for time in islice(calendar.behind(time_of(moment)), count)]


def before(calendar: Calendar, moment: str, count: int) -> list[str]:
    return [calendar.text_of(time) for time in islice(calendar.before(time_of(moment)), count)]


def test_a_time_that_does_not_exist_comes_once_after_the_gap() -> None:
    nightly = Calendar("30 2 * * *", 0, BERLIN)
    days = [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert after(nightly, "2026-03-28T00:00:00Z", 3) == days
    assert before(nightly, "2026-03-30T22:00:00Z", 3) == days[::-1]


def test_a_time_that_exists_twice_comes_once() -> None:
    nightly = Calendar("30 2 * * *", 0, BERLIN)
    days = ["2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    assert after(nightly, "2026-10-23T22:00:00Z", 3) == days
    assert before(nightly, "2026-10-26T22:00:00Z", 3) == days[::-1]


def test_each_hour_that_passes_has_its_times_whatever_the_clock_says() -> None:
    """Each half hour of UTC, 48 and 2 of them on a day of 25 hours, 46 on one of 23."""
    halves = Calendar("*/30 * * * *", 0, BERLIN)
    for start, end, count in (
        ("2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 50),
        ("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 46),
    ):
        first, last = time_of(start), time_of(end)
        found = [time for time in islice(halves.behind(first - 1), 60) if time < last]
        assert found == [first + number * 1_800_000_000 for number in range(count)]
        assert [time for time in islice(halves.before(last - 1), 60) if time >= first] == found[::-1]


@pytest.mark.parametrize("zone", ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
@pytest.mark.parametrize("cron", ["*/7 * * * *", "30 2 * * *", "0 0 1 * *", "15 */5 * * 1-5", "59 23 28 2 *"])
def test_backward_gives_what_forward_gives(zone: str, cron: str) -> None:
    calendar = Calendar(cron, 0, zone)
    for begin in ("2026-03-28T11:13:07Z", "2026-10-24T11:13:07Z", "2026-04-04T00:00:00Z", "2026-10-03T14:30:00Z"):
        found = [*islice(calendar.behind(time_of(begin)), 40)]
        assert found == sorted(set(found)) and found[0] > time_of(begin)
        assert [*islice(calendar.before(found[-1]), 40)] == found[::-1]
        # A time belongs to those at it and before it, and not to those behind it.
        assert next(calendar.behind(found[3])) == found[4]
        assert next(calendar.behind(found[3] - 1)) == found[3]
        assert next(calendar.before(found[3] - 1)) == found[2]


def test_intervals_count_from_where_they_begin() -> None:
    since = time_of("2026-03-01T00:00:10Z")
    every = Calendar("", 900_000_000, "UTC", since)
    assert after(every, "2026-02-01T00:00:00Z", 2) == ["2026-03-01T00:00:10+00:00", "2026-03-01T00:15:10+00:00"]
    assert after(every, "2026-03-01T00:15:10Z", 1) == ["2026-03-01T00:30:10+00:00"]
    assert before(every, "2026-03-01T00:20:00Z", 9) == ["2026-03-01T00:15:10+00:00", "2026-03-01T00:00:10+00:00"]
    assert before(every, "2026-02-01T00:00:00Z", 9) == []
    # A year of seconds is no year of work.
    assert len(after(Calendar("", 1_000_000, "UTC"), "2099-01-01T00:00:00Z", 2)) == 2


def test_no_time_is_outside_of_the_bounds() -> None:
    bounds = time_of("2026-03-02T00:00:00Z"), time_of("2026-03-04T00:00:00Z")
    daily = Calendar("0 0 * * *", 0, "UTC", *bounds)
    days = ["2026-03-02T00:00:00+00:00", "2026-03-03T00:00:00+00:00"]
    assert after(daily, "2026-01-01T00:00:00Z", 9) == days
    assert before(daily, "2026-12-01T00:00:00Z", 9) == days[::-1]
    assert before(daily, "2026-03-01T12:00:00Z", 9) == []


@pytest.mark.parametrize("text", ["", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "a b c d e", "@daily"])
def test_no_cron_expressions(text: str) -> None:
    with pytest.raises(BadTimes, match=r"fields|never comes"):
        checked_cron(text)


@pytest.mark.parametrize("text", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "a\0b"])
def test_no_zones(text: str) -> None:
    with pytest.raises(BadTimes, match="there is no time zone"):
        checked_zone(text)


@pytest.mark.parametrize("text", ["", "now", "2026-03-29", "2026-03-29T02:00:00", "2026-13-01T00:00:00Z"])
def test_no_times(text: str) -> None:
    with pytest.raises(BadTimes, match="write it as"):
        time_of(text)
