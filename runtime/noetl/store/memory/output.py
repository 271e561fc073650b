"""Task output in memory."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from threading import Lock

from noetl.ports.output import AttemptKey, OutputChunk, OutputRow, by_execution, fresh_chunks, size_of


class MemoryOutputs:
    """`Outputs` in lists; a position counts the chunks of its execution."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._chunks: defaultdict[str, list[OutputChunk]] = defaultdict(list)
        self._ends: defaultdict[str, dict[AttemptKey, int]] = defaultdict(dict)
        self._used: Counter[str] = Counter()

    def add_chunks(self, chunks: Sequence[OutputChunk]) -> None:
        with self._lock:
            for name, some in by_execution(chunks):
                ends = self._ends[name]
                fresh = fresh_chunks(some, ends, self._used[name])
                self._chunks[name] += fresh
                self._used[name] += sum(map(size_of, fresh))
                ends.update((chunk.key, chunk.until) for chunk in fresh)

    def read(self, execution_id: str, after: int = 0, limit: int = 0) -> list[OutputRow]:
        with self._lock:
            found = self._chunks.get(execution_id, [])[after : after + limit if limit else None]
        return [OutputRow(at, chunk) for at, chunk in enumerate(found, after + 1)]

    def last_position(self, execution_id: str) -> int:
        with self._lock:
            return len(self._chunks.get(execution_id, ()))

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""
        with self._lock:
            self._chunks.pop(execution_id, None)
            self._ends.pop(execution_id, None)
            return self._used.pop(execution_id, 0)

    def close(self) -> None:
        """Nothing is open."""
