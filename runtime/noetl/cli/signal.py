"""signal: send a named signal to an execution; a `wait` task takes it, now or when it comes to it."""

from __future__ import annotations

from contextlib import suppress

import click

from noetl.app.snapshots import UnreadableExecution, program_of, root_of
from noetl.cli.asking import apply_here
from noetl.cli.inputs import json_of
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import Problem, escaped, json_text, warn
from noetl.engine.signals import unheard
from noetl.ports import Owned
from noetl.server.execution import Ask


@click.command("signal", short_help="Send a signal to an execution that waits for one.")
@click.argument("execution", metavar="ID")
@click.option("--name", required=True, help="The name that a `wait` task listens for.")
@click.option("--data", default="null", metavar="JSON", help="What the signal carries.")
@server_option
@store_option
@json_option
def signal(execution: str, name: str, data: str, url: str, as_json: bool) -> int:
    """Send a signal. It is kept until a wait takes it, also when none listens for it yet.

    A process that drives the execution reads it within 200 ms; without one it is recorded here, and the
    execution goes on with `noetl resume ID`. ID may be the beginning of an id, or `last`. Exit code 1 when the
    execution is over.
    """
    try:
        request = Ask("signal", None, {"name": name, "data": json_of(data)})
    except ValueError as problem:
        raise click.UsageError(f"--data is no JSON: {problem}; text is written in double quotes") from None
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        if row.ended is not None:
            raise Problem(f"execution {row.execution_id} is over ({row.status}): it takes no signal")
        with suppress(UnreadableExecution):  # what cannot be looked at is said where it is read
            warn(filter(None, [unheard(program_of(runtime, row.execution_id), name)]))
        driven = runtime.store.is_owned(root_of(runtime, row))
        if not driven:
            try:
                apply_here(runtime, row, request)
            # A process took it up since the look; it reads the inbox.
            except Owned:
                driven = True
        if driven:
            runtime.store.post(row.execution_id, "signal", request.body)
    if as_json:
        click.echo(json_text({"execution_id": row.execution_id, "signal": name, "recorded": not driven}))
    else:
        how = "sent to the process that drives it" if driven else "recorded"
        click.echo(f"signal {escaped(name)} for {escaped(row.playbook)}, execution {row.execution_id}: {how}")
    return 0


COMMAND = signal
