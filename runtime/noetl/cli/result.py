"""result: what an execution or one of its steps came to."""

from __future__ import annotations

from noetl.app.snapshots import result_of
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import json_text
from noetl_cli import lazy_click as click


@click.command("result", short_help="Print the result of an execution or step.")
@click.argument("execution", metavar="ID")
@click.argument("step", required=False, metavar="[STEP]")
@server_option
@store_option
@json_option
def result(execution: str, step: str | None, url: str, as_json: bool) -> int:
    """Print the result of an execution, as `status` and callers see it, or that of STEP's latest success.

    The result is JSON, on one line with --json; a value that is stored outside of the log is fetched. ID may be the
    beginning of an id, or `last`. Exit code 1 when there is no result.
    """
    with existing_runtime(url) as runtime:
        found = result_of(runtime, row_of(runtime, execution), step)
    click.echo(json_text(found, indent=None if as_json else 2))
    return 0


COMMAND = result
