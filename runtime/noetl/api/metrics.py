"""`/metrics`: how the server stands, in the text format of Prometheus."""

import time
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noetl.api.service import ApiService
from noetl.api.standing_metrics import StandingCollector
from noetl.host.measures import label_of
from noetl.ports import Store, StoreFailure
from noetl.ports.outbox import Telling, WantedOutbox
from noetl_ir.records import NamedTuple

MOST_DEAD = 1_000
"""The dead letters that are counted."""

TYPE = "text/plain; version=0.0.4; charset=utf-8"


Connections: TypeAlias = Callable[[], tuple[int, int]]
"""How many connections there are, and how many were dropped for there being too many."""


class _Stand(Collector):
    """Asks the service each time that somebody reads the metrics."""

    def __init__(self, service: ApiService, connections: Connections, expiring: int) -> None:
        self._service = service
        self._expiring = expiring
        self._connections = connections

    def collect(self) -> list[Metric]:
        """The families, made anew."""
        executions = GaugeMetricFamily("noetl_executions", "Executions in the store by status.", labels=["status"])
        stand, (connections, dropped) = self._service.standing(), self._connections()
        # Whoever scrapes waits ten seconds, and a store that is away is what has to be told then.
        is_away = stand.trouble is not None
        for status, count in ({} if is_away else self._counts()).items():
            executions.add_metric([status], count)
        workers = GaugeMetricFamily("noetl_workers", "Workers by pool and state.", labels=["pool", "state"])
        counts = Counter((label_of(each.pool), each.state) for each in self._service.heartbeats())
        for labels, count in counts.items():
            workers.add_metric(labels, count)
        waiting = GaugeMetricFamily(
            "noetl_oldest_order_seconds",
            "How long the oldest order has waited that no worker has begun.",
            labels=["pool"],
        )
        orders = GaugeMetricFamily(
            "noetl_waiting_orders",
            "Orders that wait for room on the way to the workers.",
            labels=["playbook_namespace"],
        )
        for namespace, count in stand.orders.items():
            orders.add_metric([label_of(namespace)], count)
        untold = Untold(0, None) if is_away else _untold(self._service.runtime.store)
        behind = 0.0 if untold.since is None else max(time.time() - untold.since / 1e6, 0.0)
        for pool, at in stand.oldest.items():
            waiting.add_metric([label_of(pool)], max(time.time() - at / 1e6, 0.0))
        rows = (
            ("noetl_dead_letters", "What could not be told outside, and is tried no more.", untold.dead),
            ("noetl_outbox_seconds", "How long the oldest has waited of what is to be told outside.", behind),
            ("noetl_expiring_tokens", "Tokens that expire within a week.", self._expiring),
            ("noetl_connections", "Connections to this server.", connections),
            ("noetl_driven_executions", "Executions that this server drives.", stand.executions),
            ("noetl_busy_slots", "Pipelines at work in this process.", stand.busy),
            ("noetl_waiting_requests", "Requests that wait for the next round.", stand.waiting),
            ("noetl_store_failing", "1 while the store cannot be used.", int(stand.trouble is not None)),
            ("noetl_store_full", "1 while there is no room for values or events.", int(bool(stand.full))),
            ("noetl_bus_unreachable", "1 while workers elsewhere cannot be reached.", int(not stand.reaches)),
        )
        refused = CounterMetricFamily(
            "noetl_refused_reports", "Reports and heartbeats on claims from whom no order went to.", value=stand.refused
        )
        return [
            executions,
            workers,
            waiting,
            orders,
            refused,
            CounterMetricFamily(
                "noetl_dropped_connections", "Connections that made room for others, or had none.", value=dropped
            ),
            *(GaugeMetricFamily(name, text, value=value) for name, text, value in rows),
        ]

    def _counts(self) -> dict[str, int]:
        try:
            return self._service.counts()
        except StoreFailure:  # since a moment ago
            return {}


class Untold(NamedTuple):
    """How the outbox stands: its dead letters, at most `MOST_DEAD`, and since when its oldest row waits (microseconds
    since the epoch).
    """

    dead: int
    since: int | None


def _untold(store: Store) -> Untold:
    if not isinstance(store, Telling):
        return Untold(0, None)
    try:
        waiting = store.outbox.outbox_rows(WantedOutbox(dead=False, limit=1))
        dead = store.outbox.outbox_rows(WantedOutbox(dead=True, limit=MOST_DEAD))
    except StoreFailure:
        return Untold(0, None)
    return Untold(len(dead), waiting[0].at if waiting else None)


def metrics_text(service: ApiService, connections: Connections, expiring: int = 0) -> bytes:
    """All metrics, as the body of the response. `expiring` is how many tokens expire soon."""
    # A registry a request, and none for the process: the figures are asked for now, and a second server in one
    # process (a test's) would clash. `auto_describe` would collect everything twice.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Stand(service, connections, expiring))
    if service.standing().trouble is None:
        registry.register(StandingCollector(service.runtime.store))
    return bytes(generate_latest(registry)) + service.measures.text().encode()
