"""The trace of an execution in a store: its log, and what it needs of the logs of executions that it is linked with."""

from collections.abc import Iterator

from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, program_of
from noetl.app.tracing.spans import ROOT, SpanRow, TraceReader, received_by
from noetl.ports import ExecutionRow, Wanted
from noetl_ir.events import Event
from noetl_ir.trace_ids import TraceContext, span_id_of, trace_id_of

MOST_CHILDREN = 1_000
"""The children that are looked for: each is a log of which the first event is read."""


def first_of(runtime: Runtime, execution_id: str) -> Event | None:
    """The first event of an execution; None for one that has none."""
    return next((event for _, event in events_of(runtime, execution_id)), None)


def spans_of(runtime: Runtime, row: ExecutionRow) -> Iterator[SpanRow]:
    """The spans of an execution, each once it has ended. Raises UnreadableExecution, StoreFailure."""
    program = program_of(runtime, row.execution_id)

    def related(execution_id: str) -> TraceContext | None:
        if (first := first_of(runtime, execution_id)) is None:
            return None
        received = received_by(first)
        trace_id = trace_id_of(execution_id) if received is None else received.trace_id
        return TraceContext(trace_id, span_id_of(execution_id, ROOT))

    children: dict[str, list[str]] = {}
    for child in runtime.store.executions(Wanted(parent=row.execution_id, limit=MOST_CHILDREN)):
        if (first := first_of(runtime, child.execution_id)) is not None:
            children.setdefault(str(first.data.get("call", "")), []).append(child.execution_id)
    reader = TraceReader(program, row.execution_id, related, children)
    yield from reader.read(event for _, event in events_of(runtime, row.execution_id))
