"""dead-letters: what could not be told outside of a store, and a way back."""

from __future__ import annotations

from collections.abc import Callable

import click

from noetl.app.clock import WallClock
from noetl.app.documents import dead_letter_document
from noetl.app.outbox_delivery import drop_dead
from noetl.app.runtime import Runtime
from noetl.cli.acting import record_alone
from noetl.cli.remote import all_pages, ask_server
from noetl.cli.several import done_with_each
from noetl.cli.stores import existing_runtime, is_remote, json_option, runtime_to_change, server_option, store_option
from noetl.cli.text import Problem, escaped, json_text, table
from noetl.ports.outbox import Outbox, Telling, WantedOutbox
from noetl_ir.expr import Json


@click.group("dead-letters", short_help="List what could not be told outside, and try it again.")
def dead_letters() -> None:
    """Look at messages and traces that a server has tried to tell too often, and is trying no more."""


@dead_letters.command("list", short_help="List dead letters, with their reasons.")
@server_option
@store_option
@json_option
def list_(url: str, as_json: bool) -> int:
    """List dead letters, the oldest first, each with its reason."""
    if is_remote(url):
        rows = all_pages(url, "/dead-letters")
    else:
        with existing_runtime(url) as runtime:
            rows = [dead_letter_document(row) for row in _outbox(runtime).outbox_rows(WantedOutbox(dead=True))]
    if as_json:
        click.echo(json_text([*rows]))
    elif rows:
        click.echo(table(("NUMBER", "TO", "ABOUT", "TRIES", "REASON"), map(_cells, rows)))
    else:
        click.echo("no dead letters; what triggers could not start is in `noetl triggers show NAME`", err=True)
    return 0


@dead_letters.command("retry", short_help="Try dead letters again.")
@click.argument("numbers", nargs=-1, required=True, type=click.IntRange(1), metavar="NUMBER...")
@server_option
@store_option
@json_option
def retry(numbers: tuple[int, ...], url: str, as_json: bool) -> int:
    """Have a server try dead letters again, as if they had not failed."""
    if is_remote(url):
        done_with_each(numbers, lambda number: ask_server(url, "POST", f"/dead-letters/{number}/retry"), "tried again")
    else:
        now = WallClock().now()
        _change(url, "dead-letter-retry", numbers, "tried again", lambda outbox, one: outbox.revive_outbox(one, now))
    _tell("tried again", numbers, as_json=as_json)
    return 0


@dead_letters.command("drop", short_help="Forget dead letters.")
@click.argument("numbers", nargs=-1, required=True, type=click.IntRange(1), metavar="NUMBER...")
@server_option
@store_option
@json_option
def drop(numbers: tuple[int, ...], url: str, as_json: bool) -> int:
    """Forget dead letters: nobody is told any more."""
    if is_remote(url):
        done_with_each(numbers, lambda number: ask_server(url, "DELETE", f"/dead-letters/{number}"), "dropped")
    else:
        _change(url, "dead-letter-drop", numbers, "dropped", drop_dead)
    _tell("dropped", numbers, as_json=as_json)
    return 0


def _change(url: str, deed: str, numbers: tuple[int, ...], done: str, change: Callable[[Outbox, int], bool]) -> None:
    """Change dead letters of a store beside us; `change` says whether there was one. Raises Problem."""
    with runtime_to_change(url) as runtime:

        def change_one(number: int) -> None:
            record_alone(runtime.store, deed, str(number))
            if not change(_outbox(runtime), number):
                raise Problem(f"there is no dead letter {number}")

        done_with_each(numbers, change_one, done)


def _outbox(runtime: Runtime) -> Outbox:
    assert isinstance(runtime.store, Telling), "every store that is no server's has an outbox"
    return runtime.store.outbox


def _tell(done: str, numbers: tuple[int, ...], *, as_json: bool) -> None:
    click.echo(json_text([*numbers]) if as_json else f"{done}: {', '.join(map(str, numbers))}")


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    return (
        str(row["number"]), escaped(str(row["topic"])), escaped(str(row["subject"])), str(row["tries"]),
        escaped(str(row["reason"])),
    )  # fmt: skip


COMMAND = dead_letters
