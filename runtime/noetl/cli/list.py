"""list: the executions in a store, newest first."""

from __future__ import annotations

import click

from noetl.cli.stores import existing, is_there, json_option, store_option
from noetl.cli.text import duration, escaped, json_text, table
from noetl.ports import ExecutionRow
from noetl_ir.events import iso_of
from noetl_ir.expr import Json

_SECONDS = 19  # of an ISO time up to its seconds


@click.command("list", short_help="List executions.")
@store_option
@json_option
def list_(url: str, as_json: bool) -> int:
    """List the executions in the store, newest first."""
    rows: tuple[ExecutionRow, ...] = ()
    if is_there(url):
        with existing(url) as runtime:
            rows = runtime.store.executions()
    if as_json:
        click.echo(json_text([json_of_row(row) for row in rows]))
    elif rows:
        head = ("EXECUTION", "STATUS", "STARTED (UTC)", "TOOK", "PLAYBOOK")
        click.echo(table(head, (_cells(row) for row in rows)))
    else:
        click.echo("no executions", err=True)
    return 0


def json_of_row(row: ExecutionRow) -> dict[str, Json]:
    """An execution as `list --json` shows it; times as RFC 3339."""
    return {
        "execution_id": row.execution_id,
        "status": row.status,
        "playbook": row.playbook,
        "started": iso_of(row.started),
        "ended": iso_of(row.ended) if row.ended is not None else None,
        "parent": row.parent_execution_id,
    }


def _cells(row: ExecutionRow) -> tuple[str, ...]:
    took = duration(row.ended - row.started) if row.ended is not None else ""
    child = f" (called by {row.parent_execution_id})" if row.parent_execution_id else ""
    started = iso_of(row.started)[:_SECONDS].replace("T", " ")
    return (row.execution_id, row.status, started, took, escaped(row.playbook) + child)


COMMAND = list_
