"""replay: fold a log again, check that it was a legal run of its plan, and print the state."""

from __future__ import annotations

import click

from noetl.app.documents import marking_of, replay_document, verdict_of
from noetl.app.ending import written_counts
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import amount, escaped, json_text
from noetl.engine.program import Program
from noetl.engine.replay import ReplayVerdict


@click.command("replay", short_help="Check a log and print the state that it leads to.")
@click.argument("execution", metavar="ID")
@server_option
@store_option
@json_option
def replay(execution: str, url: str, as_json: bool) -> int:
    """Fold the log of an execution, check that it was a legal run of its plan, and print the state.

    Exit code 1, the position and the reason when it was none. ID may be the beginning of an id, or `last`.
    """
    with existing_runtime(url) as runtime:
        program, verdict = verdict_of(runtime, row_of(runtime, execution))
    if as_json:
        click.echo(json_text(replay_document(program, verdict)))
    else:
        _tell(program, verdict)
    return 1 if verdict.wrong else 0


def _tell(program: Program, verdict: ReplayVerdict) -> None:
    execution = verdict.execution
    if verdict.wrong:
        position, reason = verdict.wrong
        click.echo(f"not a legal run: event {position}: {escaped(reason)}")
    else:
        click.echo(f"a legal run of {escaped(program.plan.path or program.plan.name)}")
    paused = ", paused" if execution.paused else ""
    tasks = written_counts(execution)["tasks"]
    click.echo(f"{amount(verdict.events, 'event')}, {execution.status}{paused}, {tasks} tasks run")
    if execution.ctx:
        click.echo(f"ctx: {json_text(execution.ctx)}")
    for place, tokens in marking_of(program, verdict.execution):
        click.echo(f"  {escaped(place)}: {json_text(tokens)}")


COMMAND = replay
