"""pause: let an execution start nothing new."""

from __future__ import annotations

import click

from noetl.cli.asking import ask
from noetl.cli.stores import json_option, server_option, store_option


@click.command("pause", short_help="Let an execution start nothing new.")
@click.argument("execution", metavar="ID")
@server_option
@store_option
@json_option
def pause(execution: str, url: str, as_json: bool) -> int:
    """Let an execution start nothing new until `noetl resume`; attempts that run are let run to their ends.

    ID may be the beginning of an id, or `last`. Exit code 1 when it has ended otherwise or did not hear of it in time.
    """
    return ask(execution, "pause", url, as_json=as_json)


COMMAND = pause
