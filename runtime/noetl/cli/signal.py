"""signal: send a named signal to an execution; a `wait` task takes it, now or when it comes to it."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution, program_of, root_of
from noetl.cli.asking import apply_here
from noetl.cli.inputs import json_of
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import Problem, escaped, json_text
from noetl.engine.signals import unheard
from noetl.ports import Over, Owned
from noetl.server.execution import Ask


@click.command("signal", short_help="Send a signal to an execution that waits for one.")
@click.argument("execution", metavar="ID")
@click.option("--name", required=True, help="The name that a `wait` task listens for.")
@click.option("--data", default="null", metavar="JSON", help="What the signal carries.")
@click.option("--anyway", is_flag=True, help="Send it though nothing in the playbook waits for that name.")
@server_option
@store_option
@json_option
def signal(execution: str, name: str, data: str, anyway: bool, url: str, as_json: bool) -> int:
    """Send a signal. It is kept until a wait takes it, also when none listens for it yet.

    A process that drives the execution reads it within 200 ms; without one it is recorded here, and the
    execution goes on with `noetl resume ID`. A name that the playbook never waits for is asked about, and without a
    terminal refused. ID may be the beginning of an id, or `last`. Exit code 1 when the execution is over.
    """
    try:
        request = Ask("signal", None, {"name": name, "data": json_of(data)})
    except ValueError as problem:
        raise click.UsageError(f"--data is no JSON: {problem}; text is written in double quotes") from None
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        if row.ended is not None:
            raise Problem(f"execution {row.execution_id} is over ({row.status}): it takes no signal")
        if not anyway:
            _ask_back(runtime, row.execution_id, name)
        driven = runtime.store.is_owned(root_of(runtime, row))
        if not driven:
            try:
                if not apply_here(runtime, row, request):
                    raise Problem(f"execution {row.execution_id} is over: it takes no signal")
            # A process took it up since the look; it reads the inbox.
            except Owned:
                driven = True
        if driven:
            try:
                runtime.store.post(row.execution_id, "signal", request.body)
            except Over:
                raise Problem(f"execution {row.execution_id} is over: it takes no signal") from None
    if as_json:
        click.echo(json_text({"execution_id": row.execution_id, "signal": name, "recorded": not driven}))
    else:
        how = "sent to the process that drives it" if driven else "recorded"
        click.echo(f"signal {escaped(name)} for {escaped(row.playbook)}, execution {row.execution_id}: {how}")
    return 0


def _ask_back(runtime: Runtime, execution_id: str, name: str) -> None:
    """Whether it is meant that nothing will ever hear the signal: a person is asked, anybody else refused."""
    why = ""
    with suppress(UnreadableExecution):  # what cannot be looked at is said where it is read
        why = unheard(program_of(runtime, execution_id), name)
    if not why:
        return
    if not sys.stdin.isatty():
        raise Problem(f"{why}; --anyway sends it nonetheless")
    if not click.confirm(f"{escaped(why)}: send it nonetheless?", err=True):
        raise Problem("nothing was sent")


COMMAND = signal
