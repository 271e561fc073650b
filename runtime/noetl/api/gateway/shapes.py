"""Responses of groups as they have to be to be read here: one of another shape is none, as if the group were gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noetl.store.http.documents import micros_of

ValueTest = Callable[[object], bool]
ObjectShape = Callable[[dict[str, Any]], bool]
"""Whether an object is what was asked for."""


def any_object(document: dict[str, Any]) -> bool:
    """Whatever it has."""
    return True


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_position(value: object) -> bool:
    return value is None or is_count(value)


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def is_moment(value: object) -> bool:
    """Whether it is a time since the epoch."""
    try:
        return isinstance(value, str) and micros_of(value) > 0
    except (ValueError, OverflowError, OSError):
        return False


def having(**tests: ValueTest) -> ObjectShape:
    """An object with some keys."""

    def fits(document: dict[str, Any]) -> bool:
        return all(name in document and test(document[name]) for name, test in tests.items())

    return fits


def page_of(rows: str, is_row: ObjectShape, **tests: ValueTest) -> ObjectShape:
    """A page of a list, whose rows are of a shape."""
    has_more = having(**tests)

    def fits(document: dict[str, Any]) -> bool:
        found = document.get(rows)
        if not isinstance(found, list):
            return False
        return has_more(document) and all(isinstance(row, dict) and is_row(row) for row in found)

    return fits


def counts_only(document: dict[str, Any]) -> bool:
    """Names with numbers."""
    return all(map(is_count, document.values()))


EXECUTION_ROW = having(execution_id=is_text, started=is_moment)
"""The row of an execution in a list."""
