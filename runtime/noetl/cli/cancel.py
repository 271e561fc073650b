"""cancel: end an execution before it is done."""

from __future__ import annotations

import click

from noetl.cli.asking import ask
from noetl.cli.stores import json_option, server_option, store_option


@click.command("cancel", short_help="End an execution before it is done.")
@click.argument("execution", metavar="ID")
@server_option
@store_option
@json_option
def cancel(execution: str, url: str, as_json: bool) -> int:
    """End an execution: its tools are stopped, its children cancelled, and its later phases follow.

    A second cancel, while one of these runs, ends that and leaves the rest out. ID may be the beginning of an id, or
    `last`. Exit code 1 when it has ended otherwise or did not hear of it in time.
    """
    return ask(execution, "cancel", url, as_json=as_json)


COMMAND = cancel
