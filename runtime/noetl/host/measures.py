"""Figures of what a process does, for Prometheus: counters and histograms with bounded labels.

Each family of figures stands in `FAMILIES`, and nowhere else: a label has at most `MOST` values, and what comes then is
counted as `other`, so that no playbook, code or kind makes series without end. The codes that are documented have their
places whatever came before them. No label is an id or a value of a run.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock

from noetl_ir.error_codes import ERRORS
from noetl_ir.records import NamedTuple

MOST = 200
"""The values that one label has in one family, before others are counted as `OTHER`."""

OTHER = "other"

LONGEST = 200
"""Characters of a label; names of playbooks are mostly shorter."""

_MOMENTS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SPANS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
"""Bounds of buckets in seconds: of what a machine does, and of what people wait for."""


class FigureFamily(NamedTuple):
    """A family of figures. With `bounds` it is a histogram of seconds, else a counter.

    - `known`: combinations of labels that are there from the beginning, at 0. Prometheus sees how a counter grows from
      look to look: one that appears with 1 has not grown, and an alert on it would not hear of the first.
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    known: tuple[tuple[str, ...], ...] = ()


def _each(labels: Iterable[str]) -> tuple[tuple[str], ...]:
    """Combinations of one label."""
    return tuple([(label,) for label in labels])


_REASONS = ("failure", "no_room", "refused", "conflict")
_BECAME = ("started", "backfilled", "asked", "skipped", "missed", "quota", "refused")
_TRIGGERS = ("webhook", "after", "nats")
_REFUSALS = (("webhook", "unsigned"), *((kind, why) for kind in _TRIGGERS for why in ("dead", "later")))

SERVER = (
    FigureFamily("noetl_executions_started", "Executions that began on this server.", ("playbook",)),
    FigureFamily("noetl_executions_ended", "Executions that ended on this server.", ("playbook", "status")),
    FigureFamily("noetl_execution_seconds", "From the request to the end of an execution.", ("playbook",), _SPANS),
    FigureFamily(
        "noetl_execution_failures", "Executions that failed, by the code of their error.", ("code",), (), _each(ERRORS)
    ),
    FigureFamily("noetl_queue_seconds", "From an order to the start of its first task.", ("pool",), _SPANS),
    FigureFamily("noetl_task_seconds", "From the start to the end of an attempt at a task.", ("kind",), _SPANS),
    FigureFamily("noetl_task_attempts", "Attempts at tasks that ended.", ("kind", "status")),
    FigureFamily("noetl_task_retries", "Attempts that are made again, by the code of the error before.", ("code",)),
    FigureFamily("noetl_lost_claims", "Claims that were lost with the worker that had them.", ("pool",)),
    FigureFamily("noetl_events", "Events that were written."),
    FigureFamily("noetl_round_seconds", "A round in which there was something to decide.", (), _MOMENTS),
    FigureFamily("noetl_commit_seconds", "A write to the store, with the waits for room.", (), _MOMENTS),
    FigureFamily("noetl_store_errors", "Writes and looks that the store did not do.", ("reason",), (), _each(_REASONS)),
    FigureFamily("noetl_bus_losses", "Times that the bus to the workers could no longer be reached."),
    FigureFamily(
        "noetl_schedule_times", "Times of schedules by what became of them.", ("outcome",), (), _each(_BECAME)
    ),
    FigureFamily("noetl_schedule_late_seconds", "From a time of a schedule, and its jitter, to its start.", (), _SPANS),
    FigureFamily("noetl_trigger_starts", "Executions that triggers started.", ("kind",), (), _each(_TRIGGERS)),
    FigureFamily("noetl_trigger_refusals", "What triggers did not start.", ("kind", "reason"), (), _REFUSALS),
    FigureFamily(
        "noetl_refused_starts", "Starts that a quota of a namespace refused.", ("playbook_namespace", "quota")
    ),
    FigureFamily("noetl_requests", "Requests to the API that were answered.", ("operation", "status")),
    FigureFamily("noetl_request_seconds", "From a request to the beginning of its answer.", ("operation",), _MOMENTS),
)
WORKER = (
    FigureFamily("noetl_worker_tool_seconds", "A call of a tool.", ("kind",), _SPANS),
    FigureFamily("noetl_worker_tools", "Calls of tools that ended.", ("kind", "status")),
)
GATEWAY = tuple(family for family in SERVER if family.name.startswith("noetl_request"))
FAMILIES = (*SERVER, *WORKER)


