"""notifications: tell people and programs of ends."""

from __future__ import annotations

import click

from noetl.app.clock import WallClock
from noetl.app.notification_book import NoSuchNotification, NotificationBook
from noetl.cli.standing import StandingDocuments
from noetl.cli.stores import json_option, server_option, store_option
from noetl.cli.text import escaped, json_text, table
from noetl.server.notifications.document import KIND, notification_of
from noetl_ir.expr import Json

_KEPT = StandingDocuments(
    KIND,
    "/notifications",
    notification_of,
    lambda runtime: NotificationBook(runtime, WallClock()),
    NoSuchNotification,
)


@click.group("notifications", short_help="Tell people and programs of ends.")
def notifications() -> None:
    """Keep notifications, which the servers of a store carry out: webhooks, mail, messages in the shape of Slack's.

    Each is told until it was told, however many servers there are.
    """


@notifications.command("put", short_help="Keep the notifications in files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@server_option
@store_option
@json_option
def put(files: tuple[str, ...], url: str, as_json: bool) -> int:
    """Keep the notification in each FILE under its name; one of that name is replaced.

    It is about what ends from now on.
    """
    _tell([_KEPT.put(url, name) for name in files], as_json=as_json)
    return 0


@notifications.command("list", short_help="List notifications, with what hinders them.")
@server_option
@store_option
@json_option
def list_(url: str, as_json: bool) -> int:
    """List the notifications by name, of what they tell, and what hinders them."""
    _tell(_KEPT.rows(url), as_json=as_json)
    return 0


@notifications.command("show", short_help="Show a notification.")
@click.argument("name")
@server_option
@store_option
@json_option
def show(name: str, url: str, as_json: bool) -> int:
    """Show a notification: its document, and the messages that wait."""
    told = _KEPT.asked(url, name, "GET", "", lambda book: book.document(name))
    _tell([told], as_json=as_json)
    if not as_json:
        click.echo(json_text(told.get("document"), indent=2))
    return 0


@notifications.command("pause", short_help="Tell nobody by a notification.")
@click.argument("name")
@server_option
@store_option
@json_option
def pause(name: str, url: str, as_json: bool) -> int:
    """Tell nobody by a notification until it is resumed; what happens meanwhile is passed."""
    _tell([_KEPT.asked(url, name, "POST", "/pause", lambda book: book.pause(name))], as_json=as_json)
    return 0


@notifications.command("resume", short_help="Go on with a notification.")
@click.argument("name")
@server_option
@store_option
@json_option
def resume(name: str, url: str, as_json: bool) -> int:
    """Go on with what happens from now on."""
    _tell([_KEPT.asked(url, name, "POST", "/resume", lambda book: book.resume(name))], as_json=as_json)
    return 0


@notifications.command("test", short_help="Have a message sent that is about nothing.")
@click.argument("name")
@server_option
@store_option
@json_option
def test(name: str, url: str, as_json: bool) -> int:
    """Have a server send a message that is about nothing, to see that it comes through."""
    _tell([_KEPT.asked(url, name, "POST", "/test", lambda book: book.test(name))], as_json=as_json)
    return 0


@notifications.command("delete", short_help="Keep a notification no more.")
@click.argument("name")
@server_option
@store_option
@json_option
def delete(name: str, url: str, as_json: bool) -> int:
    """Keep a notification no more; messages that were not sent are not sent any more."""

    def removed(book: NotificationBook) -> dict[str, Json]:
        book.remove(name)
        return {}

    _KEPT.asked(url, name, "DELETE", "", removed)
    click.echo(json_text({"deleted": name}) if as_json else f"deleted {escaped(name)}")
    return 0


def _tell(rows: list[dict[str, Json]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text([*rows]))
    elif rows:
        click.echo(table(("NOTIFICATION", "ON", "WAITING", "DEAD", "TO"), map(_cells, rows)))
        for row in rows:
            if row.get("trouble"):
                click.echo(f"{escaped(str(row['name']))}: {escaped(str(row['trouble']))}", err=True)
    else:
        click.echo("no notifications", err=True)


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    events = row.get("on")
    on = "paused" if row.get("paused") else " ".join(map(str, events)) if isinstance(events, list) else ""
    return str(row["name"]), on, str(row.get("waiting", 0)), str(row.get("dead", 0)), str(row.get("to", ""))


COMMAND = notifications
