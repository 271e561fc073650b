"""purge: remove executions that are over from a store, with all that is kept of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noetl.app.bundles import Archive
from noetl.app.clock import WallClock
from noetl.app.retention import ANY, OVER, KeptFamily, PurgeCount, Purger, RetentionRule, age_of, no_root
from noetl.cli.acting import by_user
from noetl.cli.remote import ask_server
from noetl.cli.stores import is_remote, json_option, row_of, runtime_to_change, server_option, store_option
from noetl.cli.text import Problem, amount, duration, escaped, json_text, moment, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noetl.app.runtime import Runtime
    from noetl.ports import ExecutionRow
    from noetl_ir.expr import Json

_SHOWN = 50
_AT_ONCE = 200
"""How many a server is asked to purge by one request."""


def _checked_age(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """An age as it was written. Raises UsageError."""
    if text is not None and age_of(text) is None:
        raise click.UsageError(f"--older-than {escaped(text)}: write a duration as in 30d, 36h or 90m")
    return text


@click.command("purge", short_help="Remove executions that are over.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--status", type=click.Choice(OVER), help="Those that ended so.")
@click.option("--older-than", metavar="AGE", callback=_checked_age, help="Those over for so long: 30d, 36h, 90m.")
@click.option("--playbook", metavar="PATTERN", help="Those of playbooks whose path fits: 'etl/*'.")
@click.option("--archive", "folder", metavar="FOLDER|URL", help="Keep each in a bundle there, ID.noetl.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@server_option
@store_option
@json_option
def purge(
    ids: tuple[str, ...],
    status: str | None,
    older_than: str | None,
    playbook: str | None,
    folder: str | None,
    dry_run: bool,
    url: str,
    as_json: bool,
) -> int:
    """Remove executions that are over from the store: logs, requests, values and output, and all that they called.

    Name them by ID, or say which with --status, --older-than and --playbook. What is not over stays, and so does a
    child without its caller. A server does the same by itself with --retain.
    """
    filters = {"status": status, "older_than": older_than, "playbook": playbook}
    if bool(ids) == any(value is not None for value in filters.values()):
        raise click.UsageError("name executions by ID, or say which with --status, --older-than or --playbook")
    if is_remote(url) and folder is not None:
        raise click.UsageError("a server keeps bundles by itself: start it with --archive")
    with runtime_to_change(url) as runtime:
        purger = Purger(runtime) if folder is None else Purger(runtime, Archive(runtime, folder))
        roots: list[ExecutionRow] | Iterator[ExecutionRow]
        if ids:
            roots = [*dict.fromkeys(root_named(runtime, each) for each in ids)]
        else:
            rule = RetentionRule(playbook or "*", status or ANY, age_of(older_than or "0") or 0)
            roots = purger.expired([rule], WallClock().now())
        if dry_run:
            _tell_plan([purger.family(row) for row in roots], as_json=as_json)
            return 0
        if is_remote(url):
            done = _purged_by(url, {**filters, "executions": [row.execution_id for row in roots] if ids else []})
        else:
            with by_user():
                done = purger.purge(roots)
    _tell_done(done, as_json=as_json)
    return 1 if done.kept else 0


def _purged_by(url: str, wanted: dict[str, Json]) -> PurgeCount:
    """Have a server purge, some at a time."""
    body: dict[str, Json] = {name: value for name, value in {**wanted, "limit": _AT_ONCE}.items() if value}
    done = PurgeCount()
    while True:
        said = ask_server(url, "POST", "/purge", body)
        count, size, kept = said.get("executions"), said.get("bytes"), said.get("kept")
        if not isinstance(count, int) or not isinstance(size, int) or not isinstance(kept, list):
            raise Problem(f"{url} does not answer as a noetl server does")
        why = [KeptFamily(str(each["execution_id"]), str(each["why"])) for each in kept if isinstance(each, dict)]
        done = PurgeCount(done.families, done.executions + count, done.size + size, (*done.kept, *why))
        if said.get("more") is not True or not (count or why):
            return done
        # What could not go is found again by the next request, unless that begins behind it.
        if isinstance(behind := said.get("next"), str):
            body["before"] = behind
        elif not count:
            return done


def root_named(runtime: Runtime, text: str, verb: str = "purge") -> ExecutionRow:
    """The execution that is named, which nobody called and which is over. Raises Problem."""
    row = row_of(runtime, text)
    if why := no_root(row, verb):
        raise Problem(why if row.ended is not None else f"{why}; `noetl cancel` ends it")
    return row


def _tell_plan(families: Sequence[Sequence[ExecutionRow]], *, as_json: bool) -> None:
    count = sum(map(len, families))
    if as_json:
        click.echo(json_text({"would_purge": [[row.execution_id for row in family] for family in families]}))
        return
    now = WallClock().now()
    if families:
        head = ("EXECUTION", "STATUS", "OVER FOR", "ENDED", "WITH", "PLAYBOOK")
        click.echo(table(head, (_cells(family, now) for family in families[:_SHOWN])))
    if len(families) > _SHOWN:
        click.echo(f"… and {len(families) - _SHOWN:,} more")
    click.echo(f"would remove {amount(count, 'execution')}", err=not families)


def _cells(family: Sequence[ExecutionRow], now: int) -> tuple[str, ...]:
    row, ended = family[0], family[0].ended or 0
    called = amount(len(family) - 1, "called one") if family[1:] else ""
    return row.execution_id, row.status, duration(now - ended), moment(ended), called, escaped(row.playbook)


def _tell_done(done: PurgeCount, *, as_json: bool) -> None:
    if as_json:
        kept: list[Json] = [{"execution_id": each.execution_id, "why": each.why} for each in done.kept]
        click.echo(json_text({"executions": done.executions, "bytes": done.size, "kept": kept}))
        return
    for each in done.kept:
        click.echo(f"kept {each.execution_id}: {escaped(each.why)}", err=True)
    click.echo(f"removed {amount(done.executions, 'execution')}, {amount(done.size, 'byte')} of values and output")


COMMAND = purge
