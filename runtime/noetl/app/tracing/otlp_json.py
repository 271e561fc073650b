"""Spans as OTLP has them in JSON (opentelemetry-proto, `ExportTraceServiceRequest`)."""

from collections.abc import Iterable

from noetl.app.tracing.spans import SpanRow
from noetl_ir.expr import Json

SCOPE = "noetl"
"""The name of what makes the spans."""


def trace_document(spans: Iterable[SpanRow], service: str) -> dict[str, Json]:
    """The document of spans, which a collector takes at `/v1/traces`."""
    rows: list[Json] = [_span(span) for span in spans]
    resource: dict[str, Json] = {"attributes": [_attribute("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": SCOPE}, "spans": rows}]}]}


def _span(span: SpanRow) -> dict[str, Json]:
    found: dict[str, Json] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": span.kind,
        # 64 bits: text, as JSON of protobuf has them.
        "startTimeUnixNano": str(span.started * 1000),
        "endTimeUnixNano": str(span.ended * 1000),
        "attributes": [_attribute(name, value) for name, value in span.attributes.items()],
        "status": {"code": span.status},
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.links:
        found["links"] = [
            {
                "traceId": link.context.trace_id,
                "spanId": link.context.span_id,
                "attributes": [_attribute("noetl.relation", link.relation)],
            }
            for link in span.links
        ]
    if span.moments:
        found["events"] = [{"timeUnixNano": str(at * 1000), "name": name} for at, name in span.moments]
    return found


def _attribute(name: str, value: str | int | bool) -> Json:
    kind = "boolValue" if isinstance(value, bool) else "intValue" if isinstance(value, int) else "stringValue"
    return {"key": name, "value": {kind: str(value) if kind == "intValue" else value}}
