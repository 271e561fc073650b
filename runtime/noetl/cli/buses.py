"""The bus that a command names, and what is said of its pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from noetl.bus import BusFailure
from noetl.cli.daemons import say
from noetl.cli.text import Problem, escaped
from noetl_cli import lazy_click as click

if TYPE_CHECKING:
    from noetl.app.adapters import ClusterBus


def _limits_of(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    """The limits of pools, written POOL=N. Raises UsageError."""
    found = {}
    for text in texts:
        # From the right, as the name of a pool may hold an equals sign and the number cannot.
        pool, equals, most = text.rpartition("=")
        if not (equals and pool and most.isascii() and most.isdigit() and int(most) > 0):
            raise click.UsageError(f"--pool-limit {escaped(text)}: write it as POOL=N, with N at least 1")
        found[pool] = int(most)
    return found


pool_limit_option = click.option(
    "--pool-limit", "limits", multiple=True, metavar="POOL=N", callback=_limits_of,
    help="At most N pipelines of a pool run at once.",
)  # fmt: skip


@contextmanager
def bus_at(url: str | None, limits: Mapping[str, int]) -> Iterator[ClusterBus | None]:
    """The bus at a URL, None without one. What goes wrong with it is a Problem."""
    if url is None:
        yield None
        return
    from noetl.app.adapters import open_bus

    try:
        bus = open_bus(url, limits, say=say)
    except BusFailure as problem:
        raise Problem(str(problem)) from None
    with closing(bus):
        yield bus
