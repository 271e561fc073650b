"""register: give a playbook or plan to a server's catalogue."""

from __future__ import annotations

from pathlib import Path

import click

from noetl.cli.inputs import plan_bytes
from noetl.cli.remote import connected, register_at
from noetl.cli.stores import json_option, path_option
from noetl.cli.text import escaped, json_text


@click.command("register", short_help="Give a playbook to a server's catalogue.")
@click.argument("source", metavar="PLAN|PLAYBOOK")
@path_option
@connected
@json_option
def register(source: str, folders: tuple[Path, ...], server: str, as_json: bool) -> int:
    """Give a plan, or a playbook that is compiled here, to a server; - is standard input.

    It becomes the newest version of its path, unless it is that already.
    """
    plan = plan_bytes(source, folders, quiet=False, undone="nothing was registered")
    row = register_at(server, plan.data, plan.sources)
    if as_json:
        click.echo(json_text(row))
    else:
        click.echo(f"registered: {escaped(str(row['path']))}@{row['version']}, plan {row['playbook_id']}")
    return 0


COMMAND = register
