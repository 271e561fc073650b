"""workers: the workers of a server."""

from __future__ import annotations

from urllib.parse import quote

import click

from noetl.cli.remote import all_pages, ask_server, connected
from noetl.cli.stores import json_option
from noetl.cli.text import escaped, json_text, table

_HEAD = ("NAME", "POOL", "SLOTS", "BUSY", "STATE", "HEARD", "REASON")


@click.group("workers", short_help="List the workers of a server, and let them leave.")
def workers() -> None:
    """See who works for a server, and have a worker leave."""


@workers.command("list", short_help="List the workers.")
@connected
@json_option
def list_workers(server: str, as_json: bool) -> int:
    """List the workers that the server heard of within the last seconds."""
    rows = all_pages(server, "/workers")
    if as_json:
        click.echo(json_text([*rows]))
    elif rows:
        keys = ("name", "pool", "slots", "busy", "state")
        shown = (
            [*(str(row.get(key)) for key in keys), f"{row.get('heard'):.0f} s ago", str(row.get("reason", ""))]
            for row in rows
        )
        click.echo(table(_HEAD, shown))
    else:
        click.echo("no workers", err=True)
    return 0


@workers.command("drain", short_help="Have a worker finish what it has, and end.")
@click.argument("name")
@connected
def drain(name: str, server: str) -> int:
    """Have a worker take no more, finish what it has, and end."""
    ask_server(server, "POST", f"/workers/{quote(name, safe='')}/drain")
    click.echo(f"asked {escaped(name)} to leave")
    return 0


COMMAND = workers
