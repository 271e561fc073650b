"""Task output from workers to servers and their store: live, whole at the end of a task, and hidden."""

import json
import signal
from typing import Any

import pytest

from harness.clusters import STANDING, Cluster
from services import waited_for

CANARY = "canary-8315-of-the-output"
PRINTS = """
keychain: [{name: told, kind: credential, credential: house}]
workflow:
- step: start
  loop: {in: "{{ range(20) | list }}", iterator: n, spec: {mode: parallel}}
  tool:
    kind: python
    args: {n: "{{ iter.n }}", secret: "{{ keychain.told.value }}"}
    code: |
      print("number", n)
      print("secret", secret)
  next: {arcs: [{step: stands}]}
- step: stands
  tool: {name: s, kind: shell, command: "echo begun; echo x >> calls; until test -e go; do sleep 0.05; done; echo done"}
"""


@pytest.mark.long
def test_output_of_workers_is_kept_by_their_server(cluster: Cluster) -> None:
    server, _ = cluster.server(), cluster.worker()
    cluster.keep("house", CANARY)
    name = cluster.begin(PRINTS, server)
    cluster.reached("x")

    def logs(*words: str) -> list[str]:
        return cluster.noetl("logs", name, *words, server=server).splitlines()

    # Every task that has ended is whole, and the one that runs is followed.
    lines = logs("start")
    assert sorted(line for line in lines if "number" in line) == sorted(
        f"start[{n}] / start_task | number {n}" for n in range(20)
    )
    assert len(lines) == 40 and CANARY not in "\n".join(lines) and "[[secret:told" in lines[1] + lines[0]
    waited_for(lambda: logs("stands") == ["stands / s | begun"], "it is not followed")
    (cluster.folder / "go").touch()
    cluster.ended(name)
    assert logs("stands", "--follow") == ["stands / s | begun", "stands / s | done"]


@pytest.mark.long
def test_a_server_that_comes_back_has_what_was_printed_meanwhile(cluster: Cluster) -> None:
    server = cluster.server()
    port = cluster.urls[server.pid].rpartition(":")[2]
    cluster.worker("--server", cluster.urls[server.pid])
    name = cluster.begin(STANDING.replace("echo begun >> calls", "echo begun | tee calls"), server)
    cluster.reached("begun")
    server.send_signal(signal.SIGKILL)
    server.wait(60)
    (cluster.folder / "go").touch()
    server = cluster.server("--port", port)
    cluster.ended(name)
    assert cluster.noetl("logs", name, server=server).splitlines() == ["start / a | begun"]


COUNTS = """
keychain: [{name: told, kind: credential, credential: house}]
workflow:
- step: start
  tool:
    name: s
    kind: shell
    env: {T: "{{ keychain.told.value }}"}
    command: |
      echo begun >> calls
      for i in $(seq 400); do
        printf 'line %s ' $i; printf %s "$T" | head -c 7; sleep 0.01; echo "$T" | tail -c +8
      done
"""


@pytest.mark.long
def test_what_a_killed_worker_printed_stays_beside_what_the_next_one_prints(cluster: Cluster) -> None:
    """Each attempt has its own lines in their order, none twice, and no part of the secret that was cut in two."""
    server, worker = cluster.server(), cluster.worker()
    cluster.keep("house", CANARY)
    name = cluster.begin(COUNTS, server)
    cluster.reached("begun")

    def chunks() -> list[dict[str, Any]]:
        said = cluster.noetl("logs", name, "--json", server=server)
        return [json.loads(line) for line in said.splitlines()]

    waited_for(lambda: len(chunks()) > 3, "nothing of it comes")
    worker.send_signal(signal.SIGKILL)
    worker.wait(60)
    left = chunks()
    cluster.worker()
    cluster.ended(name)
    found = chunks()
    assert [row for row in found if row["claim"] == left[0]["claim"]] == left, "what was there stays as it was"
    claims = sorted({row["claim"] for row in found})
    assert len(claims) == 2 and cluster.lines() == ["begun", "begun"]
    for claim in claims:
        text = "".join(row["text"] for row in found if row["claim"] == claim)
        assert CANARY not in text and CANARY[6:] not in text and CANARY.encode().hex() not in text
        numbers = [int(line.split()[1]) for line in text.splitlines() if line.startswith("line ")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) == 400 or claim == claims[0]