class Series:
    """The figures of one combination of labels: counts, and the sum of seconds."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self, buckets: int) -> None:
        self.buckets = [0] * buckets
        self.count = 0
        self.total = 0.0


class Measures:
    """The figures of a process; from any thread. Names are those of `FAMILIES`."""

    def __init__(self, families: Sequence[FigureFamily] = SERVER) -> None:
        self._families: Mapping[str, FigureFamily] = {family.name: family for family in families}
        self._series: dict[str, dict[tuple[str, ...], Series]] = {family.name: {} for family in families}
        self._values: dict[tuple[str, int], set[str]] = {}
        self._lock = Lock()
        for family in families:
            for labels in family.known:
                self._of(family.name, labels)

    def begin_counter(self, name: str, *labels: str) -> None:
        """Have a counter at 0 before it counts anything, once its labels are known."""
        with self._lock:
            self._of(name, labels)

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Count something."""
        with self._lock:
            self._of(name, labels).count += by

    def counter(self, name: str, *labels: str) -> "Series":
        """The figures of one combination of labels, for the one thread that counts them: with no lock, as events are so
        many.
        """
        with self._lock:
            return self._of(name, labels)

    def observe(self, name: str, seconds: float, *labels: str) -> None:
        """Take in how long something took; less than nothing, where a clock was set, is nothing."""
        seconds = max(seconds, 0.0)
        with self._lock:
            series = self._of(name, labels)
            series.count += 1
            series.total += seconds
            series.buckets[bisect_left(self._families[name].bounds, seconds)] += 1

    def text(self) -> str:
        """All figures in the text format of Prometheus."""
        return "".join([f"{line}\n" for family in self._families.values() for line in self._lines(family)])

    def _of(self, name: str, labels: tuple[str, ...]) -> Series:
        known = self._series[name]
        found = known.get(labels)
        if found is None:
            labels = tuple([self._bounded(name, place, label_of(label)) for place, label in enumerate(labels)])
            found = known.get(labels)
            if found is None:
                found = known[labels] = Series(len(self._families[name].bounds) + 1)
        return found

    def _bounded(self, name: str, place: int, label: str) -> str:
        values = self._values.get((name, place))
        if values is None:
            reserved = ERRORS if self._families[name].labels[place] == "code" else ()
            values = self._values[name, place] = {*reserved}
        if label not in values and len(values) >= MOST:
            return OTHER
        values.add(label)
        return label

    def _lines(self, family: FigureFamily) -> Iterator[str]:
        # A counter ends in `_total` in its samples, and in this format in its head, too.
        name = family.name if family.bounds else f"{family.name}_total"
        yield f"# HELP {name} {family.text}"
        yield f"# TYPE {name} {'histogram' if family.bounds else 'counter'}"
        with self._lock:
            found = sorted(
                (key, one.count, one.total, [*one.buckets]) for key, one in self._series[family.name].items()
            )
        if not found and not family.labels:
            found = [((), 0, 0.0, [0] * (len(family.bounds) + 1))]
        for key, count, total, buckets in found:
            labels = [f'{label}="{escaped_label(value)}"' for label, value in zip(family.labels, key, strict=True)]
            if not family.bounds:
                yield f"{name}{_braced(labels)} {count}"
                continue
            reached = 0
            for bound, here in zip((*map(repr, family.bounds), "+Inf"), buckets, strict=True):
                reached += here
                bucket = [*labels, f'le="{bound}"']
                yield f"{name}_bucket{_braced(bucket)} {reached}"
            yield f"{name}_sum{_braced(labels)} {total!r}"
            yield f"{name}_count{_braced(labels)} {count}"


def label_of(text: str) -> str:
    """A text as a label has it: of bounded length, and without what UTF-8 has not (lone surrogates)."""
    return text[:LONGEST].encode("utf-8", "replace").decode("utf-8")


def _braced(labels: Sequence[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


def escaped_label(value: str) -> str:
    """The value of a label as it stands between quotes."""
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
