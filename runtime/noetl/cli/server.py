"""server: drive every execution of a store, and answer the API."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl.api.bearer_tokens import TokenFile, TokenProblem
from noetl.app.runtime import DEFAULT_SLOTS, Settings
from noetl.cli.buses import bus_at, pool_limit_option
from noetl.cli.daemons import fence_option, is_verbose, log, log_options, requirements_option, say
from noetl.cli.durability import durability_option
from noetl.cli.environment import env_option
from noetl.cli.keeping import Keeping, archive_option, retain_audit_option, retain_option
from noetl.cli.listening_options import ListeningOptions, listening_options
from noetl.cli.oidc_options import OidcOptions, OidcTrouble, oidc_options
from noetl.cli.remote import ask_server, connected
from noetl.cli.settings_file import settings_option
from noetl.cli.stores import opened_runtime, path_option, store_option
from noetl.cli.text import Problem, escaped
from noetl.cli.tracing import telling_here
from noetl.host.environment import Environment
from noetl.host.log_lines import log_line
from noetl.host.process_secrets import learn_file
from noetl.ports import Fence
from noetl.ports.user_sessions import Sessions

if TYPE_CHECKING:
    from noetl.api.listening import Listening
    from noetl.api.people import People


@click.group("server", short_help="Serve the API and drive executions.", invoke_without_command=True)
@settings_option
@click.option("--check-config", is_flag=True, help="Say whether it could serve so, and begin nothing.")
@listening_options
@oidc_options
@click.option("--slots", type=click.IntRange(1), default=DEFAULT_SLOTS, show_default=True, help="Tasks at once.")
@durability_option
@click.option(
    "--bus", "bus_url", metavar="URL", envvar="NOETL_BUS",
    help="The bus to workers in other processes: nats://HOST:PORT.",
)  # fmt: skip
@pool_limit_option
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
    check_config: bool,
    place: ListeningOptions,
    oidc: OidcOptions,
    slots: int,
    every_event: bool,
    bus_url: str | None,
    limits: dict[str, int],
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

    With --oidc-issuer people sign in to the page. Options may stand in a file (--settings); --check-config checks them.
    """
    if context.invoked_subcommand is not None:
        return 0
    try:
        from noetl.api import compiling, listening, serving
    except ImportError as missing:
        raise Problem(f"the server needs the extra: pip install 'noetlc[server]' ({missing})") from None
    from noetl.cli.token import tokens_path_of

    tokens_path = place.tokens_path or tokens_path_of(url)
    if check_config:
        return _check(place, oidc, tokens_path, url, bus_url, keeping)
    tokens, people = _tokens(tokens_path), _people(place, oidc)
    _check_listening(place, bool(tokens()) or people is not None)
    settings = Settings(
        folders, slots=slots, limits=limits, log=log, fence=fence, requirements=requirements, environment=environment,
        every_event=every_event, tracing=telling_here(), tells_lifecycle=is_verbose(),
    )  # fmt: skip
    with opened_runtime(url, settings) as runtime, bus_at(bus_url, limits) as bus:
        where = _listening(place, oidc, tokens, people, bus_url or "")
        try:
            compiler, retention = partial(compiling.compiled_source, folders=folders), keeping.retention_of(runtime)
            with closing(_sessions(bus_url, runtime.secrets_path)) as sessions:
                lines = serving.ServingCallbacks(say, _ready)
                good = serving.serve(runtime, where, compiler, lines, sessions=sessions, bus=bus, retention=retention)
        except listening.BadCertificate as problem:
            raise Problem(str(problem)) from None
        except OSError as problem:
            raise Problem(f"{place.where} cannot be listened on: {problem.strerror or problem}") from None
    return 0 if good else 3


def _check(
    place: ListeningOptions, oidc: OidcOptions, tokens_path: str, url: str, bus_url: str | None, keeping: Keeping
) -> int:
    from noetl.cli.check_config import CheckedServer, server_checks, tell_checks

    return tell_checks(server_checks(CheckedServer(place, oidc, tokens_path, url, bus_url, keeping.archive)))


def _people(place: ListeningOptions, oidc: OidcOptions) -> People | None:
    """Who signs in by OpenID Connect. Raises UsageError, Problem."""
    if wrong := oidc.wrong(place.host, behind_proxy=place.behind_proxy):
        raise click.UsageError(escaped(wrong))
    try:
        return oidc.people(say)
    except OidcTrouble as problem:
        raise Problem(str(problem)) from None


def _listening(
    place: ListeningOptions, oidc: OidcOptions, tokens: TokenFile, people: People | None, bus_url: str
) -> Listening:
    """Where a server listens, and who may ask it."""
    from noetl.api.listening import Listening

    files, page = (place.tls_cert, place.tls_key), (people, oidc.public_url or "")
    return Listening(place.host, place.port, tokens, *files, place.behind_proxy, place.announce, bus_url, *page)


def _check_listening(place: ListeningOptions, has_tokens: bool) -> None:
    """Raise UsageError where it may not listen as it is told to; else learn the key of its certificate."""
    if wrong := place.wrong(has_tokens=has_tokens):
        raise click.UsageError(wrong)
    if place.tls_key is not None:
        # Learnt, so that it is hidden should a fault or a line of the log ever hold it.
        learn_file(str(place.tls_key))


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
