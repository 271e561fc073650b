"""Ids of traces and spans (W3C Trace Context) that follow from the ids of executions and events.

Whoever computes one twice, before and after a crash, in a server or a worker, has the same.
"""

from noetl_ir.digests import sha256


def trace_id_of(execution_id: str) -> str:
    """The id of an execution's own trace: 32 hexadecimal digits, never all zero."""
    return _id(f"trace {execution_id}", 32)


def span_id_of(execution_id: str, what: str) -> str:
    """The id of a span of an execution: 16 hexadecimal digits, never all zero."""
    return _id(f"span {execution_id} {what}", 16)


def _id(text: str, length: int) -> str:
    digest = sha256()
    digest.update(text.encode("utf-8", "surrogatepass"))
    found = digest.hexdigest()[:length]
    return found if found.strip("0") else "0" * (length - 1) + "1"
