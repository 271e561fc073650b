"""list: the executions in a store, newest first."""

from __future__ import annotations

from noetl.app.documents import row_document
from noetl.app.snapshots import is_driven
from noetl.cli.stores import existing_runtime, is_there, json_option, server_option, store_option
from noetl.cli.text import duration, escaped, json_text, moment, table
from noetl.ports import STATUSES, ExecutionRow, Wanted
from noetl_cli import lazy_click as click


@click.command("list", short_help="List executions.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most the N newest.")
@click.option("--status", "wanted", type=click.Choice(STATUSES), help="Only those that stand so.")
@server_option
@store_option
@json_option
def list_(limit: int | None, wanted: str | None, url: str, as_json: bool) -> int:
    """List the executions in the store, newest first."""
    found: list[tuple[ExecutionRow, bool]] = []
    # Who only looks makes no store: no file is the answer that there are no executions.
    if is_there(url):
        with existing_runtime(url) as runtime:
            rows = runtime.store.executions(Wanted(status=wanted or "", limit=limit or 0))
            found = [(row, is_driven(runtime, row)) for row in rows]
    if as_json:
        click.echo(json_text([row_document(row, owned=owned) for row, owned in found]))
    elif found:
        head = ("EXECUTION", "STATUS", "STARTED (UTC)", "TOOK", "PLAYBOOK")
        click.echo(table(head, (_cells(row, status_text(row, owned=owned)) for row, owned in found)))
    else:
        click.echo("no executions", err=True)
    return 0


def status_text(row: ExecutionRow, *, owned: bool) -> str:
    """The status, and that nobody drives what is not over."""
    return row.status if owned or row.ended is not None else f"{row.status} (no owner)"


def _cells(row: ExecutionRow, status: str) -> tuple[str, ...]:
    took = duration(row.ended - row.started) if row.ended is not None else ""
    of = f" (called by {row.parent_execution_id})" if row.parent_execution_id else ""
    of += f" (a rerun of {row.rerun_of})" if row.rerun_of else ""
    return (row.execution_id, status, moment(row.started), took, escaped(row.playbook) + escaped(of))


COMMAND = list_
