"""Dates of the Gregorian calendar, without `datetime`, whose import every start would pay for."""

_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_date(year: int, month: int, day: int) -> bool:
    """Whether there is such a day, from year 0 on, where the calendar is carried back."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (month == 2 and is_leap)


def days_of(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date, as in Howard Hinnant, "chrono-compatible low-level date algorithms",
    days_from_civil: years begin in March, so that the leap day is a year's last.
    """
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
