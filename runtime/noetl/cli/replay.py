"""replay: fold a log again, check that it was a legal run of its plan, and print the state."""

from __future__ import annotations

import click

from noetl.app.looking import events_of, program_of
from noetl.app.picture import rows_of
from noetl.cli.stores import existing, json_option, row_of, store_option
from noetl.cli.text import amount, escaped, json_text
from noetl.engine.program import Program
from noetl.engine.replay import Verdict
from noetl.engine.replay import replay as checked
from noetl_ir.expr import Json


@click.command("replay", short_help="Check a log and print the state that it leads to.")
@click.argument("execution", metavar="ID")
@store_option
@json_option
def replay(execution: str, url: str, as_json: bool) -> int:
    """Fold the log of an execution, check that it was a legal run of its plan, and print the state.

    Exit code 1, the position and the reason when it was none. ID may be the beginning of an id, or `last`.
    """
    with existing(url) as runtime:
        row = row_of(runtime, execution)
        program = program_of(runtime, row.execution_id)
        log = (event for _, event in events_of(runtime, row.execution_id))
        verdict = checked(program, row.execution_id, log)
    if as_json:
        click.echo(json_text(_document(program, verdict)))
    else:
        _tell(program, verdict)
    return 1 if verdict.wrong else 0


def _document(program: Program, verdict: Verdict) -> dict[str, Json]:
    position, reason = verdict.wrong or (None, None)
    execution = verdict.execution
    return {
        "execution_id": execution.execution_id,
        "legal": verdict.wrong is None,
        "position": position,
        "reason": reason,
        "events": verdict.events,
        "status": execution.status,
        "paused": execution.paused,
        "counts": dict(execution.counts),
        "workload": execution.workload,
        "ctx": execution.ctx,
        "marking": dict(_marking(program, verdict)),
        "now": [{"what": row.what, **row.data} for row in rows_of(program, execution)],
    }


def _marking(program: Program, verdict: Verdict) -> list[tuple[str, Json]]:
    """The tokens by place, in the order of the net: keys with their counts."""
    held = verdict.execution.marking.tokens
    places = program.plan.net.places
    return [(places[number].id, dict(held[number])) for number in sorted(held) if held[number]]


def _tell(program: Program, verdict: Verdict) -> None:
    execution = verdict.execution
    if verdict.wrong:
        position, reason = verdict.wrong
        click.echo(f"not a legal run: event {position}: {escaped(reason)}")
    else:
        click.echo(f"a legal run of {escaped(program.plan.path or program.plan.name)}")
    paused = ", paused" if execution.paused else ""
    click.echo(f"{amount(verdict.events, 'event')}, {execution.status}{paused}, {execution.counts['tasks']} tasks run")
    if execution.ctx:
        click.echo(f"ctx: {json_text(execution.ctx)}")
    for place, tokens in _marking(program, verdict):
        click.echo(f"  {escaped(place)}: {json_text(tokens)}")


COMMAND = replay
