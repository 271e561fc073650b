"""cancel: end an execution before it is done."""

from __future__ import annotations

import click

from noetl.cli.asking import ask, ask_shortly
from noetl.cli.bulk import BulkOptions, ask_many, bulk_options
from noetl.cli.stores import json_option, server_option, store_option


@click.command("cancel", short_help="End an execution before it is done.")
@click.argument("execution", metavar="[ID]", required=False)
@bulk_options
@server_option
@store_option
@json_option
def cancel(execution: str | None, many: BulkOptions, url: str, as_json: bool) -> int:
    """End an execution: its tools are stopped, its children cancelled, and its later phases follow.

    A second cancel, while one of these runs, ends that and leaves the rest out. ID may be the beginning of an id, or
    `last`. Exit code 1 when it has ended otherwise or did not hear of it in time.

    With --query all that fit and are not over are asked, and it does not wait for them; 1 when some refused.
    """
    if many.check(execution):
        return ask_many(url, "cancel", many, {}, ask_shortly("cancel"), as_json=as_json)
    return ask(str(execution), "cancel", url, as_json=as_json)


COMMAND = cancel
