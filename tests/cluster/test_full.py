"""A disk that is full, at each of the parts that write: runs pause, and go on when there is room; nothing is lost."""

import asyncio
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import nats
from nats.js.errors import APIError

from harness.clusters import Cluster, Process, busy, full_postgres
from services import NatsServer, waited_for

MANY = 40
STANDS_AT = 8
BUSY = busy(MANY, STANDS_AT)
FULL_FOR = 1.0
"""Seconds."""


def test_a_full_disk_under_sqlite(cluster: Cluster) -> None:
    cluster.store = f"sqlite:///{cluster.folder}/noetl.db"
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(BUSY, server)
    cluster.reached(str(STANDS_AT))
    with _no_larger_files(server):
        _stands_still(cluster, server)
    _has_ended(cluster, name)


def test_a_full_disk_under_postgresql(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(BUSY, server)
    cluster.reached(str(STANDS_AT))
    with full_postgres(cluster):
        _stands_still(cluster, server)
    _has_ended(cluster, name)


def test_a_full_disk_under_nats(cluster: Cluster) -> None:
    own = NatsServer("jetstream { max_file_store: 2MB }")
    cluster.bus = f"nats://{own.address}/full"
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(BUSY, server)
    cluster.reached(str(STANDS_AT))
    asyncio.run(_fill(own.address))
    names = cluster.flooded(name, server, 3)
    (cluster.folder / "go").touch()
    waited_for(lambda: _nothing_moves(cluster), "orders are taken by a bus that is full")
    assert len(cluster.lines()) < MANY
    asyncio.run(_empty(own.address))
    cluster.ended(name, *names)


@contextmanager
def _no_larger_files(process: Process) -> Iterator[None]:
    """Let a process write nothing behind the first pages of a file."""
    before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (8192, before[1]))
    yield
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)


async def _fill(address: str) -> None:
    client = await nats.connect(address)
    streams = client.jetstream()
    await streams.add_stream(name="ballast", subjects=["ballast"])
    size = 500_000
    while size > 100:
        try:
            await streams.publish("ballast", bytes(size))
        except APIError:
            size //= 2
    await client.close()


async def _empty(address: str) -> None:
    client = await nats.connect(address)
    await client.jetstream().delete_stream("ballast")
    await client.close()


def _stands_still(cluster: Cluster, server: Process) -> None:
    """The server says that it can do nothing, and nothing but what was begun goes on."""
    (cluster.folder / "go").touch()
    url = cluster.urls[server.pid]
    waited_for(lambda: httpx.get(f"{url}/readyz").status_code == 503, "the server does not see that the disk is full")
    time.sleep(FULL_FOR)
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert len(cluster.lines()) < MANY


def _nothing_moves(cluster: Cluster) -> bool:
    before = cluster.lines()
    time.sleep(FULL_FOR)
    return cluster.lines() == before


def _has_ended(cluster: Cluster, name: str) -> None:
    log = cluster.ended(name)[0]
    assert {int(line) for line in cluster.lines()} == {*range(MANY)}
    assert sum(event.event_type == "loop.done" for event in log) == 1
