"""How a run ended, for people and as JSON, and the exit code that says it."""

from __future__ import annotations

from noetl.app.ending import Ending
from noetl.cli.failures import error_lines, failure_text, place_text
from noetl.cli.stores import command_with, path_of
from noetl.cli.text import amount, duration, escaped, json_text
from noetl_cli import lazy_click as click

EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 4, "cancelled": 4, "paused": 5, "interrupted": 5, "running": 5}
_LINES = 40


def tell_ending(ending: Ending, url: str, *, as_json: bool) -> int:
    """Print how it ended; returns the exit code."""
    if as_json:
        click.echo(json_text(ending.as_json()))
    else:
        _tell_people(ending, url)
    return EXIT_CODES[ending.status]


def _tell_people(ending: Ending, url: str) -> None:
    counts = [amount(ending.counts["tasks"], "task")]
    for name, noun in (("retries", "retry"), ("passed_errors", "passed error")):
        if ending.counts[name]:
            counts.append(amount(ending.counts[name], noun))
    after = ""
    if ending.ended is not None and ending.started is not None:
        virtual = " on a virtual clock" if ending.scripted else ""
        after = f" after {duration(ending.ended - ending.started)}{virtual}"
    click.echo(f"{ending.status}: {escaped(ending.playbook)}{after}, {', '.join(counts)}")
    if ending.error is not None:
        click.echo(f"error: {place_text(ending.error)}{failure_text(ending.error)}")
        for line in error_lines(ending):
            click.echo(line)
    if ending.reason:
        click.echo(f"reason: {escaped(ending.reason)}")
    if ending.result is not None:
        click.echo(_result_text(ending, url))
    if ending.unheard:
        names = [f"{escaped(name)}{f', {count} times' if count > 1 else ''}" for name, count in ending.unheard]
        click.echo(f"nothing took {'this signal' if len(names) == 1 else 'these signals'}: {'; '.join(names)}")
    click.echo(f"log: {escaped(path_of(url))}, execution {ending.execution_id}")
    if EXIT_CODES[ending.status] == EXIT_CODES["interrupted"]:
        click.echo(f"resume with: {escaped(command_with(url, 'resume', ending.execution_id))}")


def _result_text(ending: Ending, url: str) -> str:
    """The result on one line where it fits there, else the beginning of its long form."""
    more = escaped(command_with(url, "result", ending.execution_id))
    if ending.outside:
        return f"result: {ending.outside} bytes, stored outside of the log ({more})"
    short = json_text(ending.result)
    if len(short) <= 100:
        return f"result: {short}"
    lines = json_text(ending.result, indent=2).split("\n")
    # One line of a megabyte is as bad for a terminal as a thousand lines.
    shown = [line if len(line) <= 1000 else f"{line[:1000]}…" for line in lines[:_LINES]]
    rest = [f"… {len(lines) - _LINES} more lines ({more})"] if len(lines) > _LINES else []
    return "\n".join(["result:", *shown, *rest])
