"""The times of schedules. Expected times are by hand, from the rules of the zones (tzdata): Berlin leaves 02:00 for
03:00 on 2026-03-29, and comes back from 03:00 to 02:00 on 2026-10-25.
"""

from itertools import islice

import pytest

from noetl.server.schedules.times import BadTimes, Calendar, checked_cron, checked_zone, time_of, words_of

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


@pytest.mark.parametrize("text", ["", "* * * *", "* * * * * *", "0 0 30 2 *", "0 0 30 2 * *", "@daily"])
def test_no_cron_expressions(text: str) -> None:
    with pytest.raises(BadTimes, match=r"fields|never comes"):
        checked_cron(text)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("61 * * * *", "`61` is no minute: 0 to 59"),
        ("0 5,24 * * *", "`24` is no hour: 0 to 23"),
        ("0 0 0 * *", "`0` is no day of month: 1 to 31"),
        ("0 0 1 13 *", "`13` is no month: 1 to 12, or JAN to DEC"),
        ("0 0 * * MON-FOO", "`MON-FOO` is no day of week: 0 to 7, or SUN to SAT"),
        ("*/0 * * * *", "`*/0` is no minute"),
        ("0 17-9 * * *", "`17-9` is no hour"),
        ("a b c d e", "`a` is no minute"),
        ("0 0 31 2,4 *", "it never comes"),
    ],
)
def test_a_fault_of_cron_names_the_part_and_what_may_stand_there(expression: str, told: str) -> None:
    with pytest.raises(BadTimes) as raised:
        checked_cron(expression)
    assert str(raised.value).startswith(told)


def test_both_hours_are_told_apart_where_clocks_are_set_back() -> None:
    """02:45 comes twice, at 00:45 and at 01:45 of UTC."""
    calendar = Calendar("*/45 * * * *", 0, "Europe/Berlin")
    moments = [time_of(f"2026-10-25T0{hour}:45:00Z") for hour in (0, 1)]
    texts = ["2026-10-25T02:45:00+02:00", "2026-10-25T02:45:00+01:00"]
    assert [calendar.text_of(moment) for moment in moments] == texts
    assert [time_of(text) for text in texts] == moments
    assert calendar.text_of(moments[1] + 5) == "2026-10-25T02:45:00.000005+01:00"


def test_times_in_words() -> None:
    berlin = Calendar("30 2 * * *", 0, "Europe/Berlin", 0, time_of("2026-07-01T00:00:00Z"))
    assert words_of(berlin) == "at 02:30 every day, Europe/Berlin, until 2026-07-01T02:00:00+02:00"
    assert words_of(Calendar("", 900_000_000, "UTC", time_of("2026-03-01T00:00:10Z"))) == (
        "every 15m, from 2026-03-01T00:00:10+00:00"
    )
    lengths = {90_000_000: "1m 30s", 86_400_000_000: "1d", 93_600_500_000: "1d 2h 0.5s", 1_000_000: "1s"}
    for every, text in lengths.items():
        assert words_of(Calendar("", every, "UTC")) == f"every {text}"


@pytest.mark.parametrize(
    "text", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "localtime", "posixrules", "a\0b"]
)
def test_no_zones(text: str) -> None:
    with pytest.raises(BadTimes, match="there is no time zone"):
        checked_zone(text)


@pytest.mark.parametrize("text", ["", "now", "2026-03-29", "2026-03-29T02:00:00", "2026-13-01T00:00:00Z"])
def test_no_times(text: str) -> None:
    with pytest.raises(BadTimes, match="write it as"):
        time_of(text)
