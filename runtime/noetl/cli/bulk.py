"""Requests to all executions that fit a query: which these are, what becomes of each, and a summary."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from noetl.cli.queries import condition_in, query_option
from noetl.cli.stores import is_remote, runtime_to_change
from noetl.cli.text import Problem, amount, escaped, json_text, table
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.app.runtime import Runtime
    from noetl.ports import ExecutionRow
    from noetl_ir.expr import Json

_AT_ONCE = 50
"""How many a server is asked about by one request: after each the progress is shown."""

_SHOWN = 50


class BulkOptions(NamedTuple):
    """The executions that somebody means by a query, None for one that is named; at most `limit` of them."""

    query: str | None
    limit: int | None
    dry_run: bool

    def check(self, execution: str | None, *, tries_one: bool = False) -> bool:
        """Whether many are meant; `tries_one`: --dry-run is for one, too. Raises UsageError unless it is either one or
        many.
        """
        if (execution is None) == (self.query is None):
            raise click.UsageError("give either the ID of an execution or --query")
        if self.query is not None and not self.query.strip():
            raise click.UsageError("--query is empty, and would mean all: write `is:open` or `is:over` for that")
        if self.query is None and self.limit is not None:
            raise click.UsageError("--limit goes with --query")
        if self.query is None and self.dry_run and not tries_one:
            raise click.UsageError("--dry-run goes with --query")
        return self.query is not None


class BulkOutcome(NamedTuple):
    """The outcome of one execution: `refused`, and why, else done, with the execution that was `made`."""

    row: ExecutionRow
    refused: str = ""
    made: str = ""


Act = Callable[["Runtime", "ExecutionRow"], str]
"""Does it to an execution of a store beside us; the id of what came of it, if anything does. Raises Problem."""


def bulk_options(function: Callable[..., int]) -> Callable[..., int]:
    """Options that a command gets as one argument, `many`."""

    @wraps(function)
    def command(**values: Any) -> int:
        return function(many=BulkOptions(values.pop("query"), values.pop("limit"), values.pop("dry_run")), **values)

    for option in (
        click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
        click.option("--limit", type=click.IntRange(1), metavar="N", help="With --query: at most the N newest."),
        query_option,
    ):
        option(command)
    return command


def ask_many(url: str, verb: str, many: BulkOptions, body: dict[str, Json], act: Act, *, as_json: bool) -> int:
    """Ask the same of all that fit; returns the exit code, 1 where some refused. A server is asked with `body`."""
    from noetl.app.bulk import condition_to_ask
    from noetl.ports import Wanted

    wanted = Wanted(query=condition_to_ask(verb, condition_in(many.query)))
    with runtime_to_change(url) as runtime:
        # Taken once: what starts meanwhile is not meant, and what is done changes what fits.
        rows = runtime.store.executions(wanted._replace(limit=many.limit or 0))
        left = sum(count for _, count in runtime.store.tally(wanted, "status")) - len(rows) if many.limit else 0
        found = list[BulkOutcome]()
        try:
            for at in range(0, len(rows), _AT_ONCE):
                some = rows[at : at + _AT_ONCE]
                if is_remote(url):
                    found += _asked_server(url, verb, {**body, "dry_run": many.dry_run}, some)
                else:
                    found += [_acted(runtime, verb, row, act, dry_run=many.dry_run) for row in some]
                _show_progress(len(found), len(rows))
        except (KeyboardInterrupt, Problem):
            click.echo(f"stopped after {amount(len(found), 'execution')} of {len(rows):,}", err=True)
            raise
    _tell(verb, many, found, max(left, 0), as_json=as_json)
    return 1 if any(one.refused for one in found) else 0


def _acted(runtime: Runtime, verb: str, row: ExecutionRow, act: Act, *, dry_run: bool) -> BulkOutcome:
    from noetl.app.bulk import hindrance

    if why := hindrance(runtime.store, verb, row):
        return BulkOutcome(row, why)
    try:
        return BulkOutcome(row, made=act(runtime, row) if not dry_run or verb in ("rerun", "signal") else "")
    except Problem as problem:
        return BulkOutcome(row, problem.message)


def _asked_server(url: str, verb: str, body: dict[str, Json], rows: tuple[ExecutionRow, ...]) -> list[BulkOutcome]:
    from noetl.cli.remote import ask_server

    by_name = {row.execution_id: row for row in rows}
    said = ask_server(url, "POST", f"/executions/{verb}", {**body, "ids": [*by_name]}).get("executions")
    found = list[BulkOutcome]()
    for each in said if isinstance(said, list) else ():
        if isinstance(each, dict) and (row := by_name.get(str(each.get("execution_id")))) is not None:
            why = str(each.get("why")) if each.get("outcome") == "refused" else ""
            found.append(BulkOutcome(row, why, str(each.get("rerun", ""))))
    if len(found) != len(rows):
        raise Problem(f"{url} does not answer as a noetl server does")
    return found


def _show_progress(done: int, count: int) -> None:
    """How far it is, over the line before, where a person looks on."""
    if sys.stderr.isatty() and count > _AT_ONCE:
        click.echo(f"\r{done:,} of {count:,}{'' if done < count else chr(10)}", err=True, nl=False)


_DONE = {
    "cancel": "asked to cancel", "pause": "asked to pause", "resume": "asked to resume", "signal": "signalled",
    "rerun": "rerun",
}  # fmt: skip
"""Nobody waits here until an execution has heard it, so it is not said that it has."""


def _tell(verb: str, many: BulkOptions, found: list[BulkOutcome], left: int, *, as_json: bool) -> None:
    good, refused = [one for one in found if not one.refused], [one for one in found if one.refused]
    if as_json:
        documents: list[Json] = [
            {
                "execution_id": one.row.execution_id, "playbook": one.row.playbook, "status": one.row.status,
                "outcome": "refused" if one.refused else "fits" if many.dry_run else "asked",
                **({"why": one.refused} if one.refused else {}), **({"rerun": one.made} if one.made else {}),
            }
            for one in found
        ]  # fmt: skip
        click.echo(json_text({"executions": documents, "left": left}))
        return
    if many.dry_run and good:
        cells = ((one.row.execution_id, one.row.status, escaped(one.row.playbook)) for one in good[:_SHOWN])
        click.echo(table(("EXECUTION", "STATUS", "PLAYBOOK"), cells))
        if good[_SHOWN:]:
            click.echo(f"… and {len(good) - _SHOWN:,} more")
    for one in good if verb == "rerun" and not many.dry_run else ():
        click.echo(f"{one.row.execution_id}: {one.made}")
    for why, names in _by_reason(refused).items():
        shown = ", ".join(names[:3]) + (f", … ({len(names):,})" if names[3:] else "")
        click.echo(f"not {_DONE[verb]}: {shown}: {escaped(why)}", err=True)
    would = "would be " if many.dry_run else ""
    parts = [f"{would}{_DONE[verb]}: {amount(len(good), 'execution')}"]
    parts += [f"{len(refused):,} not"] if refused else []
    parts += [f"{left:,} more fit, and were left (--limit)"] if left else []
    click.echo("; ".join(parts))


def _by_reason(refused: list[BulkOutcome]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in refused:
        found.setdefault(one.refused, []).append(one.row.execution_id)
    return found
