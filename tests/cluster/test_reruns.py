"""Reruns in a cluster: begun by one server, gone on with by another one, with values that lie in PostgreSQL."""

import json

import pytest

from harness.clusters import Cluster, checked, killed
from services import waited_for

BODY = """
workflow:
- step: start
  tool: {kind: shell, command: "echo one >> calls; seq 9", spec: {inline_max_bytes: 0}}
  next: {arcs: [{step: late, args: {seen: "{{ start.exit_code }}"}}]}
- step: late
  tool: {kind: shell, command: "echo begun >> calls; test -e ok"}
  next: {arcs: [{step: last}]}
- step: last
  tool: {kind: python, args: {out: "{{ start.stdout }}"}, code: "result = len(out.split())"}
"""


@pytest.mark.long
def test_a_rerun_is_gone_on_with_by_another_server(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    failed = cluster.begin(BODY, server)
    with cluster.looking() as runtime:
        waited_for(
            lambda: (row := runtime.store.execution(failed)) is not None and row.ended is not None, "it never fails"
        )
        checked(runtime, failed, "failed")
    (cluster.folder / "ok").touch()
    begun = json.loads(cluster.noetl("rerun", failed, "--json", "--key", "once", server=server))
    killed(server)
    other = cluster.server()
    [log] = cluster.ended(begun["execution_id"])
    assert json.loads(cluster.noetl("result", begun["execution_id"], "--json", server=other)) == 9
    assert cluster.lines() == ["one", "begun", "begun"] or cluster.lines() == ["one", "begun", "begun", "begun"]
    assert [event.event_type for event in log].count("playbook.rerun") == 1
    again = json.loads(cluster.noetl("rerun", failed, "--json", "--key", "once", server=other))
    assert again["execution_id"] == begun["execution_id"]
