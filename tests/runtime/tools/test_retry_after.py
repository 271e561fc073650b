"""`Retry-After` in both of its forms (RFC 9110 §10.2.3; the dates are those of §5.6.7)."""

import pytest

from noetl_ir.expr import Json
from noetl_ir.responses import retry_after_of

# Sun, 06 Nov 1994 08:49:37 GMT in seconds since the epoch, worked out with `date -u -d`.
MOMENT = 784111777.0


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        (30, 30.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 60.0),
        ("Sun Nov  6 08:49:37 1994", 60.0),
        ("Sun, 06 Nov 1994 08:40:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("9" * 400, None),
        ("\u0663", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
        ("120, 60", None),
        (True, None),
        (-5, None),
        (None, None),
    ],
)
def test_what_a_header_says(said: Json, seconds: float | None) -> None:
    assert retry_after_of({"Retry-After": said}, MOMENT - 60) == seconds


def test_a_date_counts_from_the_date_of_the_answer() -> None:
    headers: Json = {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:49:07 GMT"}
    assert retry_after_of(headers, 0.0) == 30.0
    assert retry_after_of({**headers, "date": "yesterday"}, MOMENT - 5) == 5.0  # type: ignore[dict-item]


@pytest.mark.parametrize("headers", [None, {}, [], "x", {"date": "Sun, 06 Nov 1994 08:49:37 GMT"}])
def test_without_the_header_nothing_is_said(headers: Json) -> None:
    assert retry_after_of(headers, MOMENT) is None
