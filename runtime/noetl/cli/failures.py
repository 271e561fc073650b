"""Failures for people: what went wrong, what led to it, and where that stands in the author's file."""

from __future__ import annotations

from noetl.cli.text import escaped
from noetl_ir.expr import Json

_DEPTH = 5
"""How many causes are told: more are no help."""


def failure_text(error: Json, depth: int = _DEPTH) -> str:
    """An error of a task, step or execution in one line: its code and message, and what it was the end of."""
    if not isinstance(error, dict):
        return escaped(str(error))
    told = ": ".join(str(error[key]) for key in ("code", "type", "message") if error.get(key)) or "without a reason"
    line = f" (line {error['line']} of its code)" if isinstance(error.get("line"), int) else ""
    return escaped(told + line) + (_cause_text(error, depth - 1) if depth > 1 else "")


def _cause_text(error: dict[str, Json], depth: int) -> str:
    """The words of an error about its cause, which is another error or the outcome that a rule was asked about."""
    code, cause = str(error.get("code")), error.get("cause")
    if not isinstance(cause, dict):
        return ""
    if code.startswith("playbook."):  # its message says what became of the child already
        return _cause_text(cause, depth)
    inner = cause.get("error") if "status" in cause else cause
    if code == "retry.exhausted":
        return f"; the last: {failure_text(inner, depth) if inner else 'an outcome that was ok'}"
    return f"; cause: {failure_text(inner, depth)}" if inner else ""


def place_text(error: Json) -> str:
    """Where a located error came from: `step / task at file:line: `; empty where it does not say."""
    if not isinstance(error, dict):
        return ""
    names = " / ".join(str(error[key]) for key in ("step", "task") if error.get(key))
    words = " ".join(word for word in (names, at_text(error)) if word)
    return escaped(f"{words}: ") if words else ""


def at_text(error: Json) -> str:
    """The place of a located error in its file: `at file:line`."""
    at = error.get("at") if isinstance(error, dict) else None
    return f"at {at['file']}:{at['line']}" if isinstance(at, dict) else ""
