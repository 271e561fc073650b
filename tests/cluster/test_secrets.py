"""Secrets are those of the workers: a server asks for them before a start, by their names."""

from contextlib import closing

from harness.clusters import Cluster
from harness.running import HEAD
from noetl.app.adapters import open_bus
from noetl_ir.orders import Broadcast, Check, Checked
from services import waited_for

CANARY = "canary-8315-of-the-worker"
SECRET = """
keychain: [{name: told, kind: credential, credential: house}]
workflow:
- step: start
  tool: {kind: shell, env: {T: "{{ keychain.told.value }}"}, command: "echo ${#T} | tee -a calls; echo it is $T"}
"""


def test_nothing_is_started_that_no_worker_has_the_secrets_for(cluster: Cluster) -> None:
    server = cluster.server()
    heard: list[Broadcast] = []
    with closing(open_bus(cluster.bus)) as bus:
        heard.extend(bus.received())
        cluster.worker("--name", "w1")
        waited_for(lambda: "w1" in cluster.noetl("workers", "list", server=server), "the worker is not known")
        (cluster.folder / "t.yaml").write_text(HEAD + SECRET)
        said = cluster.refused("start", "t.yaml", server=server)
        assert "nothing was started" in said and "pool `default`" in said and "w1" in said and "'house'" in said
        cluster.keep("house", CANARY)
        name = cluster.begin(SECRET, server)
        log = cluster.ended(name)[0]
        waited_for(lambda: heard.extend(bus.received()) or len(_of(heard)) >= 4, "not all is heard")
    assert cluster.lines() == [str(len(CANARY))]
    assert [len(broadcast.problems) for broadcast in _of(heard) if isinstance(broadcast, Checked)] == [1, 0]
    assert CANARY not in repr(heard) and CANARY not in repr(log)
    length, shown = cluster.noetl("logs", name, server=server).splitlines()
    assert length.endswith(f"| {len(CANARY)}") and "| it is [[secret:told:value:" in shown


def _of(heard: list[Broadcast]) -> list[Broadcast]:
    return [broadcast for broadcast in heard if isinstance(broadcast, Check | Checked)]
