"""Task output on its way from a tool to where it is kept.

`TaskOutput` decodes what the programs of an attempt write, hides secrets in it, also those that come in two pieces, and
keeps to the limit of an attempt. `OutputWriter` gathers what all attempts have and has it kept by a thread beside the
loop: the loop never waits for a disk or a server, and a task that prints nothing costs nothing.
"""

from __future__ import annotations

import threading
from codecs import IncrementalDecoder, getincrementaldecoder
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import time_ns
from typing import Protocol, TypeAlias

from noetl.ports import StoreFailure, StoreRefused, ToolCall
from noetl.ports.output import ATTEMPT_BYTES, CHUNK, CUT, CUT_TEXT, OVERHEAD, TOOL, OutputChunk, size_of

GATHER = 0.2
"""Seconds that are waited for more before something is kept, unless a task has ended."""

BATCH = 96 << 10
"""Bytes that are kept at a time: one request to a server."""

MOST_WAITING = 8 << 20
"""Bytes that wait to be kept, at most; what comes then is dropped, and those who read see that something is missing."""

MOST_OF_ONE = MOST_WAITING // 2
"""Bytes of one execution among them, at most: one that floods leaves room for others."""

MOST_LOST = 10_000
"""Attempts of which it is known that something was dropped, at most."""

SETTLE = 5.0
"""Seconds that the end of a task waits for its output to be kept, at most."""

PAUSE = 1.0
"""Seconds before a store that failed is tried again."""

LONGEST_LINE = 1 << 16
"""Characters of a line that is told in one piece."""

_Attempt: TypeAlias = tuple[str, str, int, tuple[int, ...], str, int, int, int]
"""An execution, and the key of an attempt in it."""


class Hiding(Protocol):
    """Hides the secrets that an execution knows."""

    def redacted(self, text: str) -> str: ...

    def finished(self, text: str) -> int:
        """How much of a text that goes on can be redacted now."""
        ...


