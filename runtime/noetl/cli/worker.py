"""worker: run tasks for servers on a bus."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from noetl.app.adapters import DEFAULT_STORE, protect_files, secrets_path_of
from noetl.app.runtime import DEFAULT_SLOTS, Settings
from noetl.bus import BusFailure
from noetl.cli.daemons import fence_option, log, log_options, requirements_option, say
from noetl.cli.settings_file import settings_option
from noetl.cli.stores import SERVER_VARIABLE, narrow_rights, server_url
from noetl.cli.text import Problem, escaped
from noetl.cli.tracing import tracing_here
from noetl.host.log_lines import log_line
from noetl.ports import Fence, StoreFailure

if TYPE_CHECKING:
    from noetl.app.worker_metrics import WorkerMeasures


def _metrics_at(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, int] | None:
    """The host and port of an address. Raises UsageError."""
    if text is None:
        return None
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.UsageError(f"--metrics is `{escaped(text)}`: write it as HOST:PORT, as in 127.0.0.1:9102")
    return host.strip("[]"), int(port)


@click.command("worker", short_help="Run tasks for servers on a bus.")
@settings_option
@click.option("--bus", "bus_url", required=True, metavar="URL", envvar="NOETL_BUS", help="nats://HOST:PORT.")
@click.option(
    "--server", "servers", metavar="URL", envvar=SERVER_VARIABLE, multiple=True,
    help="The API of a server; of each, where there are more.",
)  # fmt: skip
@click.option("--pool", default="default", show_default=True, metavar="NAME", help="Whose tasks it takes.")
@click.option("--slots", type=click.IntRange(1), default=DEFAULT_SLOTS, show_default=True, help="Tasks at once.")
@click.option("--name", default="", metavar="NAME", help="What it is called; made up by default, and unique.")
@click.option("--metrics", callback=_metrics_at, metavar="HOST:PORT", help="Answer /metrics there, for Prometheus.")
@click.option("--check-config", is_flag=True, help="Say whether it could work so, and begin nothing.")
@fence_option
@log_options
@requirements_option
def worker(
    bus_url: str,
    servers: tuple[str, ...],
    pool: str,
    slots: int,
    name: str,
    metrics: tuple[str, int] | None,
    check_config: bool,
    fence: Fence,
    requirements: bool,
) -> int:
    """Run the tasks of a pool for the servers of a bus.

    Plans and large values go over the API of a server, with the token in NOETL_TOKEN (role `worker`): the first that
    answers of those named by --server. Without a token those of this machine are found on the bus. Credentials are
    those of the folder where it is started. It has no port and no database. The first SIGINT or SIGTERM lets what is at
    work finish, the second one ends it at once. The http tool reaches public addresses only, as with `noetl server`.
    Packages that python tasks ask for are installed with --allow-requirements only. --check-config says of bus, servers
    and address whether it could work so; a server that is away may come.
    """
    from noetl.app.composition import WorkerOptions
    from noetl.app.working import new_name, run_worker
    from noetl.store.http.own_token import TOKEN

    store = os.environ.get("NOETL_STORE", DEFAULT_STORE)
    # A worker has no store, but may be started in a folder that has one: its tools are kept from it all the same.
    protect_files(store)
    narrow_rights(store)
    secrets_path = secrets_path_of(store)
    if not servers and os.environ.get(TOKEN):
        raise click.UsageError(
            f"give --server URL (or {SERVER_VARIABLE}): anybody on the bus can say that he is a server, and would be"
            f" sent the token in {TOKEN}"
        )
    if check_config:
        return _check(bus_url, tuple(map(server_url, servers)), metrics)
    place = WorkerOptions(bus_url, tuple(map(server_url, servers)), pool, name or new_name(), secrets_path)
    settings = Settings(slots=slots, log=log, fence=fence, requirements=requirements, tracing=tracing_here())
    try:
        with ExitStack() as serving:
            measures = _measures(serving, metrics, pool, slots)
            run_worker(place, settings, _ready, say, measures)
    except (BusFailure, StoreFailure) as problem:
        raise Problem(str(problem)) from None
    except ImportError as missing:
        raise Problem(f"a worker needs the extra: pip install 'noetlc[cluster]' ({missing})") from None
    return 0


def _check(bus_url: str, servers: tuple[str, ...], metrics: tuple[str, int] | None) -> int:
    try:
        from noetl.cli.check_config import tell_checks, worker_checks

        return tell_checks(worker_checks(bus_url, servers, metrics))
    except ImportError as missing:
        raise Problem(f"a worker needs the extra: pip install 'noetlc[cluster]' ({missing})") from None


def _measures(serving: ExitStack, at: tuple[str, int] | None, pool: str, slots: int) -> WorkerMeasures | None:
    """The measures that are answered at an address, None without one. Raises Problem."""
    if at is None:
        return None
    from noetl.app.worker_metrics import WorkerMeasures, metrics_served

    measures = WorkerMeasures(pool, slots)
    try:
        port = serving.enter_context(metrics_served(*at, measures.text))
    except OSError as problem:
        raise Problem(f"{at[0]}:{at[1]} cannot be listened on: {problem.strerror or problem}") from None
    say(log_line("info", f"metrics at http://{at[0]}:{port}/metrics"))
    return measures


def _ready(name: str) -> None:
    say(log_line("info", f"working as {name}"))


COMMAND = worker
