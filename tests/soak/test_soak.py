"""A cluster at work for a while: memory, file handles and connections stay what they were once it was warm.

`SOAK_SECONDS=300 pytest tests/soak` goes on for as long; otherwise it is a short one, and the short run has a
shorter one.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from harness.clusters import Cluster, Process
from harness.samples import first
from services import postgres, waited_for

SECONDS = (1.0, float(os.environ.get("SOAK_SECONDS", "15")))
WAVE = 40
"""Executions begun at once; the next wave begins when all are over."""

WARM = 2
"""Waves before anything is measured."""

MORE_MEMORY = 16 << 20
MORE_HANDLES = 4

BODY = """
workflow:
  - step: start
    loop: {in: "{{ range(3) | list }}", iterator: n, spec: {mode: parallel}}
    tool: {name: each, kind: noop, args: {n: "{{ iter.n }}"}}
    next: {arcs: [{step: last, spec: {delay: 0.1}}]}
  - {step: last, tool: [{name: s, kind: shell, command: "true"}, {name: t, kind: noop}]}
"""


class Used(NamedTuple):
    """The use of a process: bytes in memory, and open files and sockets."""

    memory: int
    handles: int


@pytest.mark.parametrize("seconds", first(1, SECONDS))
def test_nothing_grows(cluster: Cluster, seconds: float) -> None:
    server, worker = cluster.server(), cluster.worker()
    first = cluster.begin(BODY, server)
    for _ in range(WARM):
        _wave(cluster, server, first)
    before, connected = [_used(server), _used(worker)], _connections()
    until, waves = time.monotonic() + seconds, 0
    while time.monotonic() < until or not waves:
        _wave(cluster, server, first)
        waves += 1
    for was, now in zip(before, [_used(server), _used(worker)], strict=True):
        assert now.memory - was.memory < MORE_MEMORY, (was, now, waves)
        assert now.handles - was.handles <= MORE_HANDLES, (was, now, waves)
    assert _connections() <= connected + MORE_HANDLES


def _wave(cluster: Cluster, server: Process, like: str) -> None:
    cluster.flooded(like, server, WAVE)
    with cluster.looking() as runtime:
        waited_for(lambda: not runtime.store.counts().get("running"), "a wave does not end", 60)
        assert set(runtime.store.counts()) <= {"completed", "running"}, runtime.store.counts()


def _used(process: Process) -> Used:
    folder = Path(f"/proc/{process.pid}")
    pages = int((folder / "statm").read_text().split()[1])
    return Used(pages * os.sysconf("SC_PAGE_SIZE"), len([*(folder / "fd").iterdir()]))


def _connections() -> int:
    with psycopg.connect(postgres().url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        ).fetchone()
    assert row is not None
    return int(row[0])
