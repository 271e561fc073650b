"""schedules: start playbooks at times of a calendar."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import click

from noetl.app.clock import WallClock
from noetl.app.schedule_book import ScheduleBook
from noetl.cli.remote import ask_server
from noetl.cli.standing import StandingDocuments, list_in
from noetl.cli.standing_commands import StandingCommands, StandingTable, carried_out, spec_lines
from noetl.cli.stores import is_remote, json_option, server_option, store_option
from noetl.cli.text import Problem, amount, escaped, json_text, moment, zoned_moment
from noetl.server.schedules.document import KIND, schedule_of
from noetl.server.schedules.times import BadTimes, check_calendar, time_of
from noetl_ir.expr import Json

_KEPT = StandingDocuments(KIND, "/schedules", schedule_of, lambda runtime: ScheduleBook(runtime, WallClock()))


@click.group("schedules", short_help="Start playbooks at times of a calendar.")
def schedules() -> None:
    """Keep schedules, which the servers of a store carry out.

    Each time is started once, however many servers there are.
    """
    try:
        check_calendar()
    except ImportError as missing:
        raise Problem(f"schedules need the extra: pip install 'noetlc[server]' ({missing})") from None


def _lines(told: dict[str, Json]) -> Iterator[str]:
    """A schedule in words: what its document says, the times that come, and those that were."""
    yield f"times  {escaped(str(told.get('times', '')))}"
    yield from spec_lines(told, without=_IN_WORDS)
    for time in list_in(told, "next"):
        yield f"next  {escaped(zoned_moment(str(time)))}"
    for row in list_in(told, "last"):
        if isinstance(row, dict):
            yield f"last  {escaped(zoned_moment(str(row.get('time'))))}  {row.get('execution_id') or _why_not(row)}"


def _why_not(row: dict[str, Json]) -> str:
    """Why a time was not started."""
    match row.get("why"):
        case "paused":
            return "not started: the schedule was paused"
        case "skipped":
            return f"skipped: {escaped(str(row.get('running') or 'the one before'))} was running"
        case "missed":
            return "missed: no server was there"
        case "quota":
            return "refused: its namespace had no place for too long"
        case "refused":
            return "refused: it could not be started for too long"
    return "not started"


_IN_WORDS = ("playbook", "timezone", "from", "until")
"""What of a document stands in the table and in the words about its times."""


@schedules.command("start", short_help="Start what a schedule starts, now.")
@click.argument("name")
@server_option
@store_option
@json_option
def start(name: str, url: str, as_json: bool) -> int:
    """Have a server start what a schedule starts, with now as its time, whatever runs.

    The times of the schedule stay as they are.
    """
    if not is_remote(url):
        raise click.UsageError("a server starts it: give --server URL")
    told = ask_server(url, "POST", f"{_KEPT.path_of(name)}/start", key=str(uuid4()))
    click.echo(json_text(told) if as_json else str(told.get("execution_id")))
    return 0


@schedules.command("backfill", short_help="Start times that were missed or skipped.")
@click.argument("name")
@click.option("--from", "since", required=True, metavar="TIME", help="The first time: 2026-03-01T00:00:00Z.")
@click.option("--until", required=True, metavar="TIME", help="The time before which the last one is.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="At most so many.")
@click.option("--dry-run", is_flag=True, help="Say which, and start nothing.")
@server_option
@store_option
@json_option
def backfill(name: str, since: str, until: str, limit: int, dry_run: bool, url: str, as_json: bool) -> int:
    """Have a server start the times of a range that have passed, with the time as their input. Each is started once:
    one that had its start is told with that execution.

    Exit code 5: some could not be started now, as a quota has no place for them; ask again later.
    """
    if not is_remote(url):
        raise click.UsageError("a server starts them: give --server URL")
    body: dict[str, Json] = {"since": since, "until": until, "limit": limit, "dry_run": dry_run}
    told = ask_server(url, "POST", f"{_KEPT.path_of(name)}/backfill", body)
    if as_json:
        click.echo(json_text(told))
        return 0
    starts = list_in(told, "starts")
    for row in starts:
        if isinstance(row, dict):
            was = "" if row.get("fresh", row.get("execution_id") is None) else "  was started before"
            click.echo(
                f"{escaped(zoned_moment(str(row.get('time'))))}  {row.get('execution_id') or 'would be started'}{was}"
            )
    click.echo(amount(len(starts), "time"), err=not starts)
    if refused := told.get("refused"):
        since = escaped(str(told.get("left_out")))
        click.echo(f"those from {since} on were not started: {escaped(str(refused))}", err=True)
        return 5
    if rest := told.get("left_out"):
        click.echo(f"--limit {limit} leaves out those from {escaped(str(rest))} on", err=True)
    if coming := told.get("coming"):
        click.echo(f"those from {escaped(str(coming))} on are still to come: the schedule starts them", err=True)
    return 0


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    return str(row.get("name")), _due(row), str(row.get("last_execution") or ""), str(row.get("playbook", ""))


def _due(row: dict[str, Json]) -> str:
    # In UTC, as all times of lists: schedules have zones of their own.
    due = row.get("due")
    try:
        return "paused" if row.get("paused") else moment(time_of(str(due))) if due else "never again"
    except BadTimes:  # a server of another version may say it otherwise
        return str(due)


_TEXTS = {
    "put": (
        "Keep the schedules in files.",
        "Keep the schedule in each FILE under its name; one of that name is replaced.\n\n"
        "A schedule begins with the next time that comes, also where its times are changed.",
    ),
    "list": (
        "List schedules, with their next times.",
        "List the schedules by name, when each is due, and what hinders it.",
    ),
    "show": (
        "Show a schedule: its next times, and its last ones.",
        "Show a schedule: the times that come, and what became of the last ones.",
    ),
    "pause": ("Start nothing by a schedule.", "Start nothing by a schedule until it is resumed; what runs goes on."),
    "resume": (
        "Go on with a schedule.",
        "Go on with the next time of a schedule. Those of the pause are passed; `backfill` starts them.",
    ),
    "delete": ("Keep a schedule no more.", "Keep a schedule no more. What it has started goes on, and stays."),
}
"""The help of the commands, short and whole."""

_SHOWN = StandingTable(
    "schedules", ("SCHEDULE", "DUE", "LAST EXECUTION", "PLAYBOOK"), _cells, _lines, way_on=carried_out("schedules")
)
StandingCommands(_KEPT, _SHOWN).add_to(schedules, _TEXTS)

COMMAND = schedules
