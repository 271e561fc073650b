"""Lists by pages: how long one is, and what asks for the next.

A page that is full has a `next`: the value of its cursor parameter that asks for the rows behind it.
"""

from collections.abc import Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import number_of
from noetl.api.responses import JSONResponse
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

PAGE = 100
LONGEST_PAGE = 1_000
"""The rows that one response has, unless it is asked for more or less, and at most."""

LAST_POSITION = 1 << 53
_T = TypeVar("_T")


class Paged(NamedTuple):
    """How a list is paged: `rows` names it in the response, empty where the response is it; `cursor` is the parameter,
    `meaning` says what its values are, `counts` that they are numbers.
    """

    rows: str
    meaning: str
    cursor: str = "after"
    counts: bool = False


def limit_of(request: Request) -> int:
    """How many rows were asked for. Raises BadRequest."""
    return number_of(request, "limit", PAGE, 1, LONGEST_PAGE)


def position_of(request: Request) -> int:
    """The position of a log that was asked for what is behind it. Raises BadRequest."""
    return number_of(request, "after", 0, 0, LAST_POSITION)


def moment_of(request: Request) -> int | None:
    """The position of a log behind whose event something is asked for, None for the newest. Raises BadRequest."""
    return number_of(request, "position", 0, 0, LAST_POSITION) if "position" in request.query_params else None


def page(name: str, rows: Sequence[_T], behind: Json) -> Response:
    """A page of a list; `behind` asks for the next, None where there is none."""
    return JSONResponse({name: [*rows], "next": behind})
