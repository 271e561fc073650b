"""The progress that `run` and `resume` show while they run: nothing or lines; `live` is for terminals, `watching`
chooses.
"""

from __future__ import annotations

import time
from typing import Protocol

from noetl.app.picture import place_of
from noetl.cli.sentences import OFTEN, Sentence, sentence_of
from noetl.cli.text import escaped
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import ToolCall
from noetl_ir.events import Event

LINES_A_SECOND = 50
"""More is not read by anybody, and would slow the run down."""


class Stream(Protocol):
    """Where lines go."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...


class Progress(Protocol):
    """Shows how a run goes on, by the events that are on disk and by the passing of time."""

    def observe(self, execution: Execution, program: Program, event: Event) -> None: ...

    def log(self, call: ToolCall, text: str) -> None:
        """A line that a task wrote."""
        ...

    def say(self, text: str) -> None:
        """A line about the run as a whole."""
        ...

    def tick(self) -> None:
        """Time passes; called at least five times a second while nothing else happens."""
        ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def observe(self, execution: Execution, program: Program, event: Event) -> None: ...

    def log(self, call: ToolCall, text: str) -> None: ...

    def say(self, text: str) -> None: ...

    def tick(self) -> None: ...

    def close(self) -> None: ...


class PlainProgress:
    """Plain lines. What is too much for a second is counted instead; failures are always told."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._second = 0
        self._told = 0
        self._dropped = 0
        self._loops: dict[tuple[str, str], float] = {}

    def observe(self, execution: Execution, program: Program, event: Event) -> None:
        if event.event_type.startswith("loop.iteration."):
            self._count(execution, program, event)
        elif event.event_type == "loop.done":
            self._loops.pop((execution.execution_id, event.run), None)
        elif event.event_type in OFTEN and self._is_too_much():
            self._dropped += 1
            return
        sentence = sentence_of(execution, program, event)
        if sentence is not None:
            self.tell(sentence)

    def tell(self, sentence: Sentence) -> None:
        """A sentence about an event."""
        self._write(sentence.text, always=sentence.matters)

    def log(self, call: ToolCall, text: str) -> None:
        for line in text.splitlines():
            self._write(f"{escaped(call.step)} / {escaped(call.task)} | {escaped(line)}", always=False)

    def say(self, text: str) -> None:
        self._write(text, always=True)

    def tick(self) -> None:
        if self._dropped and int(time.monotonic()) != self._second:
            self._catch_up()

    def close(self) -> None:
        self._catch_up()

    def _count(self, execution: Execution, program: Program, event: Event) -> None:
        """How far a loop is, once a second."""
        run = event.run if "index" in event.data else event.run.rpartition("/")[0]
        loop = execution.loops.get(run)
        if loop is None:
            return
        now = time.monotonic()
        # The first second of a loop says nothing: a short one is over by then, and its end is told anyway.
        last = self._loops.setdefault((execution.execution_id, run), now)
        if now - last >= 1:
            self._loops[execution.execution_id, run] = now
            done = len(loop.items) - loop.open
            self._write(f"{escaped(place_of(program, loop.step, run))}: {done} of {len(loop.items)}", always=False)

    def _write(self, text: str, *, always: bool) -> None:
        # A loop of a hundred thousand would spend more time on the terminal than on its work.
        if self._is_too_much() and not always:
            self._dropped += 1
            return
        self._told += 1
        self._put(f"{text}\n")

    def _is_too_much(self) -> bool:
        """Whether this second has had its lines."""
        second = int(time.monotonic())
        if second != self._second:
            self._catch_up()
            self._second, self._told = second, 0
        return self._told >= LINES_A_SECOND

    def _catch_up(self) -> None:
        if self._dropped:
            self._put(f"… and {self._dropped} more\n")
            self._dropped = 0

    def _put(self, text: str) -> None:
        """A watcher who went away does not stop the run."""
        try:
            self._stream.write(text)
            self._stream.flush()
        # `noetl run … | head` closes the pipe, and a closed stream of Python raises ValueError. The run has effects,
        # and goes on.
        except (OSError, ValueError):
            self._stream = _nowhere()


def _nowhere() -> Stream:
    import io

    return io.StringIO()
