"""restore: bring executions back from bundles."""

from __future__ import annotations

import os

import click

from noetl.app.bundles import BadBundle, fetched_bundle, read_bundle
from noetl.cli.acting import by_user
from noetl.cli.several import done_with_each
from noetl.cli.stores import json_option, opened_runtime, store_option
from noetl.cli.text import Problem, amount, escaped, json_text
from noetl.clients.object_storage import is_object


def _bundles(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Files that are there, and URLs of objects. Raises UsageError."""
    for name in names:
        if not is_object(name) and not os.path.isfile(name):
            raise click.UsageError(f"there is no file {escaped(name)}")
    return names


@click.command("restore", short_help="Bring executions back from bundles.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", callback=_bundles)
@store_option
@json_option
def restore(files: tuple[str, ...], url: str, as_json: bool) -> int:
    """Put the executions of bundles into the store, as they were: their ids, logs, times, values and output. A bundle
    may be in object storage: s3://BUCKET/…/ID.noetl.

    What is there already stays as it is. They are as old as they were: a server that keeps them no longer purges them
    again.
    """
    found, already = list[str](), list[str]()
    with opened_runtime(url) as runtime:

        def restore_one(name: str) -> None:
            try:
                with by_user("restore"), fetched_bundle(name) as path:
                    restored = read_bundle(runtime, path)
            except BadBundle as problem:
                raise Problem(f"{name}: {problem}") from None
            already.extend(restored.already)
            found.extend([each for each in restored.executions if each not in restored.already])

        done_with_each(files, restore_one, "restored")
    if as_json:
        click.echo(json_text({"executions": [*found], "already": [*already]}))
        return 0
    there = f"; {amount(len(already), 'execution')} {'was' if len(already) == 1 else 'were'} there already"
    click.echo(f"restored {amount(len(found), 'execution')}{there if already else ''}")
    return 0


COMMAND = restore
