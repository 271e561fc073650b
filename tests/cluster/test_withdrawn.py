"""Orders of executions that are cancelled are taken back from the bus: no worker has to come to get rid of them."""

import asyncio

import nats

from harness.clusters import Cluster, checked
from noetl.bus.nats.names import address_in
from noetl.bus.nats.queues import stream_of
from services import waited_for

MANY = """
workflow:
- step: start
  loop: {in: "{{ range(40) | list }}", iterator: n, spec: {mode: parallel}}
  tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = n"}
"""


async def lying(url: str) -> int:
    """How many orders lie in the queue of the default pool."""
    place = address_in(url)
    client = await nats.connect([*place.servers])
    try:
        return (await client.jetstream().stream_info(stream_of(place.prefix, "default"))).state.messages
    finally:
        await client.close()


def test_what_waits_on_the_bus_goes_with_its_execution(cluster: Cluster) -> None:
    server = cluster.server()
    dropped, kept = cluster.begin(MANY, server), cluster.begin(MANY, server)
    waited_for(lambda: asyncio.run(lying(cluster.bus)) == 80, "the orders do not lie on the bus")
    cluster.noetl("cancel", dropped, server=server)
    waited_for(lambda: asyncio.run(lying(cluster.bus)) == 40, "the orders stay on the bus")
    cluster.worker()
    (log,) = cluster.ended(kept)
    assert [event.event_type for event in log].count("loop.iteration.done") == 40
    with cluster.looking() as runtime:
        assert not any(event.event_type == "task.started" for event in checked(runtime, dropped, "cancelled"))
