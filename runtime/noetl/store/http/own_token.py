"""The bearer token of the environment, and to whom it may be sent."""

import os
from urllib.parse import urlsplit

from noetl.clients.egress import is_loopback
from noetl.ports import StoreFailure

TOKEN = "NOETL_TOKEN"
"""The variable of the environment that holds the bearer token: what is on a command line can be seen by others."""

PLAIN = "NOETL_PLAIN_HTTP"
"""The variable that names the hosts, apart by spaces, to which the token may go without TLS: over a network that is
trusted as this machine is.
"""


def token_here() -> str:
    """The token of the environment; a line end, as files have, is none of it. Never shown, also when wrong."""
    token = os.environ.get(TOKEN, "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise StoreFailure(f"{TOKEN} holds no token: it has characters that no token has")
    return token


def check_privacy(url: str) -> None:
    """Raises StoreFailure where a token that goes to a server could be read on its way."""
    address = urlsplit(url)
    host = address.hostname or ""
    if address.scheme == "https" or is_loopback(host) or host in os.environ.get(PLAIN, "").split():
        return
    raise StoreFailure(
        f"{url} has no TLS, so the token in {TOKEN} could be read on its way: write https://, or set"
        f" {PLAIN}={host} where that network is trusted"
    )
