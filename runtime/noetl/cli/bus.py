"""bus: who may say what on the bus of servers and workers."""

from __future__ import annotations

import click

from noetl.cli.text import Problem


@click.group("bus", short_help="Say who may do what on a bus.")
def bus() -> None:
    """Keep the bus of servers and workers to those who are meant."""


@bus.command("permissions", short_help="Print users and rights for the configuration of NATS.")
@click.option(
    "--pool", "pools", multiple=True, metavar="NAME", help="A pool of workers; `default` where none is named."
)
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="A namespace with a limit of its own in a pool."
)
@click.option("--prefix", metavar="TEXT", help="That of the bus, as at the end of its URL; `noetl` by default.")
def permissions(pools: tuple[str, ...], namespaces: tuple[str, ...], prefix: str | None) -> int:
    """Print the users of a bus, for the configuration of a NATS server: one for servers, one for each pool's workers.

    A worker then takes what is ordered of its own pool, and reports; it cannot order anything, read what others are
    ordered or report, speak as a server or as another pool, or touch a stream. Write the text to a file that the
    configuration of NATS includes, and give NATS the passwords in the variables that it names. `nats://USER:PASSWORD@…`
    is then the URL of servers and workers.
    """
    from noetl.bus import BusFailure
    from noetl.bus.nats.names import PREFIX, address_in
    from noetl.bus.nats.permissions import permissions_text

    try:
        address = address_in(f"nats://host/{PREFIX if prefix is None else prefix}")
    except BusFailure as problem:
        raise Problem(str(problem)) from None
    named = [*dict.fromkeys(pools or ("default",))]
    click.echo(permissions_text(named, address.prefix, [*dict.fromkeys(namespaces)]), nl=False)
    return 0


COMMAND = bus
