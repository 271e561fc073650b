"""Text for people: what a playbook named or a tool answered made harmless for a terminal, JSON, times, tables.

Whatever comes from a playbook, a log or a tool may hold control characters, which could rewrite what a terminal
shows. Nothing of it is printed but through `escaped` or `json_text`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from noetl_cli import lazy_click as click
from noetl_ir.expr import Json

_MINUTE, _HOUR = 60, 3600
_LEAST = 8
"""Columns that a last one has at least."""


class Problem(Exception):
    """The command cannot do what was asked; the text says why, in plain words. Exit code 1."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        self.message = "\n".join(escaped(line) for line in message.splitlines())
        super().__init__(self.message)

    def show(self) -> None:
        """Print it on standard error."""
        click.echo(f"error: {self.message}", err=True)


class Stopped(Problem):
    """The command stopped, and the execution can be resumed, or begun where there was no room for it."""

    exit_code = 5


def escaped(text: str) -> str:
    """A text on one line without anything that a terminal would obey: control and format characters as escapes."""
    # Nearly every text is. The test is one pass in C, where the join below is one in Python for each character.
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def warn(sentences: Iterable[str]) -> None:
    """Tell on standard error what is strange and stops nothing; also where progress is not wanted."""
    for sentence in sentences:
        click.echo(f"warning: {escaped(sentence)}", err=True)


def json_text(value: Json, indent: int | None = None) -> str:
    """JSON, on one line unless `indent` is given, with everything that is not printable written as JSON escapes."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # `ensure_ascii` would write every letter outside of ASCII as an escape, and nobody could read them.
    return "\n".join(line if line.isprintable() else _visible(line) for line in text.split("\n"))


def _visible(line: str) -> str:
    """Outside of its strings JSON is printable, so what is not stands inside one, where an escape means the same."""
    import json

    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def duration(micros: int) -> str:
    """A duration in microseconds as people say it: `0.2 s`, `3 m 05 s`, `2 h 07 m`."""
    seconds = max(micros, 0) / 1_000_000
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} m {whole % _MINUTE:02} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} m"


def moment(micros: int, *, millis: bool = False) -> str:
    """A time in microseconds since the epoch as people are shown it, in UTC: `2026-03-01 09:00:00Z`; `millis` adds
    `.123`.
    """
    from noetl_ir.events import iso_of

    return moment_in(iso_of(micros), millis=millis)


def zoned_moment(text: str) -> str:
    """A time that is written as RFC 3339 has it, as people are shown it where it belongs to a time zone."""
    return text.replace("T", " ", 1)


def moment_in(text: str, *, millis: bool = False) -> str:
    """A time that is written as RFC 3339 has it, in UTC, as people are shown it."""
    return text[: len("2026-03-01T09:00:00.123" if millis else "2026-03-01T09:00:00")].replace("T", " ") + "Z"


def width_of_terminal() -> int:
    """How many columns there are where a person looks on; 0 where standard output is none's terminal, or unknown."""
    import os
    import sys

    if not sys.stdout.isatty():  # who reads a pipe wants it whole
        return 0
    try:
        return int(os.environ.get("COLUMNS", "")) or 0
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


def cut(text: str, columns: int) -> str:
    """A text that takes at most so many columns; wide characters take two, combining ones none."""
    if len(text) <= columns and text.isascii():
        return text
    from unicodedata import combining, east_asian_width

    used = 0
    kept: list[str] = []
    for c in text:
        used += 0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1
        if used > columns:
            return "".join(kept[: -1 if kept else None]) + "…"
        kept.append(c)
    return text


def amount(count: int, noun: str) -> str:
    """A count with its noun: `1 task`, `3 tasks`, `2 retries`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, shrinks: Collection[int] = ()) -> str:
    """Rows under a head, in columns. On a terminal the last one is cut where the line would not fit, as long as some of
    it is left, and before that those that may shrink, the widest first; elsewhere all are as wide as they like.
    """
    lines = [list(head), *([escaped(cell) for cell in row] for row in rows)]
    # The last column is not padded: it would give each line spaces at its end, and a long name would make all lines
    # long.
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    room = width_of_terminal() - sum(widths) - 2 * len(widths)
    for column in sorted(shrinks, key=widths.__getitem__, reverse=True) if width_of_terminal() else ():
        less = max(0, min(_LEAST - room, widths[column] - 2 * _LEAST))
        widths[column], room = widths[column] - less, room + less
        for line in lines:
            line[column] = cut(line[column], widths[column])
    room = room if room >= _LEAST else 0
    return "\n".join(
        "  ".join([*map(str.ljust, line, widths), cut(line[-1], room) if room else line[-1]]).rstrip() for line in lines
    )