class TaskOutput:
    """The output of one attempt. `put` takes its chunks, `tell` its lines where they are told."""

    def __init__(
        self, call: ToolCall, hiding: Hiding, put: Callable[[OutputChunk], None], tell: Callable[[str], None]
    ) -> None:
        self._call = call
        self._hiding = hiding
        self._put = put
        self._tell = tell
        self._streams: dict[str, _Stream] = {}
        self._offset = 0
        self._room = ATTEMPT_BYTES
        self._is_cut = False

    def write(self, stream: str, data: bytes, *, told: bool) -> None:
        """Take what a program wrote; nothing where the stream has ended."""
        if self._is_cut:
            return
        if (there := self._streams.get(stream)) is None:
            if not data:
                return
            there = self._streams[stream] = _Stream()
        ended = not data
        text = there.unshown + there.decoder.decode(data, ended)
        # Of a secret that comes in two pieces neither is to be seen.
        at = len(text) if ended else self._hiding.finished(text)
        there.unshown = text[at:]
        shown = self._add_what_fits(stream, self._hiding.redacted(text[:at]))
        if told:
            self._tell_lines(there, shown, ended=ended or self._is_cut)
            if self._is_cut:
                self._tell(CUT_TEXT.rstrip())
        if ended:
            self._streams.pop(stream, None)

    def take_line(self, text: str) -> None:
        """Take a line of the tool itself. It is told in any case."""
        shown = self._hiding.redacted(text)
        self._tell(shown)
        if not self._is_cut:
            self._add_what_fits(TOOL, f"{shown}\n")

    def _add_what_fits(self, stream: str, text: str) -> str:
        """Keep the part of a text for which there is room, which is returned; with a mark where that is not all."""
        # Half of a surrogate pair, which a line of a tool may hold, cannot be kept by every store.
        data = text.encode("utf-8", "replace")
        self._is_cut = len(data) > self._room
        if self._is_cut:
            data = data[: self._room]
        self._room -= len(data)
        part = data.decode("utf-8", "ignore")
        self._add(stream, part)
        if self._is_cut:
            self._streams.clear()
            self._add(CUT, CUT_TEXT)
        return part

    def _tell_lines(self, there: _Stream, text: str, *, ended: bool) -> None:
        *lines, there.line = (there.line + text).split("\n")
        for line in lines:
            self._tell(line)
        # A line without an end is told in pieces: it would be kept in memory, and searched again with each piece.
        if there.line and (ended or len(there.line) > LONGEST_LINE):
            self._tell(there.line)
            there.line = ""

    def _add(self, stream: str, text: str) -> None:
        name = _attempt_of(self._call)
        for at in range(0, len(text), CHUNK):
            part = text[at : at + CHUNK]
            self._put(OutputChunk(*name, stream, self._offset, time_ns() // 1000, part, self._call.mac))
            self._offset += len(part)


class _Stream:
    """The rest of a stream: bytes of a character, the beginning of what may be a secret, and of a line."""

    __slots__ = ("decoder", "line", "unshown")

    def __init__(self) -> None:
        self.decoder: IncrementalDecoder = getincrementaldecoder("utf-8")("replace")
        self.unshown = ""
        self.line = ""


class OutputWriter:
    """Has chunks kept by `add`, on a thread that is started for the first one; not `beside`, on the spot.

    `add` raises StoreFailure where it may work later, and StoreRefused where it never will: those chunks are dropped.
    """

    def __init__(self, add: Callable[[Sequence[OutputChunk]], None], *, beside: bool = True) -> None:
        self._add = add
        self._beside = beside
        self._lock = threading.Lock()
        self._waiting: deque[list[OutputChunk]] = deque()  # lists of one, which may grow until it is taken
        self._size = 0
        self._sizes: Counter[str] = Counter()  # of each execution
        self._lost: dict[_Attempt, OutputChunk] = {}  # where the last of what was dropped ended
        self._newest: dict[_Attempt, list[OutputChunk]] = {}
        self._came = 0
        self._done = 0
        self._due: dict[_Attempt, int] = {}
        self._waiters: list[tuple[int, Callable[[], None]]] = []
        self._is_failing = False
        self._there = threading.Event()
        self._hurry = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, chunk: OutputChunk) -> None:
        """Have a chunk kept. It never waits and never fails."""
        if not self._beside:
            with suppress(StoreFailure):
                self._add((chunk,))
            return
        name = chunk.execution_id, *chunk.key
        with self._lock:
            newest = self._newest.get(name)
            if newest is not None and _is_next(newest[0], chunk):
                newest[0] = newest[0]._replace(text=newest[0].text + chunk.text)
                self._count(chunk.execution_id, size_of(chunk) - OVERHEAD)
            elif self._size >= MOST_WAITING or self._sizes[chunk.execution_id] >= MOST_OF_ONE:
                if name in self._lost or len(self._lost) < MOST_LOST:
                    self._lost[name] = chunk if chunk.stream == CUT else chunk._replace(offset=chunk.until, text="")
                return
            else:
                self._lost.pop(name, None)  # who reads sees the gap before this one
                self._append(name, chunk)
            if self._size >= BATCH:
                self._hurry.set()  # nothing is gained by more
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="noetl-output", daemon=True)
                self._thread.start()
        self._there.set()

    def _append(self, name: _Attempt, chunk: OutputChunk) -> None:
        self._newest[name] = entry = [chunk]
        self._waiting.append(entry)
        self._came += 1
        self._due[name] = self._came
        self._count(chunk.execution_id, size_of(chunk))

    def _count(self, execution_id: str, size: int) -> None:
        """Count what waits; the entry of an execution of which nothing waits is let go."""
        self._size += size
        self._sizes[execution_id] += size
        if not self._sizes[execution_id]:
            del self._sizes[execution_id]

    async def settled(self, call: ToolCall) -> None:
        """Wait until the output of an attempt is kept, unless the store fails or takes too long."""
        if not self._due:
            return
        import asyncio

        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(told.set)

        with self._lock:
            due = self._due.get(_attempt_of(call))
            if due is None or self._is_failing:
                return
            self._waiters.append((due, tell))
            self._hurry.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE):
                await told.wait()

    def close(self) -> None:
        """Have what waits kept, if the store takes it now, and end the thread."""
        self._closed.set()
        self._hurry.set()
        self._there.set()
        if self._thread is not None:
            self._thread.join(SETTLE)

    def _work(self) -> None:
        while True:
            self._there.wait()
            self._hurry.wait(GATHER)
            batch = self._taken()
            if batch:
                self._keep(batch)
            elif self._closed.is_set():
                return

    def _taken(self) -> list[OutputChunk]:
        """As much of what waits as is kept at a time."""
        batch, size = list[OutputChunk](), 0
        with self._lock:
            if not self._waiting:
                # An attempt that printed no more after something was dropped would look as if it were whole.
                for name, chunk in self._lost.items():
                    self._append(name, chunk)
                self._lost.clear()
            while self._waiting and (not batch or size + size_of(self._waiting[0][0]) <= BATCH):
                batch.append(self._waiting.popleft()[0])
                size += size_of(batch[-1])
                self._count(batch[-1].execution_id, -size_of(batch[-1]))
            self._newest.clear()  # what is taken grows no more
            if not self._waiting and not self._lost and not self._closed.is_set():
                self._there.clear()
        return batch

    def _keep(self, batch: list[OutputChunk]) -> None:
        while not self._kept(batch):
            with self._lock:
                self._is_failing = True
                self._tell(self._came)  # no task waits for a store that fails
            if self._closed.is_set():
                break
            self._closed.wait(PAUSE)
        with self._lock:
            self._is_failing = False
            self._done += len(batch)
            self._tell(self._done)
            self._due = {name: due for name, due in self._due.items() if due > self._done}

    def _kept(self, batch: list[OutputChunk]) -> bool:
        """Whether nothing more can be done for some chunks."""
        try:
            self._add(batch)
        except StoreRefused:
            return True
        except StoreFailure:
            return False
        except Exception:  # a mistake in keeping output is no reason to lose all that follows
            return True
        return True

    def _tell(self, done: int) -> None:
        """Tell those who wait for nothing beyond that; under the lock."""
        for due, tell in self._waiters:
            if due <= done:
                tell()
        self._waiters = [waiter for waiter in self._waiters if waiter[0] > done]
        if not self._waiters and self._size < BATCH and not self._closed.is_set():
            self._hurry.clear()


def _is_next(before: OutputChunk, chunk: OutputChunk) -> bool:
    """Whether a chunk goes on with the one before, and both are one that is not too long."""
    joins = before.stream == chunk.stream and before.until == chunk.offset
    return joins and len(before.text) + len(chunk.text) <= CHUNK


def _attempt_of(call: ToolCall) -> _Attempt:
    return call.execution_id, call.step, call.run, call.path, call.task, call.visit, call.attempt, call.claim
