"""Scenarios 92 and 94 over processes: NUL, lone surrogates and large numbers cross NATS and PostgreSQL unchanged."""

import json

from harness.clusters import Cluster, checked
from services import waited_for

ODD = """
workload: {id: 9007199254740993, huge: 1}
workflow:
- step: start
  tool:
    - {name: a, kind: python, code: "result = 'a' + chr(0) + 'b' + chr(0xD800)"}
    - {name: b, kind: wait, events: [go]}
    - {name: c, kind: noop, result: ["{{ workload.id }}", "{{ workload.huge + 1 }}", "{{ a }}", "{{ b.data }}"]}
  next: {arcs: [{step: bad, args: {seen: "{{ start }}"}}]}
- step: bad
  tool: {kind: python, args: {seen: "{{ args.seen }}"}, code: "raise ValueError(chr(0) + chr(0xD800) + str(seen[1]))"}
"""


def test_scenarios_92_and_94_what_no_text_column_takes_goes_through_a_cluster(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(ODD, server, "--set", "huge=123456789012345678901234567890")
    cluster.noetl("signal", name, "--name", "go", "--data", '"\\u0000\\ud800"', server=server)
    with cluster.looking() as runtime:
        waited_for(lambda: (row := runtime.store.execution(name)) is not None and row.ended, "it does not end")
        log = checked(runtime, name, "failed")
    (error,) = [event.data["error"] for event in log if event.event_type == "step.failed"]
    assert "\0\ud800123456789012345678901234567891" in error["message"], error
    found = json.loads(cluster.noetl("result", name, "start", server=server))
    assert found == [9007199254740993, 123456789012345678901234567891, "a\0b\ud800", "\0\ud800"]
