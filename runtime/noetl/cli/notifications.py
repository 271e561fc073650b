"""notifications: tell people and programs of ends."""

from __future__ import annotations

import click

from noetl.app.clock import WallClock
from noetl.app.notification_book import NotificationBook
from noetl.cli.standing import StandingDocuments
from noetl.cli.standing_commands import StandingCommands, StandingTable, carried_out
from noetl.cli.stores import json_option, server_option, store_option
from noetl.cli.text import escaped, json_text, moment_in
from noetl.server.notifications.document import KIND, notification_of
from noetl_ir.expr import Json

_KEPT = StandingDocuments(
    KIND,
    "/notifications",
    notification_of,
    lambda runtime: NotificationBook(runtime, WallClock()),
)


@click.group("notifications", short_help="Tell people and programs of ends.")
def notifications() -> None:
    """Keep notifications, which the servers of a store carry out: webhooks, mail, messages in the shape of Slack's.

    Each is told until it was told, however many servers there are.
    """


@notifications.command("test", short_help="Have a message sent that is about nothing.")
@click.argument("name")
@server_option
@store_option
@json_option
def test(name: str, url: str, as_json: bool) -> int:
    """Have a server send a message that is about nothing, to see that it comes through."""
    told = _KEPT.asked(url, name, "POST", "/test", lambda book: book.test(name), deed="notification-test")
    _SHOWN.tell([told], as_json=as_json)
    if not as_json:
        if told.get("paused"):
            way_on = f"it waits while the notification is paused: `noetl notifications resume {name}`"
        else:
            way_on = f"a server sends it; `noetl notifications show {name}` says when, or what hinders it"
        click.echo(f"{escaped(name)}: the test message is put, not sent yet: {escaped(way_on)}", err=True)
    return 0


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    events = row.get("on")
    on = "paused" if row.get("paused") else " ".join(map(str, events)) if isinstance(events, list) else ""
    told = moment_in(str(row["last_told"])) if row.get("last_told") else ""
    return str(row["name"]), on, str(row.get("waiting", 0)), str(row.get("dead", 0)), told, str(row.get("to", ""))


def _lines(told: dict[str, Json]) -> tuple[str, ...]:
    return (json_text(told.get("document"), indent=2),)


_TEXTS = {
    "put": (
        "Keep the notifications in files.",
        "Keep the notification in each FILE under its name; one of that name is replaced.\n\n"
        "It is about what ends from now on.",
    ),
    "list": (
        "List notifications, with what hinders them.",
        "List the notifications by name, of what they tell, and what hinders them.",
    ),
    "show": ("Show a notification.", "Show a notification: its document, and the messages that wait."),
    "pause": (
        "Tell nobody by a notification.",
        "Tell nobody by a notification until it is resumed; what happens meanwhile is passed.",
    ),
    "resume": ("Go on with a notification.", "Go on with what happens from now on."),
    "delete": (
        "Keep a notification no more.",
        "Keep a notification no more; messages that were not sent are not sent any more.",
    ),
}
"""The help of the commands, short and whole."""

_SHOWN = StandingTable(
    "notifications",
    ("NOTIFICATION", "ON", "WAITING", "DEAD", "TOLD LAST", "TO"),
    _cells,
    _lines,
    (1,),
    carried_out("notifications"),
)
StandingCommands(_KEPT, _SHOWN).add_to(notifications, _TEXTS)

COMMAND = notifications
