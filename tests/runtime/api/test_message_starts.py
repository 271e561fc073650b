"""Messages of NATS that start playbooks: each one execution, whichever server takes it and dies."""

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import nats as driver
import pytest

from harness.serving import Served, served
from noetl.api.message_starts import MessageStarter
from noetl.api.triggering import message_starter_of
from noetl.app.adapters import open_messages
from noetl.clients.egress import Egress, networks_of
from noetl.ports import StoreFailure
from noetl.ports.messages import Messages, MessagesFailure, StreamMessage, StreamQuery
from noetl.ports.triggers import Triggered
from runtime.api.test_triggering import ECHO, document
from services import nats, waited_for


def with_streams(work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    """Do something with JetStream, as somebody else does."""

    async def done() -> Any:
        client = await driver.connect(f"nats://{nats().address}")
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(done())


def publish(*bodies: object, subject: str = "orders.new", headers: dict[str, str] | None = None) -> None:
    async def work(streams: Any) -> None:
        for body in bodies:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            await streams.publish(subject, data, headers=headers)

    with_streams(work)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    async def make(streams: Any) -> None:
        await streams.add_stream(name="ORDERS", subjects=["orders.*"])

    async def remove(streams: Any) -> None:
        await streams.delete_stream("ORDERS")

    with_streams(make)
    with served(tmp_path) as running:
        assert running.client.post("/playbooks", content=ECHO).status_code == 201
        yield running
    with_streams(remove)


def starter_of(server: Served) -> MessageStarter:
    """A server's that takes messages; each has connections of its own."""
    store = server.runtime.store
    assert isinstance(store, Triggered)
    trigger_starter = server.client.app.state.trigger_starter  # type: ignore[attr-defined]
    return MessageStarter(store.triggering, trigger_starter, open_messages, f"nats://{nats().address}")


class Streams:
    """Streams elsewhere: `take` is how one answers."""

    def __init__(self, take: Callable[[str], Sequence[StreamMessage] | MessagesFailure]) -> None:
        self._take = take
        self.asked = list[str]()

    def take(self, queries: Sequence[StreamQuery]) -> list[Sequence[StreamMessage] | MessagesFailure]:
        self.asked += [query.subject for query in queries]
        return [self._take(query.subject) for query in queries]

    def done(self, message: StreamMessage) -> None:
        """`Messages.done`."""

    def later(self, message: StreamMessage, seconds: float) -> None:
        """`Messages.later`."""

    def forget(self, query: StreamQuery) -> None:
        """`Messages.forget`."""

    def close(self) -> None:
        """`Messages.close`."""


def local_starter(server: Served, opened: Callable[[str], Messages]) -> MessageStarter:
    store = server.runtime.store
    assert isinstance(store, Triggered)
    trigger_starter = server.client.app.state.trigger_starter  # type: ignore[attr-defined]
    return MessageStarter(store.triggering, trigger_starter, opened, "nats://bus")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that end with what they have begun, however slow that is."""
    monkeypatch.setattr("noetl.api.message_starts.WITHIN", 60.0)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    """A server without NATS."""
    with served(tmp_path) as running:
        assert running.client.post("/playbooks", content=ECHO).status_code == 201
        yield running


def test_a_server_of_messages_that_hangs_holds_up_no_other(alone: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.api.message_starts.WITHIN", 0.2)
    put(alone, "a-hanging", nats={"subject": "orders.new", "url": "nats://hangs"})
    put(alone, "b-other")
    hangs, numbers = threading.Event(), itertools.count()

    def opened(url: str) -> Messages:
        if url == "nats://hangs":
            hangs.wait(300)
            raise MessagesFailure("it cannot be reached")
        return Streams(lambda subject: [StreamMessage(f"S {next(numbers)}", subject, {}, b'{"n": 1}', "h")])

    starter = local_starter(alone, opened)
    began = time.monotonic()
    for _ in range(5):
        starter.look()
    waited_for(lambda: (starter.look(), count(alone) >= 5)[1], "the other one is held up")
    assert not hangs.is_set() and time.monotonic() - began < 300
    hangs.set()
    waited_for(lambda: (starter.look(), "cannot be" in trouble_of(alone, "a-hanging"))[1], "it is not told")
    starter.close()


def test_one_consumer_that_fails_holds_up_no_other_of_its_server(alone: Served) -> None:
    put(alone, "failing", nats={"subject": "nobody.has.this"})
    put(alone, "other")
    numbers = itertools.count()

    def take(subject: str) -> Sequence[StreamMessage] | MessagesFailure:
        if subject == "nobody.has.this":
            return MessagesFailure("there is no stream")
        return [StreamMessage(f"S {next(numbers)}", subject, {}, b'{"n": 1}', "h")]

    streams = Streams(take)
    starter = local_starter(alone, lambda url: streams)
    for _ in range(3):
        starter.look()
    assert streams.asked.count("orders.new") == 3 and streams.asked.count("nobody.has.this") == 1
    assert count(alone) == 3 and trouble_of(alone, "failing") == "there is no stream"
    starter.close()


def test_a_store_that_fails_is_told_to_whoever_looks(alone: Served) -> None:
    put(alone)

    def take(subject: str) -> Sequence[StreamMessage]:
        raise StoreFailure("the disk is full")

    starter = local_starter(alone, lambda url: Streams(take))
    with pytest.raises(StoreFailure, match="disk"):
        starter.look()
    starter.close()


def test_the_url_of_a_document_is_inside_the_fence_and_the_bus_is_not(alone: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        url = f"nats://127.0.0.1:{listening.getsockname()[1]}"
        put(alone, nats={"subject": "orders.new", "url": url})
        runtime = alone.runtime
        runtime.settings = runtime.settings._replace(fence=Egress().refusal)
        trigger_starter = alone.client.app.state.trigger_starter  # type: ignore[attr-defined]
        starter = message_starter_of(runtime, trigger_starter, "nats://bus.example")
        assert starter is not None
        why = "the address 127.0.0.1 is not public"
        waited_for(lambda: (starter.look(), why in trouble_of(alone, "orders"))[1], "it is not refused")
        with pytest.raises(TimeoutError):
            listening.accept()
        starter.close()
        put(alone)
        bus = message_starter_of(runtime, trigger_starter, url)
        assert bus is not None
        bus.look()
        listening.accept()[0].close()
        bus.close()


def put(server: Served, name: str = "orders", **spec: object) -> None:
    told = {"inputs": {"n": "{{ body.n }}"}, "nats": {"subject": "orders.new"}, **spec}
    response = server.client.put(f"/triggers/{name}", json=document(name, **told))
    assert response.status_code == 200, response.text


def started(server: Served) -> list[Any]:
    """Executions that were started, with their inputs, the first one first."""
    rows = server.client.get("/executions").json()["executions"][::-1]
    found = []
    for row in rows:
        address = f"/executions/{row['execution_id']}"
        workload = server.client.get(f"{address}/replay").json()["workload"]
        found.append({**server.client.get(address).json(), "workload": workload})
    return found


def count(server: Served) -> int:
    """How many executions there are."""
    return len(server.client.get("/executions?limit=500").json()["executions"])


def trouble_of(server: Served, name: str) -> str:
    return str(server.client.get(f"/triggers/{name}").json()["trouble"])


def numbers(server: Served) -> list[Any]:
    return sorted(row["workload"]["n"] for row in started(server))


def pending(server: Served) -> int:
    """Messages that are handed out and not dealt with."""

    async def work(streams: Any) -> int:
        return sum([one.num_ack_pending + one.num_pending for one in await streams.consumers_info("ORDERS")])

    found: int = with_streams(work)
    return found


def test_each_message_starts_one_execution(server: Served) -> None:
    publish({"n": 0})  # before there was the trigger
    put(server)
    starter = starter_of(server)
    publish({"n": 1}, {"n": 2}, headers={"X-Who": "ann"})
    publish({"n": 9}, subject="orders.old")
    waited_for(lambda: (starter.look(), count(server) == 2)[1], "they are not started")
    assert numbers(server) == [1, 2]
    by = started(server)[0]["started_by"]
    assert (by["trigger"], by["kind"], by["subject"]) == ("orders", "nats", "orders.new")
    assert by["message"].startswith("ORDERS 20") and by["message"].endswith(" 2")
    waited_for(lambda: pending(server) == 0, "they are not done with")
    starter.look()
    assert count(server) == 2
    starter.close()


def test_all_that_is_there_may_count_and_a_text_is_a_body(server: Served) -> None:
    publish(b"hello")
    put(server, nats={"subject": "orders.>", "deliver": "all"}, inputs={"who": "{{ body }} on {{ subject }}"})
    starter = starter_of(server)
    waited_for(lambda: (starter.look(), started(server))[1], "it is not started")
    assert started(server)[0]["workload"]["who"] == "hello on orders.new"
    starter.close()


def test_messages_are_taken_inside_a_fence_that_lets_them(server: Served) -> None:
    put(server, nats={"subject": "orders.new", "url": f"nats://{nats().address}"})
    runtime = server.runtime
    runtime.settings = runtime.settings._replace(fence=Egress(networks_of(["127.0.0.0/8"])).refusal)
    starter = message_starter_of(runtime, server.client.app.state.trigger_starter, "")  # type: ignore[attr-defined]
    assert starter is not None
    publish({"n": 1})
    waited_for(lambda: (starter.look(), count(server) == 1)[1], "it is not started")
    starter.close()


def test_a_server_that_dies_behind_a_start_starts_nothing_twice(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are never answered, and another one has them once more."""
    monkeypatch.setattr("noetl.bus.nats.messages.ACK_WITHIN", 1)
    put(server)
    dying, other = starter_of(server), starter_of(server)
    publish(*({"n": number} for number in range(20)))
    with monkeypatch.context() as dead:
        dead.setattr("noetl.bus.nats.messages.NatsMessages.done", lambda messages, message: None)
        waited_for(lambda: (dying.look(), count(server) == 20)[1], "they are not started")
        dying.close()
    assert pending(server) == 20
    waited_for(lambda: (other.look(), pending(server) == 0)[1], "nobody has them once more")
    assert numbers(server) == [*range(20)]
    other.close()


def test_two_servers_share_the_messages(server: Served) -> None:
    put(server)
    starters = [starter_of(server) for _ in range(2)]
    for starter in starters:
        starter.look()
    publish(*({"n": number} for number in range(60)))
    waited_for(lambda: ([one.look() for one in starters], count(server) == 60)[1], "they are not started")
    assert numbers(server) == [*range(60)]
    for starter in starters:
        starter.close()


def test_what_cannot_be_mapped_is_a_dead_letter_and_what_cannot_be_started_comes_again(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noetl.api.message_starts.AGAIN", 0.5)
    put(server, playbook="t/later")
    starter = starter_of(server)
    publish({"m": 1}, {"n": 2})
    waited_for(
        lambda: (starter.look(), server.client.get("/triggers/orders").json()["dead_letters"])[1], "there is no letter"
    )
    (letter,) = server.client.get("/triggers/orders").json()["dead_letters"]
    assert "`inputs.n`" in letter["reason"] and letter["what"]["body"] == {"m": 1}
    assert "t/later" in server.client.get("/triggers/orders").json()["trouble"]
    assert pending(server) == 1
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/later"))
    waited_for(lambda: (starter.look(), pending(server) == 0)[1], "it is not started")
    assert numbers(server) == [2]
    put(server, playbook="t/later", inputs={"n": "{{ body.m }}"})
    (row,) = server.client.post("/triggers/orders/retry", json={}).json()["letters"]
    assert row["execution_id"] and numbers(server) == [1, 2]
    starter.close()


def test_a_message_waits_until_its_namespace_has_a_place(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.api.message_starts.AGAIN", 0.5)
    put(server)
    spec = {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "t"}, "spec": {"prefix": "t/"}}
    assert server.client.put("/namespaces/t", json=spec).status_code == 200
    assert server.client.post("/namespaces/t/pause").json()["paused"]
    starter = starter_of(server)
    publish({"n": 7})

    def trouble() -> str:
        starter.look()
        return str(server.client.get("/triggers/orders").json()["trouble"])

    waited_for(lambda: trouble() == "namespace `t` is paused", "it is not refused")
    assert (pending(server), numbers(server)) == (1, [])
    server.client.post("/namespaces/t/resume")
    waited_for(lambda: (starter.look(), pending(server) == 0)[1], "it is not started")
    assert numbers(server) == [7]
    starter.close()


def test_a_stream_that_was_made_again_has_other_messages(server: Served) -> None:
    """Their numbers begin anew."""
    put(server)
    starter = starter_of(server)
    publish({"n": 1})
    waited_for(lambda: (starter.look(), count(server) == 1)[1], "it is not started")

    async def again(streams: Any) -> None:
        await streams.delete_stream("ORDERS")
        await streams.add_stream(name="ORDERS", subjects=["orders.*"])

    with_streams(again)
    publish({"n": 2})
    waited_for(lambda: (starter.look(), count(server) == 2)[1], "that of the new stream is not started")
    assert numbers(server) == [1, 2]
    starter.close()


def test_what_hinders_is_told_and_a_trigger_that_goes_takes_its_consumer_along(server: Served) -> None:
    put(server, "nowhere", nats={"subject": "nobody.has.this"})
    put(server, "away", nats={"subject": "orders.new", "url": "nats://127.0.0.1:1"})
    put(server)
    starter = starter_of(server)
    why = "nobody.has.this: no stream there has this subject"
    waited_for(lambda: (starter.look(), trouble_of(server, "nowhere") == why)[1], "it is not told")
    assert server.client.get("/triggers/orders").json()["trouble"] is None
    waited_for(lambda: (starter.look(), "cannot be reached" in trouble_of(server, "away"))[1], "it is not told")

    async def consumers(streams: Any) -> int:
        return len(await streams.consumers_info("ORDERS"))

    assert with_streams(consumers) == 1
    server.client.delete("/triggers/orders")
    starter.look()
    assert with_streams(consumers) == 0
    starter.close()
