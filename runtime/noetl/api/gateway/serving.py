"""How a gateway serves: its API, and a look at all servers every other second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from noetl.api.connections import Book
from noetl.api.gateway.application import gateway_application
from noetl.api.gateway.groups import GroupMap
from noetl.api.gateway.upstream import Upstream
from noetl.api.listening import (
    HttpServer,
    Listening,
    bound_to,
    bounds_of,
    config_of,
    name_of,
    open_files,
    stopped_by_signals,
    url_of,
)
from noetl.clients.egress import is_loopback


def serve_gateway(
    groups: GroupMap, listening: Listening, say: Callable[[str], None], ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM. `say` gets lines about groups, `ready` the URL once it listens and has looked at
    all servers. Raises OSError when the address cannot be had, and BadCertificate.
    """
    asyncio.run(_serve(groups, listening, say, ready))


def hides_hosts(listening: Listening) -> bool:
    """Whether others than this machine reach it. A proxy in front writes the address of the gateway as `Host` unless it
    is told to hand on that of whoever asks.
    """
    return listening.behind_proxy or not is_loopback(listening.host)


async def _serve(
    groups: GroupMap, listening: Listening, say: Callable[[str], None], ready: Callable[[str], None]
) -> None:
    upstream = Upstream(groups.groups, say)
    app = gateway_application(groups, upstream, say, hosts_hidden=hides_hosts(listening))
    server = HttpServer(config_of(app, listening, Book(bounds_of(listening, open_files()), say)), upstream.leave)
    with bound_to(listening) as bound, stopped_by_signals(server):
        host, port = bound.getsockname()[:2]
        await upstream.look()
        looking = asyncio.create_task(upstream.keep_looking())
        ready(url_of(listening, name_of(host), port))
        try:
            await server.serve(sockets=[bound])
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await upstream.close()
