"""events: the log of an execution, for people or as one envelope a line."""

from __future__ import annotations

import sys

from noetl.app.picture import log_place_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, program_of
from noetl.cli.following import follow_log
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import cut, escaped, json_text, moment, width_of_terminal
from noetl.engine.program import Program
from noetl.ports import ExecutionRow
from noetl_cli import lazy_click as click
from noetl_ir.envelope import Origin, envelope_of, origin_of, span_of
from noetl_ir.event_names import DIALECTS, old_envelope, old_name
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


@click.command("events", short_help="Print the log of an execution.")
@click.argument("execution", metavar="ID")
@click.option("--follow", is_flag=True, help="Go on with new events until the execution has ended.")
@click.option("--source", is_flag=True, help="Show where in the playbook each event comes from.")
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    help="Show names, with --json envelopes, of an older specification.",
)
@server_option
@store_option
@json_option
def events(execution: str, follow: bool, source: bool, dialect: str | None, url: str, as_json: bool) -> int:
    """Print the log of an execution: a line an event, on a terminal cut short; with --json the envelope.

    ID may be the beginning of an id, or `last`.
    """
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        printer = _Printer(program_of(runtime, row.execution_id), row, _Shown(source, dialect, as_json))
        printer.print_new(runtime)
        if follow:
            follow_log(runtime, url, row.execution_id, lambda: printer.print_new(runtime))
    return 0


class _Shown(NamedTuple):
    """The columns to show of an event beside itself: its place in the source, its name in an old specification."""

    source: bool
    dialect: str | None
    as_json: bool


class _Printer:
    """Prints what is new in a log."""

    def __init__(self, program: Program, row: ExecutionRow, shown: _Shown) -> None:
        self._program = program
        self._row = row
        self._shown = shown
        self._width = width_of_terminal()
        self._position = 0
        self._origin = Origin(row.execution_id, row.execution_id, row.parent_execution_id)

    def print_new(self, runtime: Runtime) -> int:
        """Print what is behind the last position; gives the new one."""
        for position, event in events_of(runtime, self._row.execution_id, self._position):
            # The first event says of what the others are part (its root, its trace). Behind it the log may be read in
            # parts.
            if position == 1:
                self._origin = origin_of(self._row.execution_id, event)
            self._position = position
            if self._shown.as_json:
                if (envelope := self._envelope(event, position)) is not None:
                    click.echo(json_text(envelope))
            else:
                line = _line(self._program, event, position, self._beside(event))
                click.echo(cut(line, self._width) if self._width else line)
        # Python buffers what goes into a pipe, and whoever follows a log would see it in pieces of 8 KiB.
        sys.stdout.flush()
        return self._position

    def _envelope(self, event: Event, position: int) -> dict[str, Json] | None:
        """The envelope of an event; None where the dialect that was asked for has no such event."""
        envelope = envelope_of(self._program.plan, self._origin, event, position)
        if self._shown.dialect is not None:
            older = old_envelope(event, envelope, self._shown.dialect)
            if older is None:
                return None
            envelope = older
        if self._shown.source:
            at = span_of(self._program.plan, event)
            place: Json = {"file": self._program.plan.source, "line": at.line, "column": at.column} if at else None
            envelope["source_place"] = place
        return envelope

    def _beside(self, event: Event) -> str:
        """The name and the place that were asked for, in front of the line."""
        parts = []
        if self._shown.dialect is not None:
            parts.append(f"{old_name(event, self._shown.dialect) or '-':<28}")
        if self._shown.source:
            at = span_of(self._program.plan, event)
            parts.append(f"{escaped(self._program.plan.source)}:{at}" if at else "-")
        return " ".join(parts)


def _line(program: Program, event: Event, position: int, beside: str) -> str:
    place = escaped(log_place_of(program, event.step, event.run, event.task)) if event.step >= 0 else ""
    attempt = f" attempt {event.attempt}" if event.attempt > 1 else ""
    data = json_text(event.data) if event.data else ""
    front = f"{position:>5} {moment(event.ts, millis=True)} {beside}".rstrip()
    return f"{front} {escaped(event.event_type):<24} {place}{attempt} {data}".rstrip()


COMMAND = events
