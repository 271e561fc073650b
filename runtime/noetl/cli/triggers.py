"""triggers: start playbooks when something happens."""

from __future__ import annotations

from collections.abc import Iterator

import click

from noetl.app.clock import WallClock
from noetl.app.trigger_book import NoSuchTrigger, TriggerBook
from noetl.cli.remote import UnknownToServer, ask_server
from noetl.cli.standing import StandingDocuments, list_in
from noetl.cli.stores import is_remote, json_option, server_option, store_option
from noetl.cli.text import Problem, amount, escaped, json_text, table
from noetl.server.triggers.document import KIND, trigger_of
from noetl_ir.expr import Json

_KEPT = StandingDocuments(
    KIND, "/triggers", trigger_of, lambda runtime: TriggerBook(runtime, WallClock()), NoSuchTrigger
)


@click.group("triggers", short_help="Start playbooks when something happens.")
def triggers() -> None:
    """Keep triggers, which the servers of a store carry out: a webhook, the end of another playbook, a message.

    What happens is started once, however many servers there are.
    """


@triggers.command("put", short_help="Keep the triggers in files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@server_option
@store_option
@json_option
def put(files: tuple[str, ...], url: str, as_json: bool) -> int:
    """Keep the trigger in each FILE under its name; one of that name is replaced."""
    _tell([_KEPT.put(url, name) for name in files], as_json=as_json)
    return 0


@triggers.command("list", short_help="List triggers, with what they wait for.")
@server_option
@store_option
@json_option
def list_(url: str, as_json: bool) -> int:
    """List the triggers by name, what each waits for, and what hinders it."""
    _tell(_KEPT.rows(url), as_json=as_json)
    return 0


@triggers.command("show", short_help="Show a trigger, and what it could not start.")
@click.argument("name")
@server_option
@store_option
@json_option
def show(name: str, url: str, as_json: bool) -> int:
    """Show a trigger: its document, and the oldest of what it could not start."""
    told = _KEPT.asked(url, name, "GET", "", lambda book: book.document(name))
    if as_json:
        click.echo(json_text(told))
        return 0
    _tell([told], as_json=False)
    for line in _lines(told):
        click.echo(line)
    return 0


def _lines(told: dict[str, Json]) -> Iterator[str]:
    document = told.get("document")
    spec = document.get("spec") if isinstance(document, dict) else None
    yield f"waits for  {escaped(str(told.get('waits_for', '')))}"
    for key, value in spec.items() if isinstance(spec, dict) else ():
        if key != "playbook":
            yield f"{escaped(key)}  {escaped(value) if isinstance(value, str) else json_text(value)}"
    for row in list_in(told, "dead_letters"):
        if isinstance(row, dict):
            yield f"not started  {row.get('number')}  {row.get('at')}  {escaped(str(row.get('reason')))}"


@triggers.command("pause", short_help="Start nothing by a trigger.")
@click.argument("name")
@server_option
@store_option
@json_option
def pause(name: str, url: str, as_json: bool) -> int:
    """Start nothing by a trigger until it is resumed; what runs goes on."""
    _tell([_KEPT.asked(url, name, "POST", "/pause", lambda book: book.pause(name))], as_json=as_json)
    return 0


@triggers.command("resume", short_help="Go on with a trigger.")
@click.argument("name")
@server_option
@store_option
@json_option
def resume(name: str, url: str, as_json: bool) -> int:
    """Go on with what happens from now on. Ends of the pause are passed; messages were kept by their stream."""
    _tell([_KEPT.asked(url, name, "POST", "/resume", lambda book: book.resume(name))], as_json=as_json)
    return 0


@triggers.command("delete", short_help="Keep a trigger no more.")
@click.argument("name")
@server_option
@store_option
@json_option
def delete(name: str, url: str, as_json: bool) -> int:
    """Keep a trigger no more, nor what it could not start. What it has started goes on, and stays."""

    def removed(book: TriggerBook) -> dict[str, Json]:
        book.remove(name)
        return {}

    _KEPT.asked(url, name, "DELETE", "", removed)
    click.echo(json_text({"deleted": name}) if as_json else f"deleted {escaped(name)}")
    return 0


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
    try:
        told = ask_server(url, "POST", f"{_KEPT.path_of(name)}/retry", {"drop": drop})
    except UnknownToServer as problem:
        raise Problem(str(problem)) from None
    rows = [row for row in list_in(told, "letters") if isinstance(row, dict)]
    if as_json:
        click.echo(json_text([*rows]))
    for row in rows if not as_json else ():
        became = row.get("reason") or row.get("execution_id") or ("dropped" if drop else "not wanted")
        click.echo(f"{row.get('number')}  {escaped(str(became))}")
    left = sum(row.get("reason") is not None for row in rows)
    click.echo(f"{amount(len(rows) - left, 'dead letter')} dealt with, {left} left", err=True)
    return 1 if left else 0


def _tell(rows: list[dict[str, Json]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text([*rows]))
    elif rows:
        click.echo(table(("TRIGGER", "WAITS FOR", "LAST EXECUTION", "PLAYBOOK"), map(_cells, rows)))
        for row in rows:
            if row.get("trouble"):
                click.echo(f"{escaped(str(row['name']))}: {escaped(str(row['trouble']))}", err=True)
    else:
        click.echo("no triggers", err=True)


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    waits_for = "paused" if row.get("paused") else str(row.get("waits_for") or "")
    return str(row.get("name")), waits_for, str(row.get("last_execution") or ""), str(row.get("playbook", ""))


COMMAND = triggers
