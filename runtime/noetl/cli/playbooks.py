"""playbooks: the playbooks that a store or a server knows."""

from __future__ import annotations

import click

from noetl.app.documents import version_document
from noetl.cli.stores import existing_runtime, json_option, server_option, store_option
from noetl.cli.text import Problem, escaped, json_text, table
from noetl.ports.catalogue import Versions


@click.command("playbooks", short_help="List the playbooks of a catalogue.")
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N of them.")
@server_option
@store_option
@json_option
def playbooks(path: str | None, limit: int | None, url: str, as_json: bool) -> int:
    """List the playbooks that were registered or run, each with its newest version; with PATH, all versions of one."""
    with existing_runtime(url) as runtime:
        rows = runtime.store.plans(Versions(path or "", newest=path is None, limit=limit or 0))
    if path is not None and not rows:
        raise Problem(f"there is no playbook `{path}`")
    if as_json:
        click.echo(json_text([version_document(row) for row in rows]))
    elif rows:
        click.echo(
            table(("PATH", "VERSION", "PLAN"), ((escaped(row.path), str(row.version), row.digest) for row in rows))
        )
    else:
        click.echo("no playbooks", err=True)
    return 0


COMMAND = playbooks
