"""signal: send a named signal to an execution, or to whoever waits under a key; a `wait` task takes it, now or when it
comes to it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from uuid import uuid4

import click

from noetl.app.adapters import DEFAULT_STORE
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution, program_of
from noetl.cli.acting import by_user
from noetl.cli.asking import apply_here, ask_shortly, post_shortly
from noetl.cli.bulk import BulkOptions, ask_many, bulk_options
from noetl.cli.inputs import json_of
from noetl.cli.stores import (
    command_with,
    existing_runtime,
    json_option,
    row_of,
    runtime_to_change,
    server_option,
    store_option,
)
from noetl.cli.text import Problem, duration, escaped, json_text
from noetl.engine.signals import heard_names, unheard
from noetl.ports import ExecutionRow, MailboxFull, Over, Owned
from noetl.ports.mailbox import Letter, kept_for
from noetl.server.children import root_of
from noetl.server.execution import Ask
from noetl_ir.correlation import HALF, faulty_key, is_storable
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.plan_secrets import secrets_named


def _complete_name(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """The names that the playbook of the execution listens for, for a shell: whatever is in the way, it has none."""
    try:
        url = context.params.get("url") or os.environ.get("NOETL_STORE", DEFAULT_STORE)
        with existing_runtime(str(url)) as runtime:
            # Behind an option that lacks its value click has not read the arguments yet.
            named = context.params.get("execution") or next(iter(context.args), "last")
            row = row_of(runtime, str(named))
            program = program_of(runtime, row.execution_id)
            return [name for name in heard_names(program) if name.startswith(begun)]
    except Exception:
        return []


@click.command("signal", short_help="Send a signal to an execution that waits for one.")
@click.argument("execution", metavar="[ID]", required=False)
@bulk_options
@click.option("--key", help="Instead of ID: the `correlation` under which a `wait` of any execution listens.")
@click.option("--name", required=True, shell_complete=_complete_name, help="The name that a `wait` task listens for.")
@click.option("--data", default="null", metavar="JSON", help="What the signal carries.")
@click.option("--keep-for", metavar="DURATION", help="With --key: how long it is kept for a wait; 7d when absent.")
@click.option("--anyway", is_flag=True, help="Send it though nothing in the playbook waits for that name.")
@server_option
@store_option
@json_option
def signal(
    execution: str | None,
    many: BulkOptions,
    key: str | None,
    name: str,
    data: str,
    keep_for: str | None,
    anyway: bool,
    url: str,
    as_json: bool,
) -> int:
    """Send a signal. It is kept until a wait takes it, also when none listens for it yet.

    A process that drives the execution reads it within 200 ms; without one it is recorded here, and the
    execution goes on with `noetl resume ID`. A name that the playbook never waits for is asked about, and without a
    terminal refused. ID may be the beginning of an id, or `last`. Exit code 1 when the execution is over.

    With --query it goes to all that fit and are not over, but for those that never wait for that name (--anyway).

    With --key it goes to the oldest `wait` under that key, of whichever execution, once.
    """
    try:
        value = json_of(data)
    except ValueError as problem:
        raise click.UsageError(f"--data is no JSON: {problem}; text is written in double quotes") from None
    if [execution, key, many.query].count(None) != 2:
        raise click.UsageError("give either the ID of an execution, or --query, or --key")
    is_many = many.check(execution if key is None else key)
    if key is not None:
        return _post(url, _letter(key, name, value, keep_for), as_json=as_json)
    if keep_for is not None:
        raise click.UsageError("--keep-for goes with --key: a signal to an execution is kept as long as that runs")
    if is_many:
        body: dict[str, Json] = {"name": name, "data": value, "anyway": anyway}
        act = partial(_send_one, {"name": name, "data": value}, anyway=anyway, dry_run=many.dry_run)
        return ask_many(url, "signal", many, body, act, as_json=as_json)
    return _send(
        url, str(execution), Ask("signal", None, {"name": name, "data": value}), anyway=anyway, as_json=as_json
    )


def _letter(key: str, name: str, data: Json, keep_for: str | None) -> Letter:
    """The letter that is posted. Raises click.UsageError."""
    if keep_for is not None and seconds_of(keep_for) is None:
        raise click.UsageError("--keep-for is no duration: write seconds, or text like 5m or 2d")
    if (why := faulty_key(key)) or not is_storable(name):
        raise click.UsageError(f"--key {why}" if why else f"--name {HALF}")
    return Letter(key, name, data, uuid4().hex, kept_for(keep_for))


def _post(url: str, letter: Letter, *, as_json: bool) -> int:
    with runtime_to_change(url) as runtime:
        try:
            with by_user():
                is_delivered = runtime.store.mailbox.post_letter(letter)
        except MailboxFull as problem:
            raise Problem(str(problem)) from None
    if as_json:
        click.echo(json_text({"key": letter.key, "signal": letter.name, "delivered": is_delivered}))
    else:
        how = "a wait has it" if is_delivered else f"kept for {duration(letter.keep_for)}, as nobody waits for it"
        click.echo(f"signal {escaped(letter.name)} under `{escaped(letter.key)}`: {how}")
    return 0


def _send(url: str, execution: str, request: Ask, *, anyway: bool, as_json: bool) -> int:
    name = str(request.body["name"]) if isinstance(request.body, dict) else ""
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        if row.ended is not None:
            raise Problem(f"execution {row.execution_id} is over ({row.status}): it takes no signal")
        if not anyway:
            _ask_back(runtime, row.execution_id, name)
        driven = runtime.store.is_owned(root_of(runtime.store, row))
        posts = driven or _may_bring_secrets(runtime, row.execution_id)
        if not posts:
            try:
                if not apply_here(runtime, row, request):
                    raise Problem(f"execution {row.execution_id} is over: it takes no signal")
            # A process took it up since the look; it reads the inbox.
            except Owned:
                driven = posts = True
        if posts:
            try:
                with by_user():
                    runtime.store.post(row.execution_id, "signal", request.body)
            except Over:
                raise Problem(f"execution {row.execution_id} is over: it takes no signal") from None
    if as_json:
        click.echo(json_text({"execution_id": row.execution_id, "signal": name, "recorded": not posts}))
    else:
        kept = "kept for the process that goes on with it" if posts else "recorded"
        how = "sent to the process that drives it" if driven else kept
        click.echo(f"signal {escaped(name)} for {escaped(row.playbook)}, execution {row.execution_id}: {how}")
        if not driven and row.parent_execution_id is None:
            click.echo(f"go on with: {escaped(command_with(url, 'resume', row.execution_id))}")
    return 0


def _send_one(body: dict[str, Json], runtime: Runtime, row: ExecutionRow, *, anyway: bool, dry_run: bool) -> str:
    """Send a signal to one of many. Raises Problem."""
    if not anyway and (why := _unheard(runtime, row.execution_id, str(body["name"]))):
        raise Problem(why)
    if dry_run:
        return ""
    if _may_bring_secrets(runtime, row.execution_id):  # whoever drives it hides them
        post_shortly(runtime, row, "signal", body)
        return ""
    return ask_shortly("signal", body)(runtime, row)


def _may_bring_secrets(runtime: Runtime, execution_id: str) -> bool:
    """Whether an execution has secrets that a signal may bring, too: the process that has them hides them, which need
    not be this one.
    """
    try:
        return bool(secrets_named([program_of(runtime, execution_id).plan]).fields)
    except UnreadableExecution:
        return False


def _unheard(runtime: Runtime, execution_id: str, name: str) -> str:
    """Why nothing in the playbook of an execution ever takes a signal; empty where something may."""
    with suppress(UnreadableExecution):  # what cannot be looked at is said where it is read
        return unheard(program_of(runtime, execution_id), name)
    return ""


def _ask_back(runtime: Runtime, execution_id: str, name: str) -> None:
    """Whether it is meant that nothing will ever hear the signal: a person is asked, anybody else refused."""
    why = _unheard(runtime, execution_id, name)
    if not why:
        return
    if not sys.stdin.isatty():
        raise Problem(f"{why}; --anyway sends it nonetheless")
    if not click.confirm(f"{escaped(why)}: send it nonetheless?", err=True):
        raise Problem("nothing was sent")


COMMAND = signal
