"""Who speaks on the bus without an order: what he says of a claim is not recorded, and the server says so."""

import httpx
import pytest

from harness.clusters import Cluster
from harness.samples import first
from noetl.bus.nats.bus import NatsBus
from noetl.ports.bus import Ticket
from noetl_ir.events import Event
from noetl_ir.orders import Answer, LeaseHeartbeat, Report, Said, StopPipeline
from services import waited_for

SLOW = """
workload: {go: ""}
workflow:
- step: start
  tool:
    kind: python
    args: {go: "{{ workload.go }}"}
    code: |
      import os, time
      while go and not os.path.exists(go):
          time.sleep(0.02)
      result = 'honest'
"""


def answered(bus: NatsBus, key: str, said: Said) -> Answer:
    """The answer of a server to a message on the bus."""
    ticket: Ticket[Answer] = bus.report(key, said)
    waited_for(lambda: ticket.answer is not None, "nobody answers")
    assert ticket.answer is not None
    return ticket.answer


def end_of(log: list[Event], value: str) -> Event:
    """The end of the only task of a run, as its worker reported it, with another value."""
    (done,) = [event for event in log if event.event_type == "task.done"]
    return done._replace(fired=(), data={**done.data, "result": value})


def start_of(cluster: Cluster, name: str) -> Event:
    """The start of the only task of an execution, once it is there."""
    found: list[Event] = []

    def is_there() -> bool:
        with cluster.looking() as runtime:
            found[:] = [event for _, event in runtime.events(name) if event.event_type == "task.started"]
        return bool(found)

    waited_for(is_there, "nothing runs")
    return found[0]


@pytest.mark.parametrize("mac", first(1, ["", "00" * 16, "not a code"]))
def test_a_report_from_whom_no_order_went_to_is_not_recorded(cluster: Cluster, mac: str) -> None:
    server = cluster.server()
    cluster.worker()
    forged = end_of(cluster.ended(cluster.begin(SLOW, server))[0], "forged")
    go = cluster.folder / "go"
    name = cluster.begin(SLOW, server, "--set", f"go={go}")
    started = start_of(cluster, name)
    bus = NatsBus(cluster.bus)
    try:
        report = Report(name, started.run, started.claim, (forged,), "somebody:1", mac)
        assert answered(bus, "k", report) == Answer(0)
        assert answered(bus, "b", LeaseHeartbeat(name, started.run, started.claim, "somebody:1", mac)) == Answer(0)
        bus.send("@stops", "stop", StopPipeline(name, started.run, started.claim, mac))
    finally:
        bus.close()
    go.touch()
    log = cluster.ended(name)[0]
    assert [event.data["result"] for event in log if event.event_type == "task.done"] == ["honest"]
    metrics = httpx.get(f"{cluster.urls[server.pid]}/metrics").text
    assert "noetl_refused_reports_total 2.0" in metrics
