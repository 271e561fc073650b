"""Failures for people: what went wrong, what led to it, and where that stands in the author's file."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.cli.text import escaped
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

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


def is_made(name: Json) -> bool:
    """Whether a name is one that the compiler made: nobody wrote it."""
    return isinstance(name, str) and name.startswith("__")


def place_text(error: Json) -> str:
    """Where a located error came from: `step / task at file:line: `; empty where it does not say."""
    if not isinstance(error, dict):
        return ""
    names = " / ".join(str(error[key]) for key in ("step", "task") if error.get(key) and not is_made(error[key]))
    words = " ".join(word for word in (names, at_text(error)) if word)
    return escaped(f"{words}: ") if words else ""


def at_text(error: Json) -> str:
    """The place of a located error in its file: `at file:line`, with the column of what failed where that is known."""
    at = error.get("at") if isinstance(error, dict) else None
    if not isinstance(at, dict):
        return ""
    column = f":{at['column']}" if "end_line" in at else ""
    return f"at {at['file']}:{at['line']}{column}"


class _OneLine(NamedTuple):
    """A file of which one line is known, as excerpts read it."""

    name: str
    text: str

    def line_text(self, line: int) -> str:
        return self.text


def excerpt_lines(error: Json, line: str) -> Iterator[str]:
    """The line of the source that an error is in, with carets below what failed; nothing where that is not known."""
    at = error.get("at") if isinstance(error, dict) else None
    if not line or not isinstance(at, dict) or "end_line" not in at:
        return
    from noetl_cli.excerpts import PLAIN, excerpt

    span = Span(*(int(str(at[name])) for name in ("line", "column", "end_line", "end_column")))
    yield from excerpt(span, _OneLine(str(at["file"]), line), len(str(span.line)), "", PLAIN)
