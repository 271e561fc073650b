"""Traces on the command line: whether they are made, what a start comes with, and what a run leaves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from noetl.cli.text import Problem, warn
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from noetl.app.runtime import Runtime
    from noetl.host.trace_sampling import Tracing

EXTRA = "traces need the extra: pip install 'noetlc[otel]'"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def tracing_here() -> Tracing | None:
    """How traces are made, by the variables of OpenTelemetry; None where they name no collector. Raises UsageError."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):  # most commands have none, and import nothing
        return None
    from noetl.host.trace_sampling import BadTracing, tracing_of

    try:
        return tracing_of(os.environ)
    except BadTracing as problem:
        raise click.UsageError(str(problem)) from None


def telling_here() -> Tracing | None:
    """`tracing_here` for a process that tells traces itself. Raises UsageError, and Problem where the extra lacks."""
    found = tracing_here()
    if found is not None:
        try:
            import noetl.app.tracing.exporting  # noqa: F401  (told now, and not when the first trace is)
        except ImportError as missing:
            raise needs_extra(missing) from None
    return found


def received_here() -> dict[str, Json] | None:
    """The context that the caller of this command works in (TRACEPARENT), as a start has it; None without one."""
    header = os.environ.get("TRACEPARENT")
    if not header:
        return None
    from noetl_ir.trace_ids import context_of

    return None if context_of(header) is None else {"traceparent": header.strip()}


def tell_traces(runtime: Runtime, execution_id: str) -> None:
    """Tell the collector the traces of an execution that is over, and of those that it called. What is not told is a
    warning: the run has ended, and came to what it came to.
    """
    from noetl.app.retention import Purger
    from noetl.app.snapshots import UnreadableExecution
    from noetl.ports.outbox import OutboxRow, Telling

    tracing, store = runtime.settings.tracing, runtime.store
    row = store.execution(execution_id)
    if tracing is None or row is None or row.ended is None:
        return
    if isinstance(store, Telling) and "trace" in store.outbox.watched_ends():
        return  # a server of this store tells it
    try:
        from noetl.app.outbox_delivery import NotTold
        from noetl.app.tracing.exporting import SpanExporter
        from noetl.app.tracing.telling import TraceTeller
    except ImportError as missing:
        warn([f"{EXTRA} ({missing})"])
        return
    exporter = SpanExporter()
    teller = TraceTeller(runtime, tracing, exporter)
    try:
        for each in Purger(runtime).family(row):
            teller(OutboxRow(0, "trace", each.execution_id, None, 0, 0))
    except (NotTold, UnreadableExecution) as problem:
        warn([f"the trace was not told: {problem}"])
    finally:
        exporter.close()


def needs_extra(missing: ImportError) -> Problem:
    """The problem of a command that lacks the packages."""
    return Problem(f"{EXTRA} ({missing})")
