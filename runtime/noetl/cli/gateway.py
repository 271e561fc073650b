"""gateway: one address for several groups of servers."""

from __future__ import annotations

from pathlib import Path

import click

from noetl.cli.daemons import log_options, say
from noetl.cli.listening_options import ListeningOptions, socket_options
from noetl.cli.text import Problem, amount, escaped
from noetl.host.log_lines import log_line
from noetl.host.process_secrets import learn_file

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("gateway", short_help="One address for several groups of servers.")
@click.argument("groups", metavar="GROUPS", type=_FILE)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@socket_options
@log_options
@click.option("--check-config", is_flag=True, help="Say which group takes which playbooks, and begin nothing.")
def gateway(
    groups: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    check_config: bool,
) -> int:
    """Serve one address for groups of servers, each with a database and a bus of its own.

    GROUPS is a TOML file: a table for each group with its `servers`, and how playbooks are spread. It asks for no
    token: each group is asked with that of whoever asks the gateway, so all groups have to know the same ones.
    """
    try:
        from noetl.api.gateway.groups import MOST_BYTES, BadGroups, groups_in
        from noetl.api.gateway.serving import serve_gateway
        from noetl.api.listening import BadCertificate, Listening
    except ImportError as missing:
        raise Problem(f"the gateway needs the extra: pip install 'noetlc[server]' ({missing})") from None
    place = ListeningOptions(host, port, tls_cert, tls_key, behind_proxy, None, "")
    if wrong := place.wrong(has_tokens=True):  # those of its groups
        raise click.UsageError(wrong)
    with groups.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Problem(f"{groups}: it has more than {MOST_BYTES:,} bytes")
    try:
        found = groups_in(data.decode())
    except UnicodeDecodeError:
        raise Problem(f"{groups}: it is no UTF-8") from None
    except BadGroups as problem:
        raise Problem(f"{groups}: {escaped(str(problem))}") from None
    if check_config:
        for group in found.groups.values():
            named = ", ".join(group.playbooks) or "none by name"
            servers = amount(len(group.servers), "server")
            click.echo(f"{group.name}: {servers}, share {group.share:g}, playbooks {escaped(named)}")
        for pattern in found.starts:
            click.echo(f"each start alone: {escaped(pattern)}")
        return 0
    if tls_key is not None:
        learn_file(str(tls_key))
    listening = Listening(host, port, certificate=tls_cert, key=tls_key, behind_proxy=behind_proxy)
    try:
        serve_gateway(found, listening, say, lambda url: say(log_line("info", f"listening on {url}")))
    except BadCertificate as problem:
        raise Problem(str(problem)) from None
    except OSError as problem:
        raise Problem(f"{place.where} cannot be listened on: {problem.strerror or problem}") from None
    return 0


COMMAND = gateway
