"""audit: who did what with a store or a server."""

from __future__ import annotations

import time
from urllib.parse import urlencode

import click

from noetl.cli.remote import ask_server
from noetl.cli.stores import existing_runtime, is_remote, json_option, server_option, store_option
from noetl.cli.text import escaped, json_text, moment_in, table
from noetl.ports.actors import ASKED, DONE, REFUSED
from noetl.ports.audit import Audited, NoSuchDeed, WantedAudit, deeds_in
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of


@click.command("audit", short_help="List who did what.")
@click.option("--who", default="", help="Only what this token, or user, did.")
@click.option("--deed", default="", metavar="DEED,…", help="Only these deeds: start, cancel, purge, …")
@click.option("--subject", default="", help="Only what was done to this execution, playbook, schedule, …")
@click.option("--outcome", type=click.Choice((DONE, ASKED, REFUSED)), default=None, help="Only what came to this.")
@click.option("--since", metavar="TIME|AGE", help="Only what is newer: 2026-03-01T00:00:00Z, or 36h.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="At most so many.")
@server_option
@store_option
@json_option
def audit(
    who: str, deed: str, subject: str, outcome: str | None, since: str | None, limit: int, url: str, as_json: bool
) -> int:
    """List who did what, the newest first: starts, requests, purges, what was put and removed, and what was refused."""
    wanted = WantedAudit(who, _deeds(deed), subject, outcome or "", _since(since), limit=limit)
    rows = _from_server(url, wanted) if is_remote(url) else _from_store(url, wanted)
    if as_json:
        click.echo(json_text([*rows]))
    elif rows:
        click.echo(table(("TIME", "WHO", "DEED", "OUTCOME", "SUBJECT"), map(_cells, rows)))
    else:
        click.echo("no deeds", err=True)
    return 0


def _since(text: str | None) -> int:
    """A time, or an age before now, in microseconds since the epoch. Raises UsageError."""
    if text is None:
        return 0
    from noetl.server.schedules.times import BadTimes, time_of

    seconds = seconds_of(text) if text[-1:].isalpha() and text[-1] != "Z" else None
    try:
        return time_of(text) if seconds is None else time.time_ns() // 1000 - round(seconds * 1_000_000)
    except BadTimes as problem:
        raise click.UsageError(f"--since: {problem}; or an age as in 36h") from None


def _deeds(text: str) -> tuple[str, ...]:
    """The deeds of an option. Raises UsageError."""
    try:
        return deeds_in(text)
    except NoSuchDeed as problem:
        raise click.UsageError(f"--deed: {problem}") from None


def _from_store(url: str, wanted: WantedAudit) -> list[dict[str, Json]]:
    from noetl.app.documents import audit_document

    with existing_runtime(url) as runtime:
        store = runtime.store
        return [audit_document(row) for row in store.audit.deeds(wanted)] if isinstance(store, Audited) else []


def _from_server(url: str, wanted: WantedAudit) -> list[dict[str, Json]]:
    filters = {**wanted._asdict(), "deeds": None, "deed": ",".join(wanted.deeds)}
    query: dict[str, str | int] = {name: value for name, value in filters.items() if value}
    if wanted.since:
        query["since"] = iso_of(wanted.since)
    found = ask_server(url, "GET", f"/audit?{urlencode(query)}")["audit"]
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    who = f"{row['who']} ({row['via']})"
    reason = f": {row['reason']}" if row["reason"] else ""
    return (
        moment_in(str(row["at"])),
        escaped(who),
        escaped(str(row["deed"])),
        str(row["outcome"]),
        escaped(f"{row['subject']}{reason}"),
    )


COMMAND = audit
