"""list: the executions in a store, newest first, or how many there are of each kind."""

from __future__ import annotations

from noetl.app.documents import row_document
from noetl.app.snapshots import is_driven
from noetl.cli.queries import condition_in, query_option
from noetl.cli.stores import existing_runtime, json_option, server_option, store_option
from noetl.cli.text import duration, escaped, json_text, moment, table
from noetl.ports import STATUSES, ExecutionRow, Wanted
from noetl_cli import lazy_click as click


def _checked_group(_: click.Context, __: click.Parameter, group: str | None) -> str | None:
    """A group that there is. Raises UsageError."""
    if group is not None:
        from noetl.app.query_language import faulty_group

        if why := faulty_group(group):
            raise click.UsageError(f"--count-by: {escaped(why)}")
    return group


@click.command("list", short_help="List executions.")
@query_option
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most the N newest.")
@click.option("--status", "wanted", type=click.Choice(STATUSES), help="Only those that stand so: status:STATUS.")
@click.option(
    "--count-by", "group", metavar="GROUP", callback=_checked_group,
    help="How many there are by status, error, playbook, label.NAME or search.NAME.",
)  # fmt: skip
@server_option
@store_option
@json_option
def list_(query: str | None, limit: int | None, wanted: str | None, group: str | None, url: str, as_json: bool) -> int:
    """List the executions in the store, newest first.

    A query has words that all have to hold: status:failed, playbook:'etl/*', version:3, error:http.*, label.team:data,
    search.region:eu, started:>2026-11-01, ended:<7d, took:>10m, is:open, and text in a path; `or`, `not` and ( ).
    """
    asked = Wanted(status=wanted or "", limit=limit or 0, query=condition_in(query))
    with existing_runtime(url) as runtime:
        if group is not None:
            _tell_counts(runtime.store.tally(asked, group)[: limit or None], group, as_json=as_json)
            return 0
        rows = runtime.store.executions(asked)
        found = [(row, is_driven(runtime, row)) for row in rows]
        found_by = runtime.store.attributes([row.execution_id for row in rows]) if as_json else {}
    if as_json:
        documents = [
            row_document(row, owned=owned, attributes=found_by.get(row.execution_id, ())) for row, owned in found
        ]
        click.echo(json_text([*documents]))
    elif found:
        head = ("EXECUTION", "STATUS", "STARTED", "TOOK", "PLAYBOOK")
        click.echo(table(head, (_cells(row, status_text(row, owned=owned)) for row, owned in found)))
    else:
        click.echo("no executions", err=True)
    return 0


def _tell_counts(rows: tuple[tuple[str | None, int], ...], group: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text([{"value": value, "count": count} for value, count in rows]))
    elif rows:
        cells = ((f"{count:,}", "(none)" if value is None else escaped(value)) for value, count in rows)
        click.echo(table(("COUNT", group.upper() if "." not in group else group), cells))
    else:
        click.echo("no executions", err=True)


def status_text(row: ExecutionRow, *, owned: bool) -> str:
    """The status, and that nobody drives what is not over."""
    return row.status if owned or row.ended is not None else f"{row.status} (no owner)"


def _cells(row: ExecutionRow, status: str) -> tuple[str, ...]:
    took = duration(row.ended - row.started) if row.ended is not None else ""
    of = f" (called by {row.parent_execution_id})" if row.parent_execution_id else ""
    of += f" (a rerun of {row.rerun_of})" if row.rerun_of else ""
    return (row.execution_id, status, moment(row.started), took, escaped(row.playbook) + escaped(of))


COMMAND = list_
