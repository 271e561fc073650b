"""Messages of NATS that start playbooks: each one execution, whichever server takes it and dies."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import nats as driver
import pytest

from harness.serving import Served, served
from noetl.api.message_starts import MessageStarter
from noetl.app.adapters import open_messages
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
    waited_for(lambda: (starter.look(), count(server) == 2)[1], "that of the new stream is not started", 30)
    assert numbers(server) == [1, 2]
    starter.close()


def test_what_hinders_is_told_and_a_trigger_that_goes_takes_its_consumer_along(server: Served) -> None:
    put(server, "nowhere", nats={"subject": "nobody.has.this"})
    put(server, "away", nats={"subject": "orders.new", "url": "nats://127.0.0.1:1"})
    put(server)
    starter = starter_of(server)
    starter.look()
    troubles = {row["name"]: row["trouble"] for row in server.client.get("/triggers").json()["triggers"]}
    assert troubles["orders"] is None
    assert troubles["nowhere"].startswith("nobody.has.this: ") and "cannot be reached" in troubles["away"]

    async def consumers(streams: Any) -> int:
        return len(await streams.consumers_info("ORDERS"))

    assert with_streams(consumers) == 1
    server.client.delete("/triggers/orders")
    starter.look()
    assert with_streams(consumers) == 0
    starter.close()
