"""The rights that `noetl bus permissions` writes, given to a real NATS: all works with them, and nothing more does."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from nats.aio.client import Client

from harness.clusters import Cluster
from noetl.app.adapters import open_bus
from noetl.app.sessions import sessions_on
from noetl.cli.bus import bus
from noetl_ir.orders import Serving, TakenUp, WorkerHeartbeat
from services import NatsServer, waited_for

PASSWORDS = {name: f"secret-of-{name}" for name in ("server", "default", "other")}
VARIABLES = {"server": "NOETL_NATS_SERVER", "default": "NOETL_NATS_WORKER_DEFAULT", "other": "NOETL_NATS_WORKER_OTHER"}

ALL = """
workflow:
- step: start
  loop: {in: [1, 2, 3, 4, 5, 6], iterator: n, spec: {mode: parallel, max_in_flight: 3, policy: {exec: local}}}
  tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = n * n"}
  next: {spec: {mode: inclusive}, arcs: [{step: slow}, {step: far}]}
- step: slow
  tool: {kind: shell, command: "echo begun >> calls; sleep 600"}
- step: far
  spec: {pool: other}
  tool: {kind: python, args: {all: "{{ start }}"}, code: "result = sum(all)"}
"""
"""Orders by pool and to one worker, and one to stop."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[NatsServer]:
    """A NATS with the rights of two pools, of a bus with another prefix than the usual one."""
    named = ["--pool", "default", "--pool", "other", "--namespace", "team"]
    done = CliRunner().invoke(bus, ["permissions", "--prefix", "shop", *named])
    assert done.exit_code == 0, done.output
    with closing(NatsServer(done.output, {VARIABLES[name]: PASSWORDS[name] for name in VARIABLES})) as server:
        yield server


def url_of(server: NatsServer, name: str) -> str:
    """The URL of the bus for servers, or for the workers of a pool."""
    user = "shop-server" if name == "server" else f"shop-worker-{name}"
    return f"nats://{user}:{PASSWORDS[name]}@{server.address}/shop"


