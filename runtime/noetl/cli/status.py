"""status: how an execution stands, or how many stand how."""

from __future__ import annotations

import time

import click

from noetl.cli.ending import Ending, ending_of, error_place
from noetl.cli.list import json_of_row
from noetl.cli.picture import Row, rows_of
from noetl.cli.stores import command_with, existing, is_there, json_option, look_at, root_of, row_of, store_option
from noetl.cli.text import amount, duration, escaped, failure_text, json_text
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.events import iso_of
from noetl_ir.expr import Json

MOST_ROWS = 50
_LIVE = ("running", "paused")
_ORDER = (*_LIVE, "blocked", "failed", "cancelled", "completed")


@click.command("status", short_help="Show how an execution stands.")
@click.argument("execution", required=False, metavar="[ID]")
@store_option
@json_option
def status(execution: str | None, url: str, as_json: bool) -> int:
    """Show how an execution stands; without ID, how many stand how and which can go on.

    ID may be the beginning of an id. The exit code is 0 whatever the status is.
    """
    if execution is None:
        return _all(url, as_json=as_json)
    with existing(url) as runtime:
        look = look_at(runtime, row_of(runtime, execution))
        owned = runtime.store.is_owned(root_of(runtime, look.row))
        said = look.execution.status if look.execution.is_over or not look.execution.paused else "paused"
        ending = ending_of(runtime, look.program, look.execution, "running" if said == "new" else said)
    if as_json:
        click.echo(json_text(_document(ending, look.program, look.execution, owned=owned)))
    else:
        _tell(ending, look.program, look.execution, url, owned=owned)
    return 0


def _document(ending: Ending, program: Program, execution: Execution, *, owned: bool) -> dict[str, Json]:
    document = ending.as_json()
    del document["result"]
    parent: Json = list(execution.parent) if execution.parent else None
    now: list[Json] = [_json_of(row) for row in rows_of(program, execution)]
    return {**document, "owned": owned, "events": execution.position, "parent": parent, "now": now}


def _json_of(row: Row) -> dict[str, Json]:
    due: dict[str, Json] = {"due": iso_of(row.due)} if row.due is not None else {}
    return {"what": row.what, **row.data, **due}


def _tell(ending: Ending, program: Program, execution: Execution, url: str, *, owned: bool) -> None:
    over = execution.is_over
    owner = "" if over or owned else " (no owner)"
    click.echo(f"{ending.status}{owner}: {escaped(ending.playbook)}, execution {ending.execution_id}")
    if ending.started is not None:
        until = ending.ended if ending.ended is not None else time.time_ns() // 1000
        click.echo(f"started {iso_of(ending.started)}, {'took' if over else 'for'} {duration(until - ending.started)}")
    counts = ending.counts
    done = [amount(counts["tasks"], "task"), amount(counts["retries"], "retry")]
    click.echo(", ".join([*done, amount(counts["passed_errors"], "passed error"), amount(execution.position, "event")]))
    if ending.error is not None:
        click.echo(f"failure: {error_place(ending.error)}{failure_text(ending.error)}")
    if ending.reason:
        click.echo(f"reason: {escaped(ending.reason)}")
    now = time.time_ns() // 1000
    for number, row in enumerate(rows_of(program, execution)):
        if number == MOST_ROWS:
            click.echo("  … (--json shows all)")
            break
        click.echo(f"  {row.sentence(now)}")
    if not over and not owned:
        click.echo(f"resume with: {escaped(command_with(url, 'resume', ending.execution_id))}")


def _all(url: str, *, as_json: bool) -> int:
    if not is_there(url):
        click.echo("[]" if as_json else "no executions")
        return 0
    with existing(url) as runtime:
        rows = runtime.store.executions()
        live = [(row, runtime.store.is_owned(root_of(runtime, row))) for row in rows if row.status in _LIVE]
    if as_json:
        click.echo(json_text([{**json_of_row(row), "owned": owned} for row, owned in live]))
        return 0
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    click.echo(", ".join(f"{counts[name]} {name}" for name in _ORDER if name in counts) or "no executions")
    for row, owned in live:
        owner = "" if owned else " (no owner)"
        click.echo(f"  {row.execution_id}  {row.status}{owner}  {escaped(row.playbook)}")
    return 0


COMMAND = status
