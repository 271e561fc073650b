"""restore: bring executions back from bundles."""

from __future__ import annotations

from pathlib import Path

import click

from noetl.app.bundles import BadBundle, read_bundle
from noetl.cli.acting import by_user
from noetl.cli.stores import json_option, opened_runtime, store_option
from noetl.cli.text import Problem, amount, json_text


@click.command("restore", short_help="Bring executions back from bundles.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, dir_okay=False))
@store_option
@json_option
def restore(files: tuple[str, ...], url: str, as_json: bool) -> int:
    """Put the executions of bundles into the store, as they were: their ids, logs, times, values and output.

    What is there already stays as it is. They are as old as they were: a server that keeps them no longer purges them
    again.
    """
    found, already = list[str](), list[str]()
    with opened_runtime(url) as runtime:
        for name in files:
            try:
                with by_user("restore"):
                    restored = read_bundle(runtime, name)
            except BadBundle as problem:
                raise Problem(f"{Path(name)}: {problem}") from None
            already += restored.already
            found += [each for each in restored.executions if each not in restored.already]
    if as_json:
        click.echo(json_text({"executions": [*found], "already": [*already]}))
        return 0
    there = f"; {amount(len(already), 'execution')} {'was' if len(already) == 1 else 'were'} there already"
    click.echo(f"restored {amount(len(found), 'execution')}{there if already else ''}")
    return 0


COMMAND = restore
