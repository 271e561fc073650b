"""The option `--query` of commands, and what it says, with a mark under what is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.cli.text import escaped
from noetl_cli import lazy_click as click

if TYPE_CHECKING:
    from noetl.ports.queries import Condition

query_option = click.option(
    "--query", "query", metavar="QUERY", help="Those that fit: status:failed label.team:data started:<7d."
)


def condition_in(text: str | None) -> Condition | None:
    """The condition of a query; None without one. Raises UsageError."""
    if text is None:
        return None
    from noetl.app.clock import WallClock
    from noetl.app.query_language import QueryProblem, read_query

    try:
        return read_query(text, WallClock().now())
    except QueryProblem as problem:
        column = len(escaped(text[: problem.column - 1]))
        raise click.UsageError(f"--query: {problem.why}\n  {escaped(text)}\n  {' ' * column}^") from None
