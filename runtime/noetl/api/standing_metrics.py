"""Gauges of what starts playbooks by itself: schedules and triggers as they stand in the store, for Prometheus."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noetl.app.clock import WallClock
from noetl.ports import Store, StoreFailure
from noetl.ports.schedules import Scheduled, ScheduleRow
from noetl.ports.triggers import Triggered
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.document import schedule_of
from noetl.server.schedules.due import jitter_of

_MOST = 10_000
"""Awaited ends that are counted."""


class StandingCollector(Collector):
    """Asks the store each time that somebody reads the metrics."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """The families, made anew; without those that a store that fails does not tell."""
        try:
            if isinstance(self._store, Scheduled):
                yield from _of_schedules(self._store.scheduling.rows(), WallClock().now())
            if isinstance(self._store, Triggered):
                yield from _of_triggers(self._store)
        except StoreFailure:
            return


def _of_schedules(rows: tuple[ScheduleRow, ...], now: int) -> Iterator[Metric]:
    schedules = GaugeMetricFamily("noetl_schedules", "Schedules by state.", labels=["state"])
    counts = Counter("paused" if row.paused else "hindered" if row.trouble else "active" for row in rows)
    for state in ("active", "paused", "hindered"):
        schedules.add_metric([state], counts[state])
    yield schedules
    late = [_overdue(row, now) for row in rows if not row.paused]
    yield GaugeMetricFamily(
        "noetl_schedule_overdue_seconds",
        "How long the oldest time of a schedule has passed that is not dealt with.",
        value=max(late, default=0) / 1e6,
    )


def _overdue(row: ScheduleRow, now: int) -> int:
    """By how many microseconds the next time of a schedule has passed, with its jitter."""
    try:
        schedule = schedule_of(row.document)
    except BadDocument:  # a newer version may have put it there
        return 0
    coming = next(schedule.calendar.behind(row.cursor), None)
    return 0 if coming is None else max(0, now - coming - jitter_of(schedule, coming))


def _of_triggers(store: Triggered) -> Iterator[Metric]:
    triggers = GaugeMetricFamily("noetl_triggers", "Triggers by kind and state.", labels=["kind", "state"])
    rows = store.triggering.rows()
    states = Counter((row.kind, "paused" if row.paused else "hindered" if row.trouble else "active") for row in rows)
    for labels, count in states.items():
        triggers.add_metric(labels, count)
    yield triggers
    yield GaugeMetricFamily(
        "noetl_awaited_ends",
        "Ends of executions that triggers have not dealt with.",
        value=len(store.triggering.awaited_ends(_MOST)),
    )
