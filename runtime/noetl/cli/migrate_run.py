"""migrate-run: have an execution that waits go on under another plan, with its id and its log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from noetl.app.migrations import planned_migration
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution, events_of
from noetl.cli.acting import by_user
from noetl.cli.asking import PAUSE, SECONDS, apply_here
from noetl.cli.inputs import plan_bytes, program_from
from noetl.cli.stores import (
    command_with,
    existing_runtime,
    is_remote,
    json_option,
    path_option,
    require_store,
    row_of,
    runtime_to_change,
    server_option,
    store_option,
)
from noetl.cli.text import Problem, escaped, json_text
from noetl.ports import ExecutionRow, Owned
from noetl.server.children import root_of
from noetl.server.execution import Ask
from noetl.server.migrations import MIGRATE, asks_to_migrate
from noetl_ir.events import Event
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from pathlib import Path

_STAYS = "it stays with its plan"


@click.command("migrate-run", short_help="Move an execution to another plan.")
@click.argument("execution", metavar="ID")
@click.option("--plan", required=True, metavar="PLAN|PLAYBOOK", help="The version that it is to go on under.")
@path_option
@click.option("--dry-run", is_flag=True, help="Only say whether it could.")
@server_option
@store_option
@json_option
def migrate_run(execution: str, plan: str, folders: tuple[Path, ...], dry_run: bool, url: str, as_json: bool) -> int:
    """Have an execution that is not over go on under another version of its playbook, with its id and its log.

    That is done only where its log is a legal run of the new plan, too, and where what ran, and what is at work, is the
    same in both: then what it does from here on is what the new plan says. Otherwise it says what hinders, and nothing
    is changed; `noetl rerun --plan` begins a new execution, with what is the same. ID may be the beginning of an id, or
    `last`.

    Exit code 1 where something hinders, or its process did not hear of it in time.
    """
    if is_remote(url):
        return _at_server(execution, plan, folders, url, dry_run=dry_run, as_json=as_json)
    require_store(url)
    with runtime_to_change(url) as runtime:
        row = row_of(runtime, execution)
        found = plan_bytes(plan, folders, quiet=False, undone="nothing was changed")
        program = program_from(runtime, found)
        planned = planned_migration(runtime, row, program)
        if dry_run:
            return _tell(planned.as_json(), as_json=as_json)
        if planned.hindrances:
            raise Problem(_hindered([one.as_text() for one in planned.hindrances]))
        runtime.keep(lambda: runtime.programs.add_program(program, found.sources))
        after = _length(runtime, row)
        row = _asked(runtime, row, program.digest, after)
    return _done(row, program.digest, url, as_json=as_json)


def _asked(runtime: Runtime, row: ExecutionRow, digest: str, after: int) -> ExecutionRow:
    """The row once whoever drives it has moved it; by this process where nobody does. Raises Problem."""
    body = asks_to_migrate(digest)
    if not runtime.store.is_owned(root_of(runtime.store, row)):
        with suppress(Owned):  # somebody took it up since the look
            apply_here(runtime, row, Ask(MIGRATE, None, body))
            moved = runtime.store.execution(row.execution_id) or row
            if moved.plan_digest != digest:  # what was asked before, and nobody had read, came first
                raise Problem(f"{_STAYS}: something else was asked of it before")
            return moved
    with by_user():
        posted = runtime.store.post(row.execution_id, MIGRATE, body)
    return _heard(runtime, row, after, lambda event: event.data.get("row") == posted)


def _heard(runtime: Runtime, row: ExecutionRow, after: int, tells: Callable[[Event], bool]) -> ExecutionRow:
    """The row once the log behind a position says what came of it. Raises Problem."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for position, event in events_of(runtime, row.execution_id, after):
            after = position
            if event.event_type == "migration.refused" and tells(event):
                raise Problem(_hindered(_texts(event.data.get("why"))))
            if event.event_type == "playbook.migrated" and tells(event):
                return runtime.store.execution(row.execution_id) or row
        time.sleep(PAUSE)
    raise Problem(f"its owner has not acted within {SECONDS:g} s; the request stays")


def _at_server(execution: str, plan: str, folders: tuple[Path, ...], url: str, *, dry_run: bool, as_json: bool) -> int:
    from noetl.cli.remote import ask_server
    from noetl.cli.start import named_plan

    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        after = _length(runtime, row)
        body: dict[str, Json] = {**named_plan(plan, folders, url, registers=False), "dry_run": dry_run}
        document = ask_server(url, "POST", f"/executions/{row.execution_id}/migrate", body)
        if dry_run:
            return _tell(document, as_json=as_json)
        digest = str(document.get("to"))
        row = _heard(runtime, row, after, lambda event: event.data.get("to") == digest)
    return _done(row, digest, url, as_json=as_json)


def _length(runtime: Runtime, row: ExecutionRow) -> int:
    try:
        return max((position for position, _ in events_of(runtime, row.execution_id)), default=0)
    except UnreadableExecution as problem:
        raise Problem(str(problem)) from None


def _texts(value: Json) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []


def _hindered(why: Iterable[str]) -> str:
    return "\n".join([f"{_STAYS}:", *why])


def _done(row: ExecutionRow, digest: str, url: str, *, as_json: bool) -> int:
    if as_json:
        click.echo(json_text({"execution_id": row.execution_id, "to": digest, "status": row.status}))
    else:
        click.echo(f"moved: execution {row.execution_id} of {escaped(row.playbook)} goes on under {digest[:12]}")
        click.echo(f"see how it stands: {escaped(command_with(url, 'status', row.execution_id))}")
    return 0


def _tell(document: dict[str, Json], *, as_json: bool) -> int:
    """Tell what was found; returns the exit code."""
    found = document.get("hindrances")
    hindrances = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if as_json:
        click.echo(json_text(document))
    else:
        click.echo(
            f"execution {document['execution_id']} {'would stay with its plan' if hindrances else 'can be moved'}"
        )
        for one in hindrances:
            instead = f": {one['instead']}" if one.get("instead") else ""
            click.echo(escaped(f"hinders: {one['message']}{instead}"))
    return 1 if hindrances else 0


COMMAND = migrate_run
