"""pause: let an execution start nothing new."""

from __future__ import annotations

import click

from noetl.cli.asking import ask, ask_shortly
from noetl.cli.bulk import BulkOptions, ask_many, bulk_options
from noetl.cli.stores import json_option, server_option, store_option


@click.command("pause", short_help="Let an execution start nothing new.")
@click.argument("execution", metavar="[ID]", required=False)
@bulk_options
@server_option
@store_option
@json_option
def pause(execution: str | None, many: BulkOptions, url: str, as_json: bool) -> int:
    """Let an execution start nothing new until `noetl resume`; attempts that run are let run to their ends.

    ID may be the beginning of an id, or `last`. Exit code 1 when it has ended otherwise or did not hear of it in time.

    With --query all that fit and run are asked, and it does not wait for them; 1 when some refused.
    """
    if many.check(execution):
        return ask_many(url, "pause", many, {}, ask_shortly("pause"), as_json=as_json)
    return ask(str(execution), "pause", url, as_json=as_json)


COMMAND = pause
