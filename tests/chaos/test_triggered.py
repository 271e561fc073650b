"""Webhooks, messages and ends of other playbooks start one execution each, while servers, workers, NATS and PostgreSQL
are killed.
"""

import asyncio
import json
import time
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import httpx
import nats as driver
import pytest

from harness.blows import KILLS, deal
from harness.clusters import Cluster
from harness.here import done_here
from harness.running import HEAD
from noetl.app.runtime import Runtime
from services import nats, waited_for

SECRET = "a secret of twenty letters"
BODY = 'workload: {n: -1}\nworkflow: [{step: start, tool: {kind: noop, result: "{{ workload.n }}"}}]\n'


def triggers() -> dict[str, dict[str, object]]:
    """Each number comes by a request and by a message, and the end of each of these starts one more."""
    token = {"signature": "token", "secret": "hooks", "key": "{{ body.n }}"}
    return {
        "asked": {"playbook": "t/asked", "webhook": token, "inputs": {"n": "{{ body.n }}"}},
        "sent": {
            "playbook": "t/sent",
            "nats": {"subject": "numbers", "deliver": "all"},
            "inputs": {"n": "{{ body.n }}"},
        },
        "behind": {"playbook": "t/behind", "after": {"playbook": "t/[as]*"}, "inputs": {"n": "{{ result }}"}},
    }


@pytest.mark.long  # `test_message_starts.py` and `test_triggers.py` kill servers each time
@pytest.mark.parametrize("seconds", [25, 300], ids=["short", "five minutes"])
def test_what_happens_is_started_once(seconds: int, cluster: Cluster) -> None:
    chance, end = Random(seconds), time.monotonic() + seconds
    cluster.keep("hooks", SECRET)
    servers = [cluster.server() for _ in range(2)]
    workers = [cluster.worker("--slots", "8") for _ in range(2)]
    asyncio.run(_with_streams(lambda streams: streams.add_stream(name="NUMBERS", subjects=["numbers"])))
    for name in ("asked", "sent", "behind"):
        (cluster.folder / f"{name}.yaml").write_text(HEAD.replace("t/t", f"t/{name}") + BODY)
        cluster.noetl("register", f"{name}.yaml", server=servers[0])
    for name, spec in triggers().items():
        document = {"apiVersion": "noetl.io/v2", "kind": "Trigger", "metadata": {"name": name}, "spec": spec}
        (cluster.folder / f"{name}.json").write_text(json.dumps(document))
        cluster.noetl("triggers", "put", f"{name}.json", server=servers[0])
    number, blows = 0, chance.sample(KILLS, len(KILLS))
    next_blow = time.monotonic() + 4
    try:
        while time.monotonic() < end:
            _ask(cluster, servers, chance, number)
            asyncio.run(_published(number))
            number += 1
            time.sleep(0.05)
            if time.monotonic() < next_blow:
                continue
            next_blow = time.monotonic() + max(4, seconds / 30)
            deal(blows.pop() if blows else chance.choice(KILLS), cluster, servers, workers, chance)
        with cluster.looking() as runtime:
            waited_for(lambda: len(runtime.store.executions()) >= 4 * number, "not all is started", 120)
            waited_for(lambda: not runtime.store.counts().get("running"), "not all comes to its end", 120)
            time.sleep(35)  # a message that nobody answered comes once more
            found = _started(runtime)
            done = done_here(cluster.folder, ("store", "check", "--replay", "--store", cluster.store))
            assert done.returncode == 0, done.stdout
    finally:
        with suppress(Exception):
            asyncio.run(_with_streams(lambda streams: streams.delete_stream("NUMBERS")))
    assert number > seconds  # it went on meanwhile
    assert found["asked"] == Counter(range(number))
    assert found["sent"] == Counter(range(number))
    assert found["behind"] == Counter([*range(number), *range(number)])


def _ask(cluster: Cluster, servers: list[Any], chance: Random, number: int) -> None:
    """Post until a server takes it, and now and then once more."""
    again = chance.random() < 0.3
    while True:
        url = cluster.urls[chance.choice(servers).pid]
        with suppress(httpx.HTTPError):
            response = httpx.post(
                f"{url}/hooks/asked", json={"n": number}, headers={"X-Gitlab-Token": SECRET}, timeout=5
            )
            assert response.status_code in (202, 503), response.text
            if response.status_code == 202:
                if not again:
                    return
                again = False
        time.sleep(0.05)


async def _published(number: int) -> None:
    """Publish until the stream has it; what was sent twice is there once."""
    while True:
        with suppress(Exception):
            client = await driver.connect(f"nats://{nats().address}", connect_timeout=1, max_reconnect_attempts=1)
            try:
                headers = {"Nats-Msg-Id": str(number)}
                await client.jetstream().publish("numbers", json.dumps({"n": number}).encode(), headers=headers)
                return
            finally:
                await client.close()


async def _with_streams(work: Any) -> None:
    client = await driver.connect(f"nats://{nats().address}")
    try:
        await work(client.jetstream())
    finally:
        await client.close()


def _started(runtime: Runtime) -> dict[str, Counter[object]]:
    """The numbers that each trigger started, with how often."""
    found: dict[str, Counter[object]] = {name: Counter() for name in triggers()}
    for row in runtime.store.executions():
        _, first = next(iter(runtime.events(row.execution_id)))
        said = first.data["started_by"]
        payload = first.data["payload"]
        assert isinstance(said, dict) and isinstance(payload, dict)
        found[str(said["trigger"])][payload["n"]] += 1
    return found
