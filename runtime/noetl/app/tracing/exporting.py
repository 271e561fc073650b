"""Spans on their way to a collector: by the official exporter of OpenTelemetry, which reads its own variables."""

import logging
import threading
from collections.abc import Iterable
from itertools import islice

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from noetl.app.tracing.otlp_json import SCOPE
from noetl.app.tracing.spans import CLIENT, SpanRow
from noetl_ir.trace_ids import TraceContext

BATCH = 500
"""The spans of one request."""

SERVICE = "noetl"
"""The name of the service, where OTEL_SERVICE_NAME says none."""

# What it says would go to standard error past the log of the process, which masks secrets. What is not told is said
# by whoever tells it.
logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
logging.getLogger("opentelemetry").propagate = False

_STATUS = (StatusCode.UNSET, StatusCode.OK, StatusCode.ERROR)


LONGEST = 60.0
"""Seconds that one request may take in all. The exporter bounds each read of it: a collector that sends a byte now and
then would hold whoever tells traces for good.
"""


class NotExported(Exception):
    """The collector did not take spans."""


class SpanExporter:
    """Tells spans to the collector that the environment names. For one thread."""

    def __init__(self) -> None:
        self._exporter = OTLPSpanExporter()
        self._sending: threading.Thread | None = None
        found = Resource.create()
        # The SDK's own default is `unknown_service`.
        named = str(found.attributes.get(SERVICE_NAME, ""))
        self._resource = Resource({**found.attributes, SERVICE_NAME: SERVICE}) if named.startswith("unknown") else found
        self._scope = InstrumentationScope(SCOPE)

    def export(self, spans: Iterable[SpanRow]) -> None:
        """Tell spans, some at a time; returns when the collector has taken all. Raises NotExported."""
        rest = iter(spans)
        while batch := [self._readable(span) for span in islice(rest, BATCH)]:
            if self._sent(batch) is not SpanExportResult.SUCCESS:
                raise NotExported("the collector did not take the spans")

    def _sent(self, batch: list[ReadableSpan]) -> SpanExportResult | None:
        """The word of the collector about some spans, None where it could not be asked. Raises NotExported."""
        if self._sending is not None and self._sending.is_alive():
            raise NotExported("the collector has not ended its response to the spans before")
        came = list[SpanExportResult]()
        self._sending = threading.Thread(
            target=lambda: came.append(self._exporter.export(batch)), name="noetl-spans", daemon=True
        )
        self._sending.start()
        self._sending.join(LONGEST)
        if self._sending.is_alive():
            raise NotExported(f"the collector has not ended its response after {LONGEST:g} s")
        return came[0] if came else None

    def close(self) -> None:
        """Let go of connections."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: SpanRow) -> ReadableSpan:
        parent = TraceContext(span.trace_id, span.parent_id) if span.parent_id else None
        return ReadableSpan(
            span.name,
            context=_context(TraceContext(span.trace_id, span.span_id)),
            parent=None if parent is None else _context(parent),
            resource=self._resource,
            attributes=span.attributes,
            events=[SpanEvent(name, timestamp=at * 1000) for at, name in span.moments],
            links=[Link(_context(link.context), {"noetl.relation": link.relation}) for link in span.links],
            kind=SpanKind.CLIENT if span.kind == CLIENT else SpanKind.INTERNAL,
            status=Status(_STATUS[span.status]),
            start_time=span.started * 1000,
            end_time=span.ended * 1000,
            instrumentation_scope=self._scope,
        )


def _context(context: TraceContext) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote=False, trace_flags=flags)
