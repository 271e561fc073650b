"""logs: what the tasks of an execution printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from noetl.app.runtime import Runtime
from noetl.app.task_output import OutputFilter, attempt_name, check_filter, output_rows, row_document
from noetl.cli.following import follow_output
from noetl.cli.stores import existing_runtime, json_option, row_of, server_option, store_option
from noetl.cli.text import escaped, json_text
from noetl.ports import Wanted
from noetl.ports.output import CUT, FULL, AttemptKey, OutputChunk, OutputRow
from noetl_cli import lazy_click as click

MISSING = "… some output is missing here: it was not kept"


@click.command("logs", short_help="Print what tasks printed.")
@click.argument("execution", metavar="ID")
@click.argument("step", required=False, metavar="[STEP]")
@click.option("--follow", is_flag=True, help="Go on with what is printed until the execution has ended.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Only the Nth attempt at each task.")
@server_option
@store_option
@json_option
def logs(execution: str, step: str | None, follow: bool, attempt: int | None, url: str, as_json: bool) -> int:
    """Print what the tasks of an execution printed, or those of STEP: each line behind its step and task; with --json
    the pieces in which it is kept.

    Secrets are hidden, and characters that a terminal would obey are escaped. ID may be the beginning of an id, or
    `last`.
    """
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        wanted = OutputFilter(step or "", attempt or 0)
        check_filter(runtime, row.execution_id, wanted)
        printer = _Printer(runtime, row.execution_id, wanted, as_json=as_json)
        if follow and row.ended is None:
            printer.print_new()
            follow_output(runtime, url, row.execution_id, printer.print_new)
        else:
            printer.print_all()
        printer.close()
    return 0


class _Printer:
    """Prints what is new in the output of an execution."""

    def __init__(self, runtime: Runtime, execution_id: str, wanted: OutputFilter, *, as_json: bool) -> None:
        self._runtime = runtime
        self._execution_id = execution_id
        self._wanted = wanted
        self._as_json = as_json
        self._position = 0
        self._ends: dict[AttemptKey, int] = {}
        self._begun: dict[tuple[AttemptKey, str], tuple[str, str]] = {}
        self._found = False

    def print_new(self) -> None:
        """Print what is behind the last position. A line is printed once it is whole."""
        for row in self._rows():
            self._print_row(row)
        sys.stdout.flush()  # who reads a pipe would see it in pieces of 8 KiB

    def print_all(self) -> None:
        """Print what there is, where nothing more is waited for. A line without an end is printed in its place: behind
        all others it would stand beneath what was printed later.
        """
        ends = {row.chunk.key: row.position for row in self._rows()}
        last = max(ends.values(), default=0)
        for row in self._rows():
            if row.position > last:
                break  # it came between the two readings
            self._print_row(row)
            if row.position == ends[row.chunk.key]:
                self._end_lines(row.chunk.key)
        sys.stdout.flush()

    def _rows(self) -> Iterator[OutputRow]:
        return output_rows(self._runtime, self._execution_id, self._position, self._wanted)

    def _print_row(self, row: OutputRow) -> None:
        self._position, self._found = row.position, True
        if self._as_json:
            click.echo(json_text(row_document(row)))
        else:
            self._print(row.chunk)

    def close(self) -> None:
        """Print the lines that have no end, and say where there is nothing to print."""
        for key in [key for key, _ in self._begun]:
            self._end_lines(key)
        if not self._found:
            click.echo(f"note: {self._nothing()}{self._of_children()}", err=True)

    def _print(self, chunk: OutputChunk) -> None:
        name = escaped(attempt_name(chunk))
        if chunk.stream == FULL:
            click.echo(f"… {chunk.text}", nl=False)
            return
        if chunk.offset > self._ends.get(chunk.key, 0):
            _print_line(name, MISSING)
        self._ends[chunk.key] = chunk.until
        if chunk.stream == CUT:
            self._end_lines(chunk.key)
        place = chunk.key, chunk.stream
        mark = "… " if chunk.stream == CUT else ""
        _, begun = self._begun.pop(place, ("", ""))
        *lines, rest = (begun + chunk.text).split("\n")
        for line in lines:
            _print_line(name, f"{mark}{line}")
        if rest:
            self._begun[place] = name, rest

    def _end_lines(self, key: AttemptKey) -> None:
        """Print the lines of an attempt that have no end."""
        for place in [place for place in self._begun if place[0] == key]:
            name, text = self._begun.pop(place)
            _print_line(name, text)

    def _nothing(self) -> str:
        """Why nothing was printed, in words."""
        step, attempt = self._wanted
        if not attempt:
            return "nothing was printed by its tasks" if not step else f"nothing was printed by step `{step}`"
        rows = output_rows(self._runtime, self._execution_id, 0, OutputFilter(step))
        there = sorted({row.chunk.attempt for row in rows})
        known = f"; write --attempt {' or '.join(map(str, there[:5]))}" if there else ""
        return f"nothing was printed by an attempt {attempt}{known}"

    def _of_children(self) -> str:
        """The children that printed something, in words; "" where none did, or one step is asked for."""
        if self._wanted != OutputFilter():
            return ""
        asked = Wanted(parent=self._execution_id, limit=_MOST_CHILDREN)
        rows = self._runtime.store.executions(asked)
        found = [row for row in rows if next(output_rows(self._runtime, row.execution_id, 0, OutputFilter()), None)]
        if not found:
            return ""
        return (
            "; children did: "
            + ", ".join(
                f"`{escaped(row.playbook)}` (noetl logs {escaped(row.execution_id)})" for row in found[:_MOST_NAMED]
            )
            + (", …" if len(found) > _MOST_NAMED else "")
        )


_MOST_CHILDREN, _MOST_NAMED = 20, 3
"""How many children are looked at, and named."""


def _print_line(name: str, line: str) -> None:
    """Print a line of an attempt; tabs as spaces, and without the first half of a Windows line end."""
    click.echo(f"{name} | {escaped(line.removesuffix(chr(13)).expandtabs())}")


COMMAND = logs
