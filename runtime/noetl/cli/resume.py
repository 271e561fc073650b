"""resume: go on with an execution that was stopped, paused or killed."""

from __future__ import annotations

from functools import partial

from noetl.app.embedded import Embedded
from noetl.app.ending import ending_of
from noetl.app.snapshots import Snapshot, program_of, snapshot_of
from noetl.cli.acting import record_alone
from noetl.cli.asking import ask, ask_shortly, rerun_of
from noetl.cli.bulk import BulkOptions, ask_many, bulk_options
from noetl.cli.driving import DriveOptions, drive
from noetl.cli.driving_options import DrivingOptions, driving_options
from noetl.cli.ending import tell_ending
from noetl.cli.stores import (
    command_with,
    existing_runtime,
    is_remote,
    json_option,
    opened_runtime,
    owning_root,
    require_store,
    row_of,
    server_option,
    store_option,
)
from noetl.cli.text import Stopped, escaped, json_text
from noetl.engine.program import Program
from noetl.ports import Owned
from noetl_cli import lazy_click as click


@click.command("resume", short_help="Go on with an execution that stopped.")
@click.argument("execution", metavar="[ID]", required=False)
@bulk_options
@driving_options()
@server_option
@store_option
@json_option
@click.option("--retry-fault", is_flag=True, help="Try again what the engine made a mistake in (engine.fault).")
def resume(
    execution: str | None,
    many: BulkOptions,
    options: DrivingOptions,
    url: str,
    as_json: bool,
    retry_fault: bool,
) -> int:
    """Go on with an execution from its log: after a pause, a stop, or the death of the process that ran it.

    Of one that has ended it tells how; one that ended by a mistake of the engine goes on with --retry-fault, where it
    stood before. With --server it asks the server to end the pause, or to try again, and does not wait. ID may be the
    beginning of an id, or `last`.

    With --query the pause of all that fit ends. It does not go on with them by itself: processes that drive them do, a
    server of the store, or `noetl resume ID`.
    """
    if many.check(execution):
        return _many(url, many, retry_fault=retry_fault, as_json=as_json)
    assert execution is not None
    if is_remote(url):
        if retry_fault:
            return _retried(execution, url, as_json=as_json)
        return ask(execution, "resume", url, as_json=as_json)
    require_store(url)
    shown = options.progress()
    settings = options.settings(shown)
    with opened_runtime(url, settings) as runtime:
        row = row_of(runtime, execution)
        look = snapshot_of(runtime, row) if row.ended is not None else None
        if look is not None and not (retry_fault and look.execution.fault is not None):
            # Without this line the end that is told looks as if something had been tried again.
            again = ", and it did not end by engine.fault" if retry_fault else _way_on(look, url)
            shown.say(f"execution {row.execution_id} has ended ({row.status}): nothing is left to resume{again}")
            if look.execution.scripted:
                from noetl.app.script_letters import drop_left  # most runs have no script

                drop_left(runtime, look.execution.trace_id)  # its process may have died before it came to that
            ending = ending_of(runtime, look.program, look.execution, look.execution.status)
            return tell_ending(ending, url, as_json=as_json)
        # Its times are those of a virtual clock, and its tools never ran. To go on with real tools would send half a
        # run into the world.
        if not options.is_scripted and runtime.was_scripted(row.execution_id):
            raise click.UsageError("a script stood in for its tools: say with --script FILE which one goes on doing so")
        # How often an entry was used is nowhere in the log: counted from 0 again, a run would go another way.
        if settings.script is not None and settings.script.counts:
            raise click.UsageError("a script with `times` cannot go on with a run: write `attempt`, `visit` or `run`")
        program = program_of(runtime, row.execution_id)
        shown.say(f"{row.execution_id}: {escaped(row.playbook)}")
        go = partial(_resume, program, row.execution_id, retry_fault)
        try:
            deed = "retry-fault" if retry_fault else "resume"
            runtime.keep(partial(record_alone, runtime.store, deed, row.execution_id))
            with owning_root(runtime, row):
                return drive(runtime, program, DriveOptions(row.execution_id, url, as_json), go, shown)
        except Owned as problem:
            raise Stopped(f"a caller of it drives it: {problem}") from None


def _way_on(look: Snapshot, url: str) -> str:
    if look.execution.fault is not None:
        return f"; {escaped(command_with(url, 'resume', look.row.execution_id, '--retry-fault'))} tries it again"
    return "" if look.execution.scripted else rerun_of(look.row, url)


def _retried(execution: str, url: str, *, as_json: bool) -> int:
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        runtime.store.post(row.execution_id, "retry-fault", None)
    click.echo(
        json_text({"execution_id": row.execution_id, "asked": "retry-fault"})
        if as_json
        else f"tried again: {escaped(row.playbook)}, execution {row.execution_id}"
    )
    return 0


def _resume(program: Program, execution_id: str, retry_fault: bool, embedded: Embedded) -> str:
    return embedded.resume(program, execution_id, retry_fault=retry_fault)


def _many(url: str, many: BulkOptions, *, retry_fault: bool, as_json: bool) -> int:
    if retry_fault:
        raise click.UsageError("--retry-fault goes with the ID of an execution")
    return ask_many(url, "resume", many, {}, ask_shortly("resume"), as_json=as_json)


COMMAND = resume
