"""Executions that move to another plan in a cluster: asked of any server, at work or waiting, and whoever dies then."""

import pytest

from harness.clusters import Cluster, killed
from services import waited_for

BODY = """
workflow:
- step: start
  loop: {in: [1, 2, 3, 4], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
  tool:
    kind: python
    args: {n: "{{ iter.n }}"}
    code: |
      import os, time
      open('calls', 'a').write(f'{n}\\n')
      while not os.path.exists('go'):
          time.sleep(0.05)
      result = {'n': n, 'x': 'y' * 1_000_000}
  next: {arcs: [{step: hold}]}
- step: hold
  tool: {kind: wait, events: [done]}
  next: {arcs: [{step: last}]}
- step: last
  tool: {kind: python, args: {all: "{{ start }}"}, code: "result = sum(one['n'] for one in all)"}
"""


@pytest.mark.long
@pytest.mark.parametrize("dies", ["none", "owner", "worker"])
def test_what_is_at_work_moves_and_ends_as_the_new_plan_says(cluster: Cluster, dies: str) -> None:
    owner, other = cluster.server(), cluster.server()
    workers = [cluster.worker(), cluster.worker()]
    name = cluster.begin(BODY, owner)
    cluster.reached("2")
    (cluster.folder / "new.yaml").write_text((cluster.folder / "t.yaml").read_text().replace("sum(", "100 * sum("))
    said = cluster.noetl("migrate-run", name, "--plan", "new.yaml", server=other)
    assert said.startswith(f"moved: execution {name}")
    if dies == "owner":
        killed(owner)
    elif dies == "worker":
        killed(workers[0])
    (cluster.folder / "go").touch()
    waited_for(lambda: "hold" in cluster.noetl("status", name, server=other), "it never waits", 60)
    refused = (cluster.folder / "t.yaml").read_text().replace("events: [done]", "events: [never]")
    (cluster.folder / "other.yaml").write_text(refused)
    told = cluster.refused("migrate-run", name, "--plan", "other.yaml", server=other)
    assert "step `hold` is at work or waits, and does something else in the new plan" in told
    cluster.noetl("signal", name, "--name", "done", server=other)
    [log] = cluster.ended(name, seconds=90)
    assert cluster.noetl("result", name, server=other).strip() == "1000"
    assert [event.event_type for event in log].count("playbook.migrated") == 1
    assert cluster.noetl("replay", name, server=other).startswith("a legal run")
    runs = sorted(map(int, cluster.lines()))
    assert runs == [1, 2, 3, 4] or dies == "worker", "no item ran twice but those of a worker that died"
