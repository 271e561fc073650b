"""playbooks: the playbooks that a store or a server knows."""

from __future__ import annotations

import click

from noetl.app.documents import version_document
from noetl.app.runtime import Runtime
from noetl.cli.stores import existing_runtime, json_option, server_option, store_option
from noetl.cli.text import Problem, escaped, json_text, table
from noetl.ports.catalogue import PlanRow, Versions


@click.command("playbooks", short_help="List the playbooks of a catalogue.")
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N of them.")
@server_option
@store_option
@json_option
def playbooks(path: str | None, limit: int | None, url: str, as_json: bool) -> int:
    """List the playbooks that were registered or run, each with its newest version; with PATH, all versions of one, and
    what `metadata` of the newest says to readers (`description`, `owner`, …).
    """
    with existing_runtime(url) as runtime:
        rows = runtime.store.plans(Versions(path or "", newest=path is None, limit=limit or 0))
        said = _said(runtime, rows[0]) if path is not None and rows and not as_json else {}
    if path is not None and not rows:
        raise Problem(f"there is no playbook `{path}`")
    if as_json:
        click.echo(json_text([version_document(row) for row in rows]))
    elif rows:
        for name, text in said.items():
            click.echo(f"{escaped(name)}  {escaped(' '.join(text.split()))}")
        click.echo(
            table(("PATH", "VERSION", "PLAN"), ((escaped(row.path), str(row.version), row.digest) for row in rows))
        )
    else:
        click.echo("no playbooks", err=True)
    return 0


def _said(runtime: Runtime, row: PlanRow) -> dict[str, str]:
    from noetl.app.readers_metadata import readers_metadata
    from noetl.clients.compiler import CompileError

    try:
        source = runtime.store.source(row.digest)
        return {} if source is None else readers_metadata(source)
    except CompileError:  # it was written for a version of the compiler that read it
        return {}


COMMAND = playbooks
