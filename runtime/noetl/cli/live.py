"""Progress on a terminal: lines as when piped, and below them an area that is drawn again in place.

The area shows what goes on now, at most as many lines as fit, each cut to the width of the terminal. It is taken
away before a line is written and drawn again after it.
"""

from __future__ import annotations

import os
import time
from typing import TextIO

from noetl.app.ending import written_counts
from noetl.app.picture import rows_of
from noetl.cli.progress import PlainProgress
from noetl.cli.sentences import row_text, sentence_of
from noetl.cli.text import cut, duration, escaped
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import ToolCall
from noetl_ir.events import Event

MOST_LINES = 8
SECONDS = 0.1
"""How high the area is at most, and the least time between two drawings."""


class Live:
    """The progress of a run on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._area = Area(stream)
        self._lines = PlainProgress(self._area)
        self._seen: dict[str, tuple[Execution, Program]] = {}
        self._drawn = 0.0
        self._now = 0

    def observe(self, execution: Execution, program: Program, event: Event) -> None:
        self._seen[execution.execution_id] = (execution, program)
        if execution.is_over:
            self._seen.pop(execution.execution_id)
        self._now = event.ts
        sentence = sentence_of(execution, program, event)
        if sentence is not None:
            self._lines.tell(sentence)
        self._draw()

    def log(self, call: ToolCall, text: str) -> None:
        self._lines.log(call, text)
        self._area.draw_again()  # what goes on now may be ahead of the disk

    def say(self, text: str) -> None:
        self._lines.say(text)

    def tick(self) -> None:
        self._lines.tick()
        self._draw()

    def close(self) -> None:
        self._lines.close()
        self._area.clear()

    def _draw(self) -> None:
        now = time.monotonic()
        # To draw for each event would be most of the work of a fast run, and no eye sees more than ten pictures a
        # second.
        if now - self._drawn < SECONDS:
            return
        self._drawn = now
        wall = time.time_ns() // 1000
        if self._now < wall - 10 * 365 * 86_400_000_000:
            wall = self._now  # a virtual clock, which begins at 0
        try:
            lines = self._picture(wall)
        except Exception as error:  # the run goes on, whatever is shown of it
            lines = [f"what goes on now cannot be shown ({type(error).__name__}): please report"]
        self._area.draw(lines)

    def _picture(self, now: int) -> list[str]:
        lines = []
        for execution, program in self._seen.values():
            took = duration(now - execution.started)
            name = escaped(program.plan.path or program.plan.name)
            state = "paused" if execution.paused else took
            lines.append(f"{name}: {state}, {written_counts(execution)['tasks']} tasks so far")
            for row in rows_of(program, execution):
                lines.append(f"  {row_text(row, now)}")
                # An execution may have a hundred thousand rows. What does not fit is not even made.
                if len(lines) > MOST_LINES:
                    return lines
        return lines


class Area:
    """A stream on a terminal with some lines that are drawn in place below what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0
        self._shown: list[str] = []

    def write(self, text: str) -> int:
        """Whole lines, above the area, which is gone until it is drawn again."""
        taken, self._height = self._taken_away(), 0
        self._stream.write(taken + text)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def draw(self, lines: list[str]) -> None:
        """Draw the area anew."""
        columns, rows = self._size()
        # The cursor cannot go up beyond the top of the screen: an area as high as that could not be taken away again.
        fitting = min(MOST_LINES, max(rows - 2, 1))
        shown = lines if len(lines) <= fitting else [*lines[: fitting - 1], "  …"]
        self._shown = lines
        # One column less than there are: a line that fills the last one wraps on some terminals, and takes two.
        text = "\n".join(cut(line, columns - 1) for line in shown)
        taken, self._height = self._taken_away(), len(shown)
        self._put(taken + text)

    def draw_again(self) -> None:
        """Draw it as it was."""
        if self._shown and not self._height:
            self.draw(self._shown)

    def clear(self) -> None:
        """Take the area away."""
        taken, self._height = self._taken_away(), 0
        self._put(taken)

    def _taken_away(self) -> str:
        if not self._height:
            return ""
        up = f"\x1b[{self._height - 1}A" if self._height > 1 else ""
        return f"\r{up}\x1b[J"

    def _put(self, text: str) -> None:
        if not text:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._height = 0

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return max(size.columns or 80, 10), size.lines or 24
