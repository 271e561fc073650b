"""The traces of a server: each execution that ends is told to the collector once its end is on disk.

A row of the outbox goes with the end, so that a crash loses no trace; a trace that is told again after one has the same
ids, so that a collector has it once.
"""

from noetl.app.outbox_delivery import NotTold
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution
from noetl.app.tracing.exporting import NotExported, SpanExporter
from noetl.app.tracing.reading import first_of, spans_of
from noetl.app.tracing.spans import received_by
from noetl.host.trace_sampling import Tracing
from noetl.ports.outbox import OutboxRow
from noetl.server.children import NotFound


class TraceTeller:
    """Tells the trace of an execution that is over."""

    def __init__(self, runtime: Runtime, tracing: Tracing, exporter: SpanExporter) -> None:
        self._runtime = runtime
        self._tracing = tracing
        self._exporter = exporter

    def __call__(self, row: OutboxRow) -> None:
        """Tell the trace of the execution that a row is about. Raises NotTold, StoreFailure."""
        found = self._runtime.store.execution(row.subject)
        if found is None or self._runtime.was_scripted(row.subject):  # purged meanwhile, or on a clock of its own
            return
        try:
            first = first_of(self._runtime, row.subject)
            if first is None:
                return
            root_id = str(first.data.get("trace_id") or row.subject)
            if self._tracing.is_kept(root_id, received_by(first)):
                self._exporter.export(spans_of(self._runtime, found))
        except NotExported as problem:
            raise NotTold(str(problem)) from None
        except (UnreadableExecution, NotFound) as problem:
            raise NotTold(str(problem), for_good=True) from None
