"""archive: write executions that are over to bundles."""

from __future__ import annotations

import click

from noetl.app.bundles import Archive
from noetl.app.retention import Purger
from noetl.cli.several import done_with_each
from noetl.cli.stores import existing_runtime, json_option, store_option
from noetl.cli.text import escaped, json_text


@click.command("archive", short_help="Write executions to bundles.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--to",
    "folder",
    default=".",
    show_default=True,
    metavar="FOLDER|URL",
    help="Where, as ID.noetl: a folder, or s3://BUCKET/….",
)
@store_option
@json_option
def archive(ids: tuple[str, ...], folder: str, url: str, as_json: bool) -> int:
    """Write each execution to a file, with all that it called: log, plan, source, values and output.

    `noetl restore` brings it back, into any store; --store bundle:///FILE of a command that looks (status, events,
    result, replay, logs, ui) opens it as it is. Nothing is removed: `noetl purge --archive FOLDER` does both.
    """
    from noetl.cli.purge import root_named

    with existing_runtime(url) as runtime:
        write = Archive(runtime, folder)
        rows = [root_named(runtime, each, "archive") for each in dict.fromkeys(ids)]
        paths = done_with_each(
            rows, lambda row: write(Purger(runtime).family(row)), "written", lambda row: row.execution_id
        )
    if as_json:
        click.echo(json_text({"bundles": [*paths]}))
    else:
        click.echo("\n".join(map(escaped, paths)))
    return 0


COMMAND = archive
