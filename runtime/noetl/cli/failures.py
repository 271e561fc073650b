"""Failures for people: what went wrong, what led to it, and where that stands in the author's file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetl.cli.text import escaped
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

if TYPE_CHECKING:
    from noetl.app.ending import Ending

_DEPTH = 5
"""How many causes are told: more are no help."""


def failure_text(error: Json, depth: int = _DEPTH) -> str:
    """An error of a task, step or execution in one line: its code and message, and what it was the end of."""
    if not isinstance(error, dict):
        return escaped(str(error))
    told = ": ".join(str(error[key]) for key in ("code", "type", "message") if error.get(key)) or "without a reason"
    line = f" (line {error['line']} of its code)" if isinstance(error.get("line"), int) else ""
    return escaped(told + line) + (_cause_text(error, depth - 1) if depth > 1 else "")


def response_lines(error: Json) -> Iterator[str]:
    """The response that an error, or what led to it, was about: its status, address and the beginning of its body."""
    for _ in range(_DEPTH):
        if not isinstance(error, dict):
            return
        response = error.get("response")
        if isinstance(response, dict):
            words = " ".join(str(response[key]) for key in ("status", "url") if response.get(key) is not None)
            yield escaped(f"response: {words}: {response['body']}" if response.get("body") else f"response: {words}")
            return
        cause = error.get("cause")
        error = cause.get("error") if isinstance(cause, dict) and "status" in cause else cause


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
    if not inner:
        return ""
    # A rule may pass on the message of what it was asked about: nobody reads it twice.
    if isinstance(inner, dict) and (message := inner.get("message")) and str(message) in str(error.get("message")):
        inner = {key: value for key, value in inner.items() if key != "message"}
        return f"; cause: {failure_text(inner, depth)}" if inner.get("code") else _cause_text(inner, depth)
    return f"; cause: {failure_text(inner, depth)}"


def is_made(name: Json) -> bool:
    """Whether a name is one that the compiler made: nobody wrote it."""
    return isinstance(name, str) and name.startswith("__")


def place_text(error: Json) -> str:
    """Where a located error came from: `step / task at file:line: `; empty where it does not say."""
    if not isinstance(error, dict):
        return ""
    step = f"{error['step']}{item_text(error)}" if error.get("step") and not is_made(error["step"]) else ""
    task = str(error["task"]) if error.get("task") and not is_made(error["task"]) else ""
    names = " / ".join(name for name in (step, task) if name)
    words = " ".join(word for word in (names, at_text(error)) if word)
    return escaped(f"{words}: ") if words else ""


def item_text(error: dict[str, Json]) -> str:
    """The index of the iteration that an error of a loop is of, as `[1]`, of nested loops several; "" where it is of
    none.
    """
    own = {key: value for key, value in error.items() if key not in _OF_LOOPS}
    errors = error.get("errors")
    for entry in errors if isinstance(errors, list) else ():
        if isinstance(entry, dict) and all(entry.get(key) == value for key, value in own.items()):
            return f"[{entry.get('index')}]{item_text(entry)}"
    return ""


_OF_LOOPS = ("errors", "index", "at")
"""Keys of an error that its loop or who shows it adds."""


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


def error_lines(ending: Ending) -> Iterator[str]:
    """The lines below an error: the response that it was about, the line of the source that it is in, and the children
    that it came from with theirs.
    """
    if not ending.children:
        yield from response_lines(ending.error)
    yield from excerpt_lines(ending.error, ending.line)
    for child in ending.children:
        depth = _DEPTH if child is ending.children[-1] else 1
        told = f"{place_text(child.error)}{failure_text(child.error, depth)}"
        yield f"in {escaped(child.playbook)}, execution {child.execution_id}: {told}"
        if child is ending.children[-1]:
            yield from response_lines(child.error)
        yield from excerpt_lines(child.error, child.line)
