"""`/metrics` of a gateway: how its groups stand, and its requests, in the text format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from noetl.api.gateway.upstream import BUSY, GONE, READY, Upstream
from noetl.host.measures import Measures


def gateway_metrics(upstream: Upstream, measures: Measures) -> bytes:
    """All metrics, as the body of a response."""
    registry = CollectorRegistry(auto_describe=False)
    text = "1 for how a group of servers stands, as far as this gateway can tell."
    groups = Gauge("noetl_group_state", text, ["group", "state"], registry=registry)
    for name in upstream.groups:
        # Each state has a series, so that one which is over is 0, and not what it was last.
        for state in (READY, BUSY, GONE):
            groups.labels(name, state).set(upstream.state(name) == state)
    return bytes(generate_latest(registry)) + measures.text().encode()
