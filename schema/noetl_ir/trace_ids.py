"""Ids of traces and spans (W3C Trace Context) that follow from the ids of executions and events.

Whoever computes one twice, before and after a crash, in a server or a worker, has the same.
"""

from noetl_ir.digests import sha256
from noetl_ir.records import NamedTuple

SAMPLED = 1
"""The bit of the flags that says that a trace is kept (Trace Context §3.2.2.5.1)."""

_HEX = frozenset("0123456789abcdef")


class TraceContext(NamedTuple):
    """Where something stands in a trace: the id of the trace, that of the span above it, and the flags of W3C."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED

    @property
    def header(self) -> str:
        """The header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def trace_id_of(execution_id: str) -> str:
    """The id of an execution's own trace: 32 hexadecimal digits, never all zero."""
    return _id(f"trace {execution_id}", 32)


def span_id_of(execution_id: str, what: str) -> str:
    """The id of a span of an execution: 16 hexadecimal digits, never all zero."""
    return _id(f"span {execution_id} {what}", 16)


def attempt_of(run: str, task: int, visit: int, attempt: int, claim: int) -> str:
    """The name of an attempt at a task under a claim, as spans are called in an execution."""
    return f"attempt {run}:{task}:{visit}:{attempt}:{claim}"


def context_of(header: str) -> TraceContext | None:
    """The context that a header `traceparent` says; None for what is none, which is passed over as W3C has it."""
    version, *parts = header.strip().split("-")
    if len(version) != 2 or not _HEX.issuperset(version) or version == "ff" or len(parts) < 3:
        return None
    # A newer version may have more parts; of these three it has the same.
    if version == "00" and len(parts) != 3:
        return None
    trace_id, span_id, flags = parts[:3]
    for text, length in ((trace_id, 32), (span_id, 16), (flags, 2)):
        if len(text) != length or not _HEX.issuperset(text):
            return None
    if not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return TraceContext(trace_id, span_id, int(flags, 16) & SAMPLED)


def _id(text: str, length: int) -> str:
    digest = sha256()
    digest.update(text.encode("utf-8", "surrogatepass"))
    found = digest.hexdigest()[:length]
    return found if found.strip("0") else "0" * (length - 1) + "1"
