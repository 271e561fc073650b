"""start: have a server run a playbook."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import click

from noetl.cli.following import follow_to_its_end
from noetl.cli.inputs import IsText, label_option, payload_of, plan_bytes, strict_option, with_sets
from noetl.cli.remote import UnknownToServer, ask_server, connected, keep_at, plan_from, register_at
from noetl.cli.stores import command_with, json_option, path_option
from noetl.cli.text import Problem, escaped, json_text, warn
from noetl.cli.tracing import received_here
from noetl_cli import STANDARD_INPUT
from noetl_ir.expr import Json


@click.command("start", short_help="Have a server run a playbook.")
@click.argument("what", metavar="PATH[@VERSION]|FILE")
@path_option
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set one value: a.b=v.")
@click.option("--payload", metavar="JSON|@FILE", help="Values that replace those of the workload.")
@strict_option
@label_option
@click.option("--key", metavar="KEY", help="Start once: all starts with this key are one execution.")
@click.option("--follow", is_flag=True, help="Tell what happens, and how it ended.")
@connected
@json_option
def start(
    what: str,
    folders: tuple[Path, ...],
    sets: tuple[str, ...],
    payload: str | None,
    strict_inputs: bool,
    labels: dict[str, str],
    key: str | None,
    follow: bool,
    server: str,
    as_json: bool,
) -> int:
    """Start an execution on a server: of a playbook of its catalogue, or of a file, which is registered first.

    It returns once the execution is on the server's disk. A request whose answer is lost is made again, and starts one
    execution all the same. With --key that holds for other calls of the command too: the second one names the execution
    of the first, and is refused where it asks for another playbook or payload.

    Exit code 5: a quota of its namespace has no place for it now.

    Exit codes with --follow: 0 completed, 1 failed, 4 blocked or cancelled, 5 when the server went away and none came
    back at its address.
    """
    base = payload_of(payload)
    with_sets(base, sets)  # what is no assignment is told before anything is asked
    named = named_plan(what, folders, server, registers=True)
    try:
        body = {**named, "payload": with_sets(base, sets, texts_at(server, named) if sets else None)}
        if strict_inputs:
            body["strict_inputs"] = True
        if labels:
            body["labels"] = dict(labels)
        if (received := received_here()) is not None:
            body.update(received)
        # Each call has a key, so that an answer that is lost on the way can be asked for again without a second
        # start.
        response = ask_server(server, "POST", "/executions", body, key=key or str(uuid4()))
    except UnknownToServer as problem:
        raise Problem(f"{_as_file(what)}{problem.message}") from None
    execution_id, warnings = str(response.get("execution_id")), response.get("warnings")
    warn(map(str, warnings) if isinstance(warnings, list) else ())
    if follow:
        click.echo(f"{execution_id}: started", err=True)
        return _followed(server, execution_id, as_json=as_json)
    if as_json:
        click.echo(json_text({"execution_id": execution_id}))
    else:
        click.echo(f"started: execution {execution_id}")
        click.echo(f"see how it stands: {escaped(command_with(server, 'status', execution_id))}")
    return 0


def _followed(server: str, execution_id: str, *, as_json: bool) -> int:
    try:
        return follow_to_its_end(server, execution_id, as_json=as_json)
    except KeyboardInterrupt:
        again = command_with(server, "events", execution_id, "--follow")
        click.echo(f"the execution goes on; follow it again with: {escaped(again)}", err=True)
        raise


def named_plan(what: str, folders: tuple[Path, ...], server: str, *, registers: bool) -> dict[str, Json]:
    """Which plan is meant: a file that is there, else a path of the catalogue. A file is registered where `registers`
    says so, else the server keeps its plan as no version of its path.
    """
    # A file that is there comes first: whoever has one before them means it, and a path of the catalogue seldom looks
    # like one.
    if what == STANDARD_INPUT or os.path.isfile(what):
        plan = plan_bytes(what, folders, quiet=False, undone="nothing was started" if registers else "nothing was done")
        if registers:
            return {"playbook_id": register_at(server, plan.data, plan.sources)["playbook_id"]}
        return {"playbook_id": keep_at(server, plan.data, plan.sources)}
    path, at, version = what.rpartition("@")
    if not at:
        return {"path": what}
    if not (version.isascii() and version.isdigit()):
        raise Problem(f"`{what}`: there is no such file, and the version of a path is a number, as in {path or what}@2")
    return {"path": path, "version": int(version)}


def texts_at(server: str, named: dict[str, Json]) -> IsText:
    """The inputs of a playbook of a server that are declared to be text."""
    from noetl.engine.inputs import texts_of
    from noetl_ir.plan_format import PlanError, open_plan

    data = plan_from(server, named)
    if not data:  # the server says so itself when it is asked for a start
        return lambda path: False
    try:
        return texts_of(open_plan(data))
    except PlanError as problem:
        raise Problem(f"nothing was started: the server's plan cannot be read: {problem}") from None


def _as_file(what: str) -> str:
    """The message about a name that no catalogue knows, and that may have been meant as a file."""
    if os.path.isdir(what):
        return f"`{what}` is a folder; "
    is_like_one = what.startswith((".", "/")) or "." in os.path.basename(what)
    return f"there is no file `{what}`; " if is_like_one else ""


COMMAND = start
