"""status: how an execution stands, or how many stand how."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from noetl.app.documents import attributes_document, execution_document, row_document, standing_of
from noetl.app.ending import Ending
from noetl.app.picture import Activity, Why, not_known, place_of, queue_now, rows_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot, is_driven, snapshot_of
from noetl.cli.failures import error_lines, failure_text, place_text
from noetl.cli.list import status_text
from noetl.cli.sentences import row_text
from noetl.cli.stores import (
    command_with,
    existing_runtime,
    is_remote,
    json_option,
    row_of,
    server_option,
    store_option,
)
from noetl.cli.text import amount, duration, escaped, json_text, moment
from noetl.cli.ways_on import ways_on
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import STATUSES, ExecutionRow, StoreFailure, Wanted
from noetl.server.children import root_of
from noetl.server.found_by import attributes_of
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json

MOST_ROWS = 50
SHOWN_INTERRUPTIONS = 10
MOST_RERUNS = 10
"""The newest reruns of an execution are named."""


@click.command("status", short_help="Show how an execution stands.")
@click.argument("execution", required=False, metavar="[ID]")
@server_option
@store_option
@json_option
def status(execution: str | None, url: str, as_json: bool) -> int:
    """Show how an execution stands; without ID, how many stand how and which can go on.

    ID may be the beginning of an id, or `last`. The exit code is 0 whatever the status is.
    """
    if execution is None:
        return _all(url, as_json=as_json)
    with existing_runtime(url) as runtime:
        # One look for everything that is said: a second one could be of a later moment, and the lines would not agree.
        look = snapshot_of(runtime, row_of(runtime, execution))
        owned, why = is_driven(runtime, look.row), _why(url, look.row)
        if as_json:
            click.echo(json_text(execution_document(runtime, look, owned=owned, why=why)))
        else:
            queue = queue_now(runtime, look.execution)
            rows = [*rows_of(look.program, look.execution, driven=owned, why=why, queue=queue)]
            ending = standing_of(runtime, look)
            _tell(ending, look, rows, _reruns(runtime, look.row), url, owned=owned)
            for line in ways_on(runtime, look, url):
                click.echo(line)
            if not owned and look.row.ended is None and (hung := runtime.store.hung(root_of(runtime.store, look.row))):
                click.echo(f"why it stands still: {escaped(hung)}; a server takes it up, or `resume`")
    return 0


def _reruns(runtime: Runtime, row: ExecutionRow) -> Sequence[ExecutionRow]:
    with suppress(StoreFailure):  # an older server does not know of any
        return runtime.store.executions(Wanted(rerun_of=row.execution_id, limit=MOST_RERUNS))
    return ()


def _why(url: str, row: ExecutionRow) -> Why:
    """Why no worker begins anything of a pool: only a server knows."""
    # A store beside us does not know of workers: they speak to servers over the bus.
    if row.ended is not None or not is_remote(url):
        return not_known
    from noetl.cli.remote import ask_server

    rows = ask_server(url, "GET", f"/executions/{row.execution_id}").get("now")
    told = [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []
    reasons = {each["pool"]: str(each["reason"]) for each in told if "reason" in each}
    return lambda pool: reasons.get(pool, "")


def _tell(
    ending: Ending, look: Snapshot, rows: list[Activity], reruns: Sequence[ExecutionRow], url: str, *, owned: bool
) -> None:
    execution = look.execution
    over = execution.is_over
    # The times of a script begin at 0; against the wall clock it would have run since 1970.
    now = execution.now if ending.scripted else time.time_ns() // 1000
    owner = "" if over or owned else " (no owner)"
    click.echo(f"{ending.status}{owner}: {escaped(ending.playbook)}, execution {ending.execution_id}")
    if ending.started is not None:
        until = ending.ended if ending.ended is not None else now
        took = f"{'took' if over else 'for'} {duration(until - ending.started)}"
        click.echo(f"on a virtual clock, {took}" if ending.scripted else f"started {moment(ending.started)}, {took}")
    if ending.rerun_of:
        click.echo(f"a rerun of {escaped(ending.rerun_of)}")
    for at, digest in ending.moves:
        click.echo(f"moved from the plan {digest[:12]} at {moment(at)}")
    if isinstance(header := ending.started_by.get("traceparent"), str):
        click.echo(escaped(f"part of the trace {header.split('-')[1]}"))
    if ending.started_by.keys() - {"traceparent"}:
        click.echo(escaped(f"started by {_cause(ending.started_by)}"))
    for line in _found_by(look):
        click.echo(line)
    if reruns:
        click.echo(f"reruns of it: {', '.join(escaped(row.execution_id) for row in reruns)}")
    counts = ending.counts
    done = [amount(counts["tasks"], "task"), amount(counts["retries"], "retry")]
    click.echo(", ".join([*done, amount(counts["passed_errors"], "passed error"), amount(execution.position, "event")]))
    if ending.error is not None:
        click.echo(f"failure: {place_text(ending.error)}{failure_text(ending.error)}")
        for line in error_lines(ending):
            click.echo(line)
    if ending.reason:
        click.echo(f"reason: {escaped(ending.reason)}")
    _tell_phases(ending, execution)
    _tell_interruptions(look.program, execution, scripted=ending.scripted)
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            click.echo("  … (--json shows all)")
            break
        click.echo(f"  {row_text(row, now)}")
    if not over and not owned:
        click.echo(f"resume with: {escaped(command_with(url, 'resume', ending.execution_id))}")


def _found_by(look: Snapshot) -> list[str]:
    """The labels and search attributes of an execution, in two lines."""
    told = attributes_document(attributes_of(look.program, look.execution))
    return [
        f"{key}: {', '.join(f'{name}={escaped(str(value))}' for name, value in values.items())}"
        for key, values in told.items()
        if isinstance(values, dict)
    ]


def _tell_interruptions(program: Program, execution: Execution, *, scripted: bool) -> None:
    """The last runs that signals and timers stopped."""
    found = [*execution.interruptions]
    if len(found) > SHOWN_INTERRUPTIONS:
        click.echo(f"{len(found) - SHOWN_INTERRUPTIONS} interruptions before these (--json shows them)")
    for each in found[-SHOWN_INTERRUPTIONS:]:
        when = f"after {duration(each.at - execution.started)}" if scripted else f"at {moment(each.at)}"
        click.echo(f"interrupted: {escaped(f'{place_of(program, each.step)}: by {each.by} {each.name}')}, {when}")


def _tell_phases(ending: Ending, execution: Execution) -> None:
    """The phases behind main: what became of each, and the one that runs."""
    for row in ending.after:
        if isinstance(row, dict):
            error = row.get("error")
            why = f": {place_text(error)}{failure_text(error)}" if error else ""
            click.echo(f"{escaped(str(row['phase']))}: {escaped(str(row['status']))}{why}")
    if ending.phase:
        left = f", {amount(len(execution.remembered), 'run')} left to undo" if execution.remembered else ""
        click.echo(f"{escaped(ending.phase)}: runs, after main ended {escaped(str(execution.main['status']))}{left}")


def _all(url: str, *, as_json: bool) -> int:
    """How many stand how, and those that are not over."""
    # A store leaves out a status that none has; `--json` has them all.
    with existing_runtime(url) as runtime:
        counts = dict.fromkeys(STATUSES, 0) | runtime.store.counts()
        rows = runtime.store.executions(Wanted(open=True))
        unfinished = [(row, is_driven(runtime, row)) for row in rows]
    if as_json:
        documents: list[Json] = [row_document(row, owned=owned) for row, owned in unfinished]
        click.echo(json_text({"counts": dict(counts), "unfinished": documents}))
        return 0
    click.echo(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no executions")
    for row, owned in unfinished[:MOST_ROWS]:
        click.echo(f"  {row.execution_id}  {status_text(row, owned=owned)}  {escaped(row.playbook)}")
    if len(unfinished) > MOST_ROWS:
        click.echo(f"  … and {len(unfinished) - MOST_ROWS} more (noetl list --status STATUS shows all)")
    return 0


def _cause(by: Mapping[str, Json]) -> str:
    """The schedule or trigger that started an execution, in words."""
    if "schedule" in by:
        why = ", a backfill" if by.get("backfill") else ", asked for" if by.get("asked") else ""
        return f"schedule {by['schedule']} for {by.get('time')}{why}"
    name = f"trigger {by.get('trigger')}"
    if "execution" in by:
        return f"{name}, behind execution {by['execution']} ({by.get('status')})"
    if "subject" in by:
        return f"{name}, for a message on {by['subject']}"
    return f"{name}, for request {by['request']}" if "request" in by else name


COMMAND = status
