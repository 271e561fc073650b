"""Queries over executions: conditions as a tree, the attributes that they ask for, and both as text.

A query is read from text by `noetl.app.query_language`; here is what stores make SQL of, and what they keep to find
executions by. Texts in conditions are patterns: `*` is any text, `?` any character, and a backslash takes the meaning
from what follows.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from noetl_ir.correlation import is_storable
from noetl_ir.dates import days_of, is_date
from noetl_ir.plan import ATTRIBUTE_NAME, LONGEST_LABEL, MOST_SEARCH
from noetl_ir.records import NamedTuple

LABEL, SEARCH = "label.", "search."
"""How the names of attributes begin: labels, and the search attributes of a playbook."""


class ExecutionAttribute(NamedTuple):
    """Something that executions are found by.

    `kind` is `string number bool time`; `text` is how it is shown; `number` its value where it is no string: a time in
    microseconds since the epoch, a truth value as 0 or 1.
    """

    name: str
    kind: str
    text: str
    number: float | None = None


class QueryTerm(NamedTuple):
    """A comparison: `field` is a word of `FIELDS`, or the name of an attribute.

    With `=` the value is a pattern, but for the numbers of `version`; with `< <= > >=` a number, and `kind` is `number`
    or `time`: which attributes are compared.
    """

    field: str
    comparison: str
    value: str | int | float
    kind: str = ""


class Negation(NamedTuple):
    """Whatever `inner` does not fit."""

    inner: "Condition"


class Junction(NamedTuple):
    """All of its parts, or with `any_of` one of them at least."""

    parts: "tuple[Condition, ...]"
    any_of: bool = False


Condition: TypeAlias = QueryTerm | Negation | Junction

PATTERNS = ("status", "playbook", "error", "id", "parent", "rerun_of")
"""Fields whose values are patterns."""

TIMES = ("started", "ended")
DURATION = "took"
FLAGS = ("open", "over", "top", "child", "rerun")
"""What `is:` may say."""

FIELDS = (*PATTERNS, "version", *TIMES, DURATION, "is", "text")

_DATE = r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?)?"
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000

GROUPS = ("status", "error", "playbook")
"""What executions are counted by, beside attributes."""


def faulty_labels(labels: Mapping[str, str]) -> str:
    """Why labels cannot be kept, in words; empty where they can."""
    if len(labels) > MOST_SEARCH:
        return f"there are {len(labels)} labels; at most {MOST_SEARCH} are kept"
    for name, text in labels.items():
        if not is_name(name):
            return f"a label cannot be named `{name}`: write letters, digits and `_ - . /`, a letter first"
        if len(text) > LONGEST_LABEL:
            return f"the label `{name}` has more than {LONGEST_LABEL} characters"
        if "\0" in text or not is_storable(text):
            return f"the label `{name}` has a character that cannot be kept"
    return ""


def is_name(text: str) -> bool:
    """Whether an attribute may have a name, behind what kind of one it is."""
    return ATTRIBUTE_NAME.fullmatch(text) is not None


def all_of(parts: Sequence[Condition]) -> Condition | None:
    """The condition that all of some conditions hold; None for none."""
    return parts[0] if len(parts) == 1 else Junction(tuple(parts)) if parts else None


def tokens_of(pattern: str) -> list[str]:
    """The signs of a pattern: `*` and `?` as they are, each other character with a backslash before it."""
    found, at = list[str](), 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\" and at + 1 < len(pattern):
            at += 1
            found.append(f"\\{pattern[at]}")
        else:
            found.append(sign if sign in "*?" else f"\\{sign}")
        at += 1
    return found


def canonical(pattern: str) -> str:
    """The pattern with a backslash only where one is needed."""
    return "".join([token if len(token) == 1 or token[1] in "*?\\" else token[1] for token in tokens_of(pattern)])


def literal_of(pattern: str) -> str | None:
    """The text that alone fits a pattern; None where several do."""
    tokens = tokens_of(pattern)
    return "".join([token[1] for token in tokens]) if all(len(token) > 1 for token in tokens) else None


def pattern_for(text: str) -> str:
    """The pattern that only a text fits."""
    return "".join(f"\\{sign}" if sign in "*?\\" else sign for sign in text)


def number_of(pattern: str) -> float | None:
    """The number that a pattern says, if it does: `12`, `-1.5`, `2e3`."""
    text = literal_of(pattern)
    if text is None or not text[-1:].isdigit() or not text.isascii() or not set(text) <= set("0123456789+-.eE"):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def written_query(condition: Condition, *, inner: bool = False) -> str:
    """A condition as text, which reads as the same one again; times as they are, whatever time it is then."""
    match condition:
        case Negation(inner=of):
            return f"-{written_query(of, inner=True)}"
        case Junction(parts=parts, any_of=any_of):
            text = (" or " if any_of else " ").join([written_query(part, inner=True) for part in parts])
            return f"({text})" if inner else text
        case QueryTerm(field="text", value=value):
            return _quoted(pattern_for(str(value)))
        case QueryTerm(field=field, comparison=comparison, value=value, kind=kind):
            return f"{field}:{'' if comparison == '=' else comparison}{_written_value(field, value, kind)}"
    raise AssertionError(condition)


def _written_value(field: str, value: str | float, kind: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if kind == "time":
        from noetl_ir.events import iso_of

        return iso_of(int(value))
    if field == DURATION:
        seconds, micros = divmod(int(value), 1_000_000)
        return f"{seconds}.{micros:06}s"
    return repr(value)


def _quoted(pattern: str) -> str:
    """A pattern in quotes, in which a quote has a backslash before it, as what has a meaning has in any pattern."""
    return "'" + canonical(pattern).replace("'", "\\'") + "'"


def span_of_time(text: str) -> tuple[int, int] | None:
    """The first microsecond of a time as it is written, and the first one behind it; None for what is no time."""
    found = re.fullmatch(_DATE, text, re.ASCII)
    if found is None:
        return None
    year, month, day, hour, minute, second = [int(part or 0) for part in found.groups()[:6]]
    if not (is_date(year, month, day) and hour < 24 and minute < 60 and second < 60):
        return None
    at = days_of(year, month, day) * _DAY + hour * _HOUR + minute * _MINUTE + second * _SECOND
    fraction, zone = found[7], found[8]
    if fraction is not None:
        at += int(fraction.ljust(6, "0"))
    if zone not in (None, "Z"):
        off = int(zone[1:3]) * _HOUR + int(zone[4:6]) * _MINUTE
        at += off if zone[0] == "-" else -off
    if found[4] is None:
        return at, at + _DAY
    size = _MINUTE if found[6] is None else _SECOND if fraction is None else 10 ** (6 - len(fraction))
    return at, at + size