def test_all_that_a_cluster_does_works_with_these_rights(guarded: NatsServer, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        cluster.bus = url_of(guarded, "server")
        server = cluster.server()
        for pool in ("default", "other"):
            cluster.bus = url_of(guarded, pool)
            cluster.worker("--pool", pool, "--name", f"w-{pool}")
        # What is of this one goes by a queue of its own in the other pool.
        lane = {"metadata": {"name": "team"}, "spec": {"prefix": "t/", "pools": {"other": 1}}}
        body = {"apiVersion": "noetl.io/v2", "kind": "Namespace", **lane}
        assert httpx.put(f"{cluster.urls[server.pid]}/namespaces/team", json=body).status_code == 200
        name = cluster.begin(ALL, server)

        def is_far() -> bool:
            with cluster.looking() as runtime:
                log = [event for _, event in runtime.events(name)]
            return any(event.event_type == "task.done" and event.data.get("result") == 91 for event in log)

        waited_for(is_far, "the other pool does nothing")
        cluster.reached("begun")
        cluster.noetl("cancel", name, server=server)

        def busy() -> list[int]:
            return [row["busy"] for row in json.loads(cluster.noetl("workers", "list", "--json", server=server))]

        waited_for(lambda: busy() == [0, 0], "the shell is not stopped")
        cluster.noetl("workers", "drain", "w-default", server=server)
        waited_for(lambda: len(busy()) == 1, "the worker does not leave")
    finally:
        cluster.stop()


FORBIDDEN_TO_SAY = [
    "shop.run.default.k", "shop.run.other.k", "shop.stops", "shop.to.default.w", "shop.to.other.w",
    "shop.broadcasts.servers", "shop.broadcasts.pool.default", "shop.in.servers.x", "shop.in.pool.default.x",
    "shop.in.pool.other.x", "$JS.API.STREAM.DELETE.shop_run_default", "$JS.API.STREAM.PURGE.shop_run_other",
    "$JS.API.STREAM.CREATE.mine", "$JS.API.STREAM.UPDATE.shop_run_other", "$JS.API.STREAM.MSG.GET.shop_run_default",
    "$JS.API.DIRECT.GET.shop_run_default", "$JS.API.CONSUMER.MSG.NEXT.shop_run_default.workers",
    "$JS.API.CONSUMER.DURABLE.CREATE.shop_run_other.spy", "$JS.API.CONSUMER.CREATE.shop_run_default.spy",
    "$JS.API.CONSUMER.DELETE.shop_run_other.workers", "$JS.ACK.shop_run_default.workers.1.1.1.1.1",
    "$SYS.REQ.SERVER.PING", "elsewhere",
]  # fmt: skip
FORBIDDEN_TO_HEAR = [
    ">", "*.>", "shop.>", "shop.run.>", "shop.report.any", "shop.report.to.*", "shop.report.all", "shop.in.servers.>",
    "shop.in.pool.default.>", "shop.in.>", "shop.broadcasts.>", "shop.broadcasts.pool.default", "shop.to.default.*",
    "shop.to.*.*", "_INBOX.>", "$JS.>", "shop.dead_letters",
]  # fmt: skip
ALLOWED_TO_SAY = [
    "shop.report.any", "shop.report.all", "shop.report.to.x", "shop.broadcasts.pool.other", "shop.dead_letters",
    "$JS.API.CONSUMER.MSG.NEXT.shop_run_other.workers",
]  # fmt: skip


def violations(url: str, said: list[str], heard: list[str]) -> set[str]:
    """The subjects that NATS refuses, of some that are published on (`said`) and some that are subscribed to (`heard`).
    The client reports them in small letters; they are given back as they were passed.
    """
    found: list[str] = []

    async def error(problem: Exception) -> None:
        found.append(str(problem))

    async def all_tried() -> None:
        client = Client()
        await client.connect(url.rpartition("/")[0], error_cb=error, inbox_prefix="shop.in.pool.other")
        for subject in said:
            await client.publish(subject, b"x")
        for subject in heard:
            await client.subscribe(subject)
        await client.flush()
        await asyncio.sleep(0.2)
        await client.close()

    asyncio.run(all_tried())
    told = {problem.partition('"')[2].partition('"')[0].lower() for problem in found}
    return {subject for subject in (*said, *heard) if subject.lower() in told}


def test_a_worker_of_another_pool_can_say_and_hear_nothing_else(guarded: NatsServer) -> None:
    url = url_of(guarded, "other")
    assert violations(url, FORBIDDEN_TO_SAY, []) == {*FORBIDDEN_TO_SAY}
    assert violations(url, [], FORBIDDEN_TO_HEAR) == {*FORBIDDEN_TO_HEAR}
    assert violations(url, ALLOWED_TO_SAY, ["shop.stops", "shop.to.other.*", "shop.broadcasts.servers"]) == set()
    for stranger in (f"nats://{guarded.address}/shop", f"nats://shop-server:guess@{guarded.address}/shop"):
        with pytest.raises(Exception, match=r"(?i)authorization"):
            open_bus(stranger)


def test_a_server_can_do_nothing_outside_of_its_bus(guarded: NatsServer) -> None:
    forbidden = [
        "other.stops",
        "$JS.API.STREAM.DELETE.shop_run_default",
        "$JS.API.STREAM.PURGE.x",
        "$SYS.REQ.SERVER.PING",
    ]
    assert violations(url_of(guarded, "server"), forbidden, []) == {*forbidden}


def test_a_worker_says_nothing_for_servers_or_other_pools_also_where_nats_guards_nothing() -> None:
    """Where NATS refuses nothing, the subject still tells who speaks, and a message on a wrong one is not believed."""
    open_to_all = NatsServer()
    with closing(open_to_all):
        url = f"nats://{open_to_all.address}/shop"
        with closing(open_bus(url)) as server, closing(open_bus(url, pool="other")) as worker:
            assert server.received() == [] and worker.received() == []
            honest = WorkerHeartbeat("w", "other", 1, 0, False)
            for broadcast in (
                WorkerHeartbeat("w", "default", 1, 0, True),
                TakenUp("e", "s"),
                Serving("http://x"),
                honest,
            ):
                worker.say(broadcast)
            heard: list[object] = []
            waited_for(lambda: heard.extend(server.received()) or heard, "nothing is heard")
            assert heard == [honest] and worker.received() == []


def test_the_sessions_of_users_need_no_other_rights(guarded: NatsServer) -> None:
    sessions = sessions_on(url_of(guarded, "server"))
    token, found = sessions.create("u", {"display_name": "Ann"})
    assert sessions.validate(token) == found
    assert [row["display_name"] for row in sessions.of_user("u", "", 10).sessions] == ["Ann"]
    assert sessions.update(token, found.revision, {}) is not None
    sessions.invalidate(token)
    assert sessions.of_user("u", "", 10).sessions == []


def test_a_worker_that_may_not_what_it_needs_says_so(guarded: NatsServer, tmp_path: Path) -> None:
    said: list[str] = []
    with closing(open_bus(url_of(guarded, "default"), pool="other", say=said.append)) as wrong:
        assert wrong.take("other") is None
        waited_for(lambda: any("shop_run_other" in text for text in said), "nothing is said")
        wrong.say(WorkerHeartbeat("w", "other", 1, 0, False))
        waited_for(lambda: any("shop.broadcasts.pool.other" in text for text in said), "nothing is said of broadcasts")
    assert all("see `noetl bus permissions`" in text and PASSWORDS["default"] not in text for text in said)
    assert len(said) == len(set(said)) <= 20
