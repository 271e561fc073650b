"""Task output as files: `FOLDER/<execution>.jsonl`, a chunk a line.

Output is appended to a file of its own, and not to the database, so that a task that prints holds up no commit of any
execution. A line is in the hands of the system when `add_chunks` returns, so the end of the process loses nothing of
it. Only the end of the machine may: nothing is forced to disk. A line that was cut off by that is passed over.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Lock
from typing import IO

from noetl.bounded_table import BoundedTable
from noetl.host.confined_files import file_name_of
from noetl.host.disk_space import FULL as NO_ROOM
from noetl.host.engine_files import make_folder
from noetl.ports import NoRoom, StoreFailure
from noetl.ports.output import (
    AttemptKey,
    OutputChunk,
    OutputRow,
    Outputs,
    by_execution,
    chunk_document,
    chunk_of,
    fresh_chunks,
    size_of,
)

KNOWN = 100
"""How many files it is kept of what is in them, by an instance; others are read again before something is added."""

_LONGEST_LINE = 1 << 20


def open_outputs(url: str) -> Outputs:
    """The outputs in the folder at `files:///FOLDER`; four slashes for an absolute path."""
    return OutputFiles(url.removeprefix("files:///"))


class _Kept:
    """The content of a file, as far as it was read: to `size` bytes, the ends of the attempts, and the bytes used."""

    __slots__ = ("ends", "size", "used")

    def __init__(self) -> None:
        self.size = 0
        self.used = 0
        self.ends: dict[AttemptKey, int] = {}

    def count(self, chunk: OutputChunk) -> None:
        self.used += size_of(chunk)
        self.ends[chunk.key] = max(chunk.until, self.ends.get(chunk.key, 0))


class OutputFiles:
    """`Outputs` in the folder at `path`, which is made when there is output."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._known: BoundedTable[str, _Kept] = BoundedTable(KNOWN)

    def add_chunks(self, chunks: Sequence[OutputChunk]) -> None:
        with self._lock, self._told():
            make_folder(self._path)
            for execution_id, some in by_execution(chunks):
                self._append(execution_id, some)

    def read(self, execution_id: str, after: int = 0, limit: int = 0) -> list[OutputRow]:
        with self._told():
            try:
                with open(self._file(execution_id), "rb") as file:
                    return [*islice(_rows(file, after), limit or None)]
            except FileNotFoundError:
                return []

    def last_position(self, execution_id: str) -> int:
        with self._told():
            try:
                return os.stat(self._file(execution_id)).st_size
            except FileNotFoundError:
                return 0

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""
        with self._lock, self._told(), suppress(FileNotFoundError):
            size = os.stat(self._file(execution_id)).st_size
            os.unlink(self._file(execution_id))
            self._known.pop(execution_id, None)
            return size
        return 0

    def close(self) -> None:
        """Nothing is open."""

    def _append(self, execution_id: str, chunks: Sequence[OutputChunk]) -> None:
        handle = os.open(self._file(execution_id), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with open(handle, "r+b", buffering=0) as file:
            # Another server may keep the output of the same execution, after it took it over.
            fcntl.flock(file, fcntl.LOCK_EX)
            kept, size = self._known.get(execution_id) or _Kept(), os.fstat(handle).st_size
            if size != kept.size:
                with open(self._file(execution_id), "rb") as whole:
                    for row in _rows(whole, kept.size):
                        kept.count(row.chunk)
            fresh = fresh_chunks(chunks, kept.ends, kept.used)
            # What a crash of the machine cut off has no end of its line: the next one begins behind it.
            torn = b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""
            view = memoryview(torn + b"".join(map(_line, fresh)))
            while view:
                view = view[file.write(view) :]
            for chunk in fresh:
                kept.count(chunk)
            kept.size = os.fstat(handle).st_size
            self._known[execution_id] = kept

    def _file(self, execution_id: str) -> str:
        return os.path.join(self._path, f"{file_name_of(execution_id)}.jsonl")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the system as the failure that it is."""
        try:
            yield
        except OSError as error:
            text = f"{self._path}: the output cannot be kept or read [{error}]"
            if reason := NO_ROOM.get(error.errno or 0):
                raise NoRoom(text, reason) from error
            raise StoreFailure(text) from error


def _line(chunk: OutputChunk) -> bytes:
    """A chunk as a line, in ASCII: who looks at the file in a terminal is shown no control characters."""
    return json.dumps(chunk_document(chunk)).encode() + b"\n"


def _rows(file: IO[bytes], after: int) -> Iterator[OutputRow]:
    """The chunks in whole lines behind a byte, each with the byte behind it."""
    file.seek(after)
    while line := file.readline(_LONGEST_LINE):
        after += len(line)
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            return  # somebody is just writing it
        try:
            yield OutputRow(after, chunk_of(json.loads(line)))
        except (ValueError, RecursionError):
            continue  # cut off, or altered
