"""triggers: start playbooks when something happens."""

from __future__ import annotations

from collections.abc import Iterator

import click

from noetl.app.clock import WallClock
from noetl.app.trigger_book import TriggerBook
from noetl.cli.remote import ask_server
from noetl.cli.standing import StandingDocuments, list_in
from noetl.cli.standing_commands import StandingCommands, StandingTable, carried_out, spec_lines
from noetl.cli.stores import is_remote, json_option, server_option, store_option
from noetl.cli.text import amount, escaped, json_text, moment_in
from noetl.server.triggers.document import KIND, trigger_of
from noetl_ir.expr import Json

_KEPT = StandingDocuments(KIND, "/triggers", trigger_of, lambda runtime: TriggerBook(runtime, WallClock()))


@click.group("triggers", short_help="Start playbooks when something happens.")
def triggers() -> None:
    """Keep triggers, which the servers of a store carry out: a webhook, the end of another playbook, a message.

    What happens is started once, however many servers there are.
    """


def _lines(told: dict[str, Json]) -> Iterator[str]:
    yield f"waits for  {escaped(str(told.get('waits_for', '')))}"
    yield from spec_lines(told, without=("playbook",))
    for row in list_in(told, "dead_letters"):
        if isinstance(row, dict):
            at = escaped(moment_in(str(row.get("at"))))
            yield f"not started  {row.get('number')}  {at}  {escaped(str(row.get('reason')))}"


@triggers.command("retry", short_help="Start what a trigger could not start.")
@click.argument("name")
@click.option("--drop", is_flag=True, help="Forget it instead.")
@server_option
@store_option
@json_option
def retry(name: str, drop: bool, url: str, as_json: bool) -> int:
    """Have a server start what a trigger could not start, each once. What still cannot be started stays."""
    if not is_remote(url):
        raise click.UsageError("a server starts it: give --server URL")
    told = ask_server(url, "POST", f"{_KEPT.path_of(name)}/retry", {"drop": drop})
    rows = [row for row in list_in(told, "letters") if isinstance(row, dict)]
    if as_json:
        click.echo(json_text([*rows]))
    for row in rows if not as_json else ():
        became = row.get("reason") or row.get("execution_id") or ("dropped" if drop else "not wanted")
        click.echo(f"{row.get('number')}  {escaped(str(became))}")
    left = sum(row.get("reason") is not None for row in rows)
    click.echo(f"{amount(len(rows) - left, 'dead letter')} dealt with, {left} left", err=True)
    return 1 if left else 0


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    waits_for = "paused" if row.get("paused") else str(row.get("waits_for") or "")
    return str(row.get("name")), waits_for, str(row.get("last_execution") or ""), str(row.get("playbook", ""))


_TEXTS = {
    "put": (
        "Keep the triggers in files.",
        "Keep the trigger in each FILE under its name; one of that name is replaced.",
    ),
    "list": (
        "List triggers, with what they wait for.",
        "List the triggers by name, what each waits for, and what hinders it.",
    ),
    "show": (
        "Show a trigger, and what it could not start.",
        "Show a trigger: its document, and the oldest of what it could not start.",
    ),
    "pause": ("Start nothing by a trigger.", "Start nothing by a trigger until it is resumed; what runs goes on."),
    "resume": (
        "Go on with a trigger.",
        "Go on with what happens from now on. Ends of the pause are passed; messages were kept by their stream.",
    ),
    "delete": (
        "Keep a trigger no more.",
        "Keep a trigger no more, nor what it could not start. What it has started goes on, and stays.",
    ),
}
"""The help of the commands, short and whole."""

_SHOWN = StandingTable(
    "triggers", ("TRIGGER", "WAITS FOR", "LAST EXECUTION", "PLAYBOOK"), _cells, _lines, (1,), carried_out("triggers")
)
StandingCommands(_KEPT, _SHOWN).add_to(triggers, _TEXTS)

COMMAND = triggers
