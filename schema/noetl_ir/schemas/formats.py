"""Formats that are asked for: `format` is no remark here but has to hold, so an unknown one is a mistake of the schema.

Dates and times are those of RFC 3339, addresses those of RFC 3986, 4291, 4122 and 5321, as far as a shape tells.
"""

from collections.abc import Callable
from functools import partial

from noetl_ir.dates import is_date
from noetl_ir.schemas.patterns import Spend, pattern_of

_SHAPES = {
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "time": r"^\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+\-]\d{2}:\d{2})$",
    "date-time": r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+\-]\d{2}:\d{2})$",
    "email": r"^[^\s@]{1,64}@[^\s@]{1,255}$",
    "uuid": r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "uri": r'^[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>"{}|\\^`]*$',
    "hostname": r"^[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?)*$",
    "ipv4": r"^\d{1,3}(\.\d{1,3}){3}$",
    "ipv6": r"^[0-9a-fA-F:.]{2,45}$",
}

LONGEST = 2_000
"""Characters of a text that may have a format."""


def _date(text: str) -> bool:
    return is_date(int(text[:4]), int(text[5:7]), int(text[8:10]))


def _time(text: str) -> bool:
    hour, minute, second = int(text[:2]), int(text[3:5]), int(text[6:8])
    zone = text[-6:] if text[-1] not in "Zz" else "+00:00"
    far = int(zone[1:3]) <= 23 and int(zone[4:6]) <= 59
    # A leap second is one of 23:59:60 in UTC; where the day ends elsewhere is for no schema to say.
    return hour <= 23 and minute <= 59 and second <= (60 if minute == 59 else 59) and far


def _moment(text: str) -> bool:
    return _date(text[:10]) and _time(text[11:])


def _ipv4(text: str) -> bool:
    # A leading zero makes the part octal to some readers: two programs would see two addresses.
    return all(len(part) == len(str(int(part))) and int(part) <= 255 for part in text.split("."))


def _ipv6(text: str) -> bool:
    head, gap, tail = text.partition("::")
    # One gap alone, or it is not known how many zeros each one is.
    if "::" in tail or (not gap and text.startswith(":")):
        return False
    groups = [part for half in (head, tail) if half for part in half.split(":")]
    last = groups[-1] if groups else ""
    mapped = "." in last and text.endswith(last)
    if mapped:
        groups = groups[:-1]
        if not (pattern_of(_SHAPES["ipv4"]).matches(last, _free) and _ipv4(last)):
            return False
    count = len(groups) + 2 * mapped
    fine = all(1 <= len(part) <= 4 and "." not in part for part in groups)
    # A gap stands for one group of zeros at least. An address of the fourth version is as long as two groups.
    return fine and (count <= 7 if gap else count == 8)


def _free(units: int) -> None:
    """No work is counted of a text that is short."""


def _shaped(name: str, more: Callable[[str], bool] | None, text: str, spend: Spend) -> bool:
    # The shape comes first: what is asked behind it takes digits where digits have to be for granted.
    if len(text) > LONGEST or not pattern_of(_SHAPES[name]).matches(text, spend):
        return False
    return more is None or more(text)


_MORE = {"date": _date, "time": _time, "date-time": _moment, "ipv4": _ipv4, "ipv6": _ipv6}

FORMATS: dict[str, Callable[[str, Spend], bool]] = {name: partial(_shaped, name, _MORE.get(name)) for name in _SHAPES}
"""Name → whether a text has the format."""
