"""signals: the signals that are kept under keys, and who waits under one."""

from __future__ import annotations

import click

from noetl.app.documents import mail_document
from noetl.cli.stores import existing_runtime, json_option, server_option, store_option
from noetl.cli.text import json_text, moment, table
from noetl.ports.mailbox import MailRow, WantedMail
from noetl_ir.correlation import HALF, is_storable

_HEAD = ("KEY", "SIGNAL", "KEPT", "SINCE", "UNTIL", "WAITS")
_NAMED = 3


@click.command("signals", short_help="List signals that are kept under keys, and who waits under one.")
@click.option("--key", default="", help="Only what is under this key.")
@click.option("--prefix", default="", metavar="TEXT", help="Only what is under keys that begin so.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most the first N.")
@server_option
@store_option
@json_option
def signals(key: str, prefix: str, limit: int | None, url: str, as_json: bool) -> int:
    """List by key and name the signals that are kept for a `wait` with that `correlation`, and the waits that are open.

    SINCE is when the oldest was sent, UNTIL when the first of them is kept no longer. What they carry is not shown.
    """
    if not is_storable(key + prefix):
        raise click.UsageError(f"--key and --prefix: the text {HALF}")
    with existing_runtime(url) as runtime:
        rows = runtime.store.mailbox.rows(WantedMail(key, prefix, limit=limit or 0))
    if as_json:
        click.echo(json_text([mail_document(row) for row in rows]))
    elif rows:
        click.echo(table(_HEAD, map(_cells, rows)))
    else:
        click.echo("no signals are kept, and nobody waits under a key", err=True)
    return 0


def _cells(row: MailRow) -> tuple[str, ...]:
    times = [moment(at) if at else "" for at in (row.since, row.until)]
    more = row.waiting - _NAMED
    waits = ", ".join([*row.waits[:_NAMED], *([f"{more} more"] if more > 0 else [])])
    return (row.key, row.name, str(row.kept or ""), *times, waits)


COMMAND = signals
