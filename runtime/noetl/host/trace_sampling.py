"""Whether traces are made, and which: by the variables of OpenTelemetry, without its packages.

A family is kept whole or not at all: what decides is the id of its outermost execution, which servers and workers know
alike. Where its start came with a context of another trace, and the sampler follows that, its flag decides.
"""

from collections.abc import Mapping

from noetl.ports import ToolCall
from noetl_ir.records import NamedTuple
from noetl_ir.trace_ids import SAMPLED, TraceContext, attempt_of, context_of, span_id_of, trace_id_of

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_SAMPLERS = ("always_on", "always_off", "traceidratio")
_PARENT_BASED = "parentbased_"


class BadTracing(ValueError):
    """A variable of OpenTelemetry that cannot be meant; the text says what to write."""


class Tracing(NamedTuple):
    """How traces are sampled: `share` of the families is kept; with `follows` those that belong to another trace are
    kept as that is.
    """

    share: float = 1.0
    follows: bool = True

    def is_kept(self, root_id: str, received: TraceContext | None) -> bool:
        """Whether the traces of a family are kept, by the id of its outermost execution."""
        if received is not None and self.follows:
            return bool(received.flags & SAMPLED)
        # The last 8 bytes, as the sampler of OpenTelemetry does (`TraceIdRatioBased`).
        return int(trace_id_of(root_id)[16:], 16) < round(self.share * (1 << 64))

    def header_of(self, call: ToolCall) -> str:
        """The header `traceparent` of what a call sends."""
        root_id, _, header = call.trace_id.partition(" ")
        received = context_of(header) if header else None
        trace_id = received.trace_id if received is not None else trace_id_of(call.execution_id)
        name = attempt_of(call.run_key, call.task_number, call.visit, call.attempt, call.claim)
        flags = SAMPLED if self.is_kept(root_id or call.execution_id, received) else 0
        return TraceContext(trace_id, span_id_of(call.execution_id, name), flags).header


def tracing_of(environ: Mapping[str, str]) -> Tracing | None:
    """How an environment has traces made; None where it has none made. Raises BadTracing."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if exporter == "none" or not any(environ.get(name) for name in _ENDPOINTS):
        return None
    if exporter != "otlp":
        raise BadTracing(f"OTEL_TRACES_EXPORTER is `{exporter}`: write otlp, or none")
    named = environ.get("OTEL_TRACES_SAMPLER", "").strip() or "parentbased_always_on"
    name = named.removeprefix(_PARENT_BASED)
    if name not in _SAMPLERS:
        known = ", ".join((*_SAMPLERS, *(_PARENT_BASED + each for each in _SAMPLERS)))
        raise BadTracing(f"OTEL_TRACES_SAMPLER is `{named}`: write one of {known}")
    share = {"always_on": 1.0, "always_off": 0.0}.get(name)
    if share is None:
        text = environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip() or "1"
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise BadTracing(f"OTEL_TRACES_SAMPLER_ARG is `{text}`: write a number from 0 to 1")
    return Tracing(share, named.startswith(_PARENT_BASED))
