"""worker: run tasks for servers on a bus."""

from __future__ import annotations

import os

import click

from noetl.app.runtime import DEFAULT_SLOTS, DEFAULT_STORE, Settings, secrets_path_of
from noetl.bus import BusFailure
from noetl.cli.stores import SERVER_VARIABLE
from noetl.cli.text import Problem, escaped
from noetl.egress import BadNetwork, Egress, networks_of
from noetl.ports import Call, StoreFailure


@click.command("worker", short_help="Run tasks for servers on a bus.")
@click.option("--bus", "bus_url", required=True, metavar="URL", envvar="NOETL_BUS", help="nats://HOST:PORT.")
@click.option("--server", metavar="URL", envvar=SERVER_VARIABLE, default="", help="Its API; else as announced.")
@click.option("--pool", default="default", show_default=True, metavar="NAME", help="Whose tasks it takes.")
@click.option("--slots", type=click.IntRange(1), default=DEFAULT_SLOTS, show_default=True, help="Tasks at once.")
@click.option("--name", default="", metavar="NAME", help="What it is called; made up by default, and unique.")
@click.option("--allow-address", "allowed", multiple=True, metavar="NETWORK", help="Let the http tool reach it.")
def worker(bus_url: str, server: str, pool: str, slots: int, name: str, allowed: tuple[str, ...]) -> int:
    """Run the tasks of a pool for the servers of a bus.

    Plans and large values go over the API of a server, with the token in NOETL_TOKEN (role `worker`); credentials are
    those of the folder where it is started. It has no port and no database. The first SIGINT or SIGTERM lets what is at
    work finish, the second one ends it at once. The http tool reaches public addresses only, as with `noetl server`.
    """
    from noetl.app.working import Place, new_name, work

    if server and not server.startswith(("http://", "https://")):
        raise click.UsageError(f"--server (or {SERVER_VARIABLE}) is `{escaped(server)}`: write it as http://HOST:PORT")
    try:
        fence = Egress(networks_of(allowed)).refusal
    except BadNetwork as problem:
        raise click.UsageError(f"--allow-address {problem}") from None
    secrets_path = secrets_path_of(os.environ.get("NOETL_STORE", DEFAULT_STORE))
    place = Place(bus_url, server.rstrip("/"), pool, name or new_name(), secrets_path)
    try:
        work(place, Settings(slots=slots, log=_log, fence=fence), _ready, _say)
    except (BusFailure, StoreFailure) as problem:
        raise Problem(str(problem)) from None
    except ImportError as missing:
        raise Problem(f"a worker needs the extra: pip install 'noetlc[cluster]' ({missing})") from None
    return 0


def _ready(name: str) -> None:
    click.echo(f"working as {escaped(name)}", err=True)


def _say(text: str) -> None:
    click.echo(escaped(text), err=True)


def _log(call: Call, text: str) -> None:
    click.echo(escaped(f"{call.execution_id} {call.step} / {call.task}: {text}"), err=True)


COMMAND = worker
