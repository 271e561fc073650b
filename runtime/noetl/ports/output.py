"""The port of task output: what tasks print, kept beside the log for people to read.

Output decides nothing. It is no event, and no fold or replay reads it; what was printed right before a crash may be
lost. An attempt and an execution have each a limit, so that one that prints without an end neither fills a store nor
takes the room of others.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

CHUNK = 8_192
"""The most characters of a chunk."""

ATTEMPT_BYTES = 1 << 20
EXECUTION_BYTES = 16 << 20
"""How much of the output of one attempt, and of one execution, is kept."""

# A program that prints a character at a time would else fill a store with rows of one byte.
OVERHEAD = 200
"""Bytes that each chunk counts beside its text: so the limit of bytes is also one of chunks."""

STDOUT, STDERR, TOOL, CUT, FULL = "stdout", "stderr", "tool", "cut", "full"
STREAMS = frozenset({STDOUT, STDERR, TOOL, CUT, FULL})
"""Where the text of a chunk comes from: the task's program, or us. `tool` is a line of the tool; `cut` says that the
attempt, and `full` that the execution had more output, which was dropped."""

CUT_TEXT = f"the output was longer than {ATTEMPT_BYTES:,} bytes; the rest was dropped\n"
FULL_TEXT = f"the execution had more output than {EXECUTION_BYTES:,} bytes; the rest was dropped\n"

AttemptKey: TypeAlias = tuple[str, int, tuple[int, ...], str, int, int, int]


class OutputChunk(NamedTuple):
    """A piece of the output of one attempt.

    `run` counts the runs of `step` from 1, `path` are the loop indices, outermost first, `visit` the arrivals at `task`
    in its run; an attempt that was lost and runs again has a higher `claim`. The text stands behind the first `offset`
    characters of the attempt's output, over all streams; at `at` microseconds since the epoch. It is empty where
    what was printed last is missing. `mac` is the code by which a server knows that who hands it in has the order of
    that attempt; it is not kept.
    """

    execution_id: str
    step: str
    run: int
    path: tuple[int, ...]
    task: str
    visit: int
    attempt: int
    claim: int
    stream: str
    offset: int
    at: int
    text: str
    mac: str = ""

    @property
    def key(self) -> AttemptKey:
        """The attempt, among those of its execution."""
        return self[1:8]

    @property
    def until(self) -> int:
        """The offset behind its text."""
        return self.offset + len(self.text)


_TEXTS = frozenset({"execution_id", "step", "task", "stream", "text", "mac"})


class OutputRow(NamedTuple):
    """A chunk that is kept. Later ones of an execution have higher positions."""

    position: int
    chunk: OutputChunk


class Outputs(Protocol):
    """Keeps the output of executions. Any thread may call; all raise StoreFailure."""

    def add_chunks(self, chunks: Sequence[OutputChunk]) -> None:
        """Keep chunks, in their order. A repeat of one that is there is left out, and so is what is beyond the limit of
        its execution, with a mark in its place. They need not be on disk when this returns, but other processes see
        them, and the end of this one does them no harm.
        """
        ...

    def read(self, execution_id: str, after: int = 0, limit: int = 0) -> list[OutputRow]:
        """At most `limit` chunks behind a position, 0 for all, in their order; none for an unknown execution."""
        ...

    def last_position(self, execution_id: str) -> int:
        """The position of the last chunk, 0 for none; quicker than reading."""
        ...

    def close(self) -> None: ...


def chunk_document(chunk: OutputChunk) -> dict[str, Json]:
    """A chunk as JSON, without its code."""
    document: dict[str, Json] = {**chunk._asdict(), "path": [*chunk.path]}
    del document["mac"]
    return document


def signed_document(chunk: OutputChunk) -> Json:
    """A chunk as JSON with its code, as who prints hands it in."""
    return {**chunk_document(chunk), "mac": chunk.mac}


def chunk_of(document: object) -> OutputChunk:
    """The chunk of such a document. Raises ValueError for what is none."""
    if not isinstance(document, dict):
        raise ValueError("no mapping")
    path = document.get("path")
    # Documents come from workers over the network. `type` and not `isinstance`: a bool is an int, and no index.
    if not isinstance(path, list) or not all(type(index) is int for index in path):
        raise ValueError("`path` is no list of numbers")
    values: dict[str, object] = {name: document.get(name) for name in OutputChunk._fields}
    values["mac"] = document.get("mac", "")
    for name, value in values.items():
        kind = str if name in _TEXTS else int
        if name != "path" and type(value) is not kind:
            raise ValueError(f"`{name}` is not a {kind.__name__}")
    if values["stream"] not in STREAMS:
        raise ValueError("there is no such stream")
    return OutputChunk(**{**values, "path": tuple(path)})  # type: ignore[arg-type]


def size_of(chunk: OutputChunk) -> int:
    """The bytes that a chunk counts."""
    # The mark of the end takes all that is left, so that whoever counts anew from the rows finds the execution full.
    return EXECUTION_BYTES if chunk.stream == FULL else len(chunk.text.encode("utf-8", "surrogatepass")) + OVERHEAD


def by_execution(chunks: Iterable[OutputChunk]) -> list[tuple[str, list[OutputChunk]]]:
    """Chunks by their executions, in the order of the ids."""
    found: defaultdict[str, list[OutputChunk]] = defaultdict(list)
    for chunk in chunks:
        found[chunk.execution_id].append(chunk)
    return sorted(found.items())


def fresh_chunks(chunks: Iterable[OutputChunk], ends: Mapping[AttemptKey, int], used: int) -> list[OutputChunk]:
    """The chunks of an execution that are to be kept, of some that come: `ends` has the offset up to which the output
    of an attempt is there already, and `used` the bytes that the execution has used.
    """
    # Not into a copy of `ends`: that grows with each attempt, and this is asked for each batch.
    later, fresh = dict[AttemptKey, int](), list[OutputChunk]()
    for chunk in chunks:
        # The request before may have been done though its answer was lost: the same chunks come again.
        if used >= EXECUTION_BYTES or chunk.offset < later.get(chunk.key, ends.get(chunk.key, 0)):
            continue
        later[chunk.key] = chunk.until
        if used + size_of(chunk) > EXECUTION_BYTES:
            chunk = chunk._replace(stream=FULL, text=FULL_TEXT)
        used += size_of(chunk)
        fresh.append(chunk)
    return fresh
