"""The options that say where a server listens, and who may ask it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from noetl_ir.records import NamedTuple

DEFAULT_PORT = 8082
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class ListeningOptions(NamedTuple):
    """Where a server listens; `tokens_path` is None for the file beside the store."""

    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    behind_proxy: bool
    tokens_path: str | None
    announce: str

    @property
    def where(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    def wrong(self, *, has_tokens: bool) -> str | None:
        """Why it may not listen so; None where it may."""
        from noetl.api.authorization import check_binding

        is_encrypted = self.behind_proxy or self.tls_cert is not None
        refused = check_binding(self.host, has_tokens=has_tokens, is_encrypted=is_encrypted)
        if refused is None and self.behind_proxy and not has_tokens:
            # Whoever reaches the proxy reaches it, under a name that the proxy may write.
            return "--behind-proxy: others reach it through that: make a token with `noetl token add NAME --role admin`"
        if refused is None and self.tls_key is not None and self.tls_cert is None:
            return "--tls-key is the key of a certificate: give --tls-cert too"
        return refused


_SOCKET = (
    click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0 takes any."),
    click.option("--tls-cert", type=_FILE, metavar="FILE", help="The certificate, PEM."),
    click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, PEM."),
    click.option("--behind-proxy", is_flag=True, help="A proxy in front of it ends TLS."),
)
_OPTIONS = (
    click.option(
        "--host", default="127.0.0.1", show_default=True, help="Where to listen; tokens are needed elsewhere."
    ),
    *_SOCKET,
    click.option("--tokens", "tokens_path", metavar="FILE", help="Who may do what; beside the store by default."),
    click.option("--announce", default="", metavar="URL", help="Where workers reach it; where it listens by default."),
)


def socket_options(function: Callable[..., int]) -> Callable[..., int]:
    """Options of a socket, without who may ask."""
    for option in reversed(_SOCKET):
        option(function)
    return function


def listening_options(function: Callable[..., int]) -> Callable[..., int]:
    """Options that a command gets as one argument, `place`."""

    @wraps(function)
    def command(*args: Any, **values: Any) -> int:
        place = ListeningOptions(*[values.pop(name) for name in ListeningOptions._fields])
        return function(*args, place=place, **values)

    for option in reversed(_OPTIONS):
        option(command)
    return command
