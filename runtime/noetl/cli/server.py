"""server: drive every execution of a store, and answer the API."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from noetl.api.bearer_tokens import TokenFile, TokenProblem
from noetl.app.runtime import DEFAULT_SLOTS, Settings
from noetl.cli.buses import bus_at, pool_limit_option
from noetl.cli.daemons import fence_option, log, log_options, requirements_option, say
from noetl.cli.durability import durability_option
from noetl.cli.environment import env_option
from noetl.cli.keeping import Keeping, archive_option, retain_audit_option, retain_option
from noetl.cli.remote import ask_server, connected
from noetl.cli.stores import opened_runtime, path_option, store_option
from noetl.cli.text import Problem
from noetl.host.environment import Environment
from noetl.host.log_lines import log_line
from noetl.host.process_secrets import learn_file
from noetl.ports import Fence
from noetl.ports.user_sessions import Sessions

DEFAULT_PORT = 8082
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("server", short_help="Serve the API and drive executions.", invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; tokens are needed elsewhere.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0 takes any.")
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="The certificate, PEM.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, PEM.")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of it ends TLS.")
@click.option("--tokens", "tokens_path", metavar="FILE", help="Who may do what; beside the store by default.")
@click.option("--slots", type=click.IntRange(1), default=DEFAULT_SLOTS, show_default=True, help="Tasks at once.")
@durability_option
@click.option("--bus", "bus_url", metavar="URL", help="The bus to workers in other processes: nats://HOST:PORT.")
@pool_limit_option
@click.option("--announce", default="", metavar="URL", help="Where workers reach it; where it listens by default.")
@archive_option
@retain_option
@retain_audit_option
@fence_option
@log_options
@requirements_option
@env_option
@path_option
@store_option
@click.pass_context
def server(
    context: click.Context,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    tokens_path: str | None,
    slots: int,
    every_event: bool,
    bus_url: str | None,
    limits: dict[str, int],
    announce: str,
    keeping: Keeping,
    fence: Fence,
    requirements: bool,
    environment: Environment,
    folders: tuple[Path, ...],
    url: str,
) -> int:
    """Serve the API, and drive every execution of the store that is not over.

    It listens on loopback unless told otherwise; elsewhere it needs tokens (`noetl token add`) and TLS. The first
    SIGINT or SIGTERM lets what is in flight finish, the second one ends at once. Whatever is on disk goes on with the
    next server. The http tool reaches public addresses only; --allow-address 10.0.0.0/8 lets it reach others.

    With --bus its workers are other processes (`noetl worker`); without it tasks run in this process, in --slots.
    --pool-limit bounds how many pipelines of a pool run at once, over all executions and workers.

    --retain completed=7d --retain 'etl/*:any=36h' purges executions that have been over for so long; the first rule
    that fits one counts, and what none fits is kept for ever.
    """
    if context.invoked_subcommand is not None:
        return 0
    try:
        from noetl.api.service import compiled_source
        from noetl.api.serving import BadCertificate, Listening, ServingCallbacks, serve
    except ImportError as missing:
        raise Problem(f"the server needs the extra: pip install 'noetlc[server]' ({missing})") from None
    from noetl.cli.token import tokens_path_of

    tokens = _tokens(tokens_path or tokens_path_of(url))
    _check_listening(host, bool(tokens()), behind_proxy, tls_cert, tls_key)
    settings = Settings(
        folders, slots=slots, limits=limits, log=log, fence=fence, requirements=requirements, environment=environment,
        every_event=every_event,
    )  # fmt: skip
    with opened_runtime(url, settings) as runtime, bus_at(bus_url, limits) as bus:
        listening = Listening(host, port, tokens, tls_cert, tls_key, behind_proxy, announce)
        try:
            compiler, retention = partial(compiled_source, folders=folders), keeping.retention_of(runtime)
            with closing(_sessions(bus_url, runtime.secrets_path)) as sessions:
                lines = ServingCallbacks(say, _ready)
                good = serve(runtime, listening, compiler, lines, sessions=sessions, bus=bus, retention=retention)
        except BadCertificate as problem:
            raise Problem(str(problem)) from None
        except OSError as problem:
            raise Problem(f"{host}:{port} cannot be listened on: {problem.strerror or problem}") from None
    return 0 if good else 3


def _check_listening(
    host: str, has_tokens: bool, behind_proxy: bool, tls_cert: Path | None, tls_key: Path | None
) -> None:
    """Raise UsageError where it may not listen as it is told to; else learn the key of its certificate."""
    from noetl.api.authorization import check_binding

    refused = check_binding(host, has_tokens=has_tokens, is_encrypted=behind_proxy or tls_cert is not None)
    if refused is not None:
        raise click.UsageError(refused)
    if tls_key is not None and tls_cert is None:
        raise click.UsageError("--tls-key is the key of a certificate: give --tls-cert too")
    if tls_key is not None:
        # Learnt, so that it is hidden should a fault or a line of the log ever hold it.
        learn_file(str(tls_key))


@server.command("stop", short_help="Stop a server.")
@connected
def stop(server: str) -> int:
    """Have a server begin nothing new, let what is in flight finish, and end."""
    ask_server(server, "POST", "/stop")
    click.echo("stopping")
    return 0


def _tokens(path: str) -> TokenFile:
    """Who may do what; a file that cannot be read is a Problem."""
    try:
        return TokenFile(path, say)
    except TokenProblem as problem:
        raise Problem(str(problem)) from None


def _sessions(bus_url: str | None, secrets_path: str) -> Sessions:
    """Where the sessions of users lie."""
    from noetl.app.sessions import sessions_beside, sessions_on

    return sessions_beside(secrets_path) if bus_url is None else sessions_on(bus_url)


def _ready(url: str) -> None:
    say(log_line("info", f"listening on {url}"))


COMMAND = server
