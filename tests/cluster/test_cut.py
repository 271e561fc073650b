"""A network that is cut between two of the parts, and mended: nobody is told of it, and runs go on."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.clusters import STANDING, Cluster, busy
from harness.cutting import Proxy
from services import nats, waited_for

MANY = 40
STANDS_AT = 8
BUSY = busy(MANY, STANDS_AT)
CUT_FOR = 4.0
"""Seconds; a lease has 3 here."""


@pytest.fixture
def bus() -> Iterator[Proxy]:
    """A way to NATS."""
    host, _, port = nats().address.rpartition(":")
    with closing(Proxy((host, int(port)))) as proxy:
        yield proxy


def test_a_server_that_is_cut_off_from_the_database(cluster: Cluster) -> None:
    found = parse_qs(urlsplit(cluster.store).query)
    with closing(Proxy(Path(found["host"][0]) / ".s.PGSQL.5432")) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres?schema={found['schema'][0]}"
        server = cluster.server("--store", through)
        cluster.worker()
        name = cluster.begin(BUSY, server)
        cluster.reached(str(STANDS_AT))
        proxy.cut()
        _stands_still(cluster)
        proxy.mend()
        _has_ended(cluster, name)


@pytest.mark.long
def test_a_server_that_is_cut_off_from_the_bus(cluster: Cluster, bus: Proxy) -> None:
    server = cluster.server("--bus", _through(cluster, bus))
    cluster.worker()
    name = cluster.begin(BUSY, server)
    cluster.reached(str(STANDS_AT))
    bus.cut()
    _stands_still(cluster)
    bus.mend()
    _has_ended(cluster, name)


def test_a_worker_that_is_cut_off_from_the_bus_loses_its_claim_and_stops_when_it_hears_of_it(
    cluster: Cluster, bus: Proxy
) -> None:
    server = cluster.server()
    cluster.worker("--bus", _through(cluster, bus))
    name = cluster.begin(STANDING, server)
    cluster.reached("begun")
    bus.cut()
    cluster.worker()
    waited_for(lambda: cluster.lines() == ["begun", "begun"], "nobody else goes on with it")
    bus.mend()
    waited_for(lambda: _running(cluster) == 1, "the first worker does not stop what it has lost")
    (cluster.folder / "go").touch()
    log = cluster.ended(name)[0]
    assert cluster.lines() == ["begun", "begun", "done", "two"]
    assert [event.claim for event in log if event.event_type == "task.lost"] == [1]


@pytest.mark.long
def test_a_worker_that_is_cut_off_from_the_api_begins_what_it_knows_and_the_rest_later(cluster: Cluster) -> None:
    server = cluster.server()
    url = urlsplit(cluster.urls[server.pid])
    with closing(Proxy((str(url.hostname), int(url.port or 0)))) as proxy:
        cluster.worker("--server", f"http://127.0.0.1:{proxy.port}")
        (cluster.folder / "go").touch()
        cluster.ended(known := cluster.begin(BUSY, server))
        proxy.cut()
        unknown = cluster.begin(BUSY.replace("calls", "others"), server)
        cluster.ended(*cluster.flooded(known, server, 1))
        assert not (cluster.folder / "others").exists()
        proxy.mend()
        cluster.ended(unknown)
        assert sorted(map(int, cluster.lines("others"))) == [*range(MANY)]


def _through(cluster: Cluster, proxy: Proxy) -> str:
    return cluster.bus.replace(nats().address, f"127.0.0.1:{proxy.port}")


def _stands_still(cluster: Cluster) -> None:
    """For longer than a lease, nothing but what was begun goes on."""
    (cluster.folder / "go").touch()
    time.sleep(CUT_FOR)
    assert len(cluster.lines()) < MANY


def _has_ended(cluster: Cluster, name: str) -> None:
    log = cluster.ended(name)[0]
    assert {int(line) for line in cluster.lines()} == {*range(MANY)}
    assert sum(event.event_type == "loop.done" for event in log) == 1


def _running(cluster: Cluster) -> int:
    """How many shells wait for the file `go` in the folder."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            waits = b"until test -e go" in (process / "cmdline").read_bytes()
            count += waits and (process / "cwd").readlink() == cluster.folder
    return count
