"""Signals through the death of a server and a worker: an interrupt that is being carried out, and signals under keys
that come while the executions that wait are taken over. Nothing is lost, and nothing counts twice.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from random import Random

import pytest

from harness.clusters import Cluster, checked, killed
from harness.samples import first
from noetl.app.runtime import Runtime
from noetl.store.http import Connection
from services import waited_for

STOPPED = """
workflow:
- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: many}, {step: one}]}}
- step: many
  spec: {policy: {interrupt: {events: [stop]}}}
  loop: {in: [0, 1, 2], iterator: n, spec: {mode: parallel}}
  tool: {kind: shell, command: "echo many {{ iter.n }} >> calls; until test -e go; do sleep 0.05; done"}
  next: {arcs: [{step: told, when: "{{ event.name == 'step.failed' }}", args: {by: "{{ event.error.event.data }}"}}]}
- step: one
  spec: {policy: {interrupt: {events: [stop]}}}
  tool: {kind: shell, command: "echo one >> calls; until test -e go; do sleep 0.05; done"}
  next: {arcs: [{step: told, when: "{{ event.name == 'step.failed' }}", args: {by: "{{ event.error.event.data }}"}}]}
- {step: told, tool: {kind: python, args: {by: "{{ args.by }}"}, code: "result = by"}}
"""
"""Four tools at work that a signal stops; each of the two runs says by whom."""

WAITS = """
workload: {order: 0}
workflow:
- {step: start, tool: {name: w, kind: wait, events: [paid], correlation: "order {{ workload.order }}"}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: python, args: {n: "{{ start.data }}"}, code: "result = n"}}
"""  # noqa: E501
ORDERS = 6


def logged(runtime: Runtime, name: str) -> Counter[str]:
    """How many events of each type the log of an execution has."""
    return Counter(event.event_type for _, event in runtime.events(name))


@pytest.mark.parametrize("seed", first(1, range(6)))
def test_signals_come_once_through_the_death_of_a_server_and_a_worker(cluster: Cluster, seed: int) -> None:
    chance = Random(seed)
    owner, other = cluster.server(), cluster.server()
    workers = [cluster.worker("--slots", "4"), cluster.worker("--slots", "4")]
    stopped = cluster.begin(STOPPED, owner)
    orders = [cluster.begin(WAITS, owner, "--set", f"order={number}") for number in range(ORDERS)]
    for line in ("many 0", "many 1", "many 2", "one"):
        cluster.reached(line)
    with cluster.looking() as runtime, closing(Connection(cluster.urls[other.pid])) as api:
        waited_for(lambda: sum(row.waiting for row in runtime.store.mailbox.rows()) == ORDERS, "not all wait")

        def stop() -> None:
            api.json("POST", f"/executions/{stopped}/signal", data={"name": "stop", "data": "Ada"})
            if seed % 2 == 0:  # it is on disk that they are stopped, and nobody has told their workers, or just now
                waited_for(lambda: logged(runtime, stopped)["step.interrupted"] == 2, "nothing is interrupted")
            else:
                time.sleep(chance.random() / 4)

        def pay(number: int, once: str = "") -> None:
            data = {"key": f"order {number}", "name": "paid", "data": number * 11}
            api.json("POST", "/signals", data=dict(data), key=once or f"once {number}")

        # Some are asked for again, as by a caller that got no word; one order is paid twice.
        paid: list[Callable[[], None]] = [partial(pay, number) for number in range(ORDERS)]
        again: list[Callable[[], None]] = [partial(pay, 0), partial(pay, 1), partial(pay, 2, "another")]
        chance.shuffle(paid)
        before = chance.randrange(ORDERS)
        for each in paid[:before]:
            each()
        stop()
        killed(owner)
        killed(chance.choice(workers))
        for each in (*paid[before:], *again):
            each()
        logs = cluster.ended(stopped, *orders)
        (cluster.folder / "go").touch()
        kept = [(row.key, row.name, row.kept, row.waiting) for row in runtime.store.mailbox.rows()]
        assert kept == [("order 2", "paid", 1, 0)]
        for number, (name, log) in enumerate(zip(orders, logs[1:], strict=True)):
            counts = Counter(event.event_type for event in log)
            assert (counts["signal.received"], counts["token.claimed"], counts["signal.returned"]) == (1, 1, 0)
            results = [event.data.get("result") for event in log if event.event_type == "task.done"]
            assert results == [{"name": "paid", "data": number * 11}, number * 11], name
        counts = Counter(event.event_type for event in logs[0])
        assert (counts["signal.received"], counts["step.interrupted"], counts["step.failed"]) == (1, 2, 2)
        steps = runtime.program_of(stopped).plan.steps
        done = [event for event in logs[0] if event.event_type == "task.done" and steps[event.step].name == "told"]
        assert [event.data.get("result") for event in done] == ["Ada", "Ada"]
        # What the tools of the dead worker come to is nothing to anybody.
        assert checked(runtime, stopped) == logs[0]
