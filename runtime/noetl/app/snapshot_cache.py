"""Snapshots that are kept, so that whoever looks at an execution again folds only what is new in its log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot, catch_up, program_of
from noetl.bounded_table import BoundedTable
from noetl.engine.execution import Execution
from noetl.ports import ExecutionRow

_MOST = 128
"""As many as a list of executions shows, and some that are looked at beside it: one that waits takes some 10 KB."""


class SnapshotCache:
    """The executions that were looked at last, at most `most` of them; from any thread."""

    def __init__(self, runtime: Runtime, most: int = _MOST) -> None:
        self._runtime = runtime
        self._kept: BoundedTable[str, tuple[Lock, Execution]] = BoundedTable(most)
        self._lock = Lock()

    @contextmanager
    def at(self, row: ExecutionRow) -> Iterator[Snapshot]:
        """The execution as its log tells it now; nobody else has it meanwhile. Raises Unreadable."""
        program = program_of(self._runtime, row.execution_id)
        with self._lock:
            kept = self._kept.get(row.execution_id) or (Lock(), Execution(row.execution_id, program))
            self._kept[row.execution_id] = lock, execution = kept
        # The outer lock is for the table only and held for moments. A long log is folded under the lock of its own
        # execution, and others are looked at meanwhile.
        with lock:
            try:
                catch_up(self._runtime, program, execution)
            except BaseException:
                self._forget(row.execution_id)  # how far the fold came is not known
                raise
            yield Snapshot(row, program, execution)

    def _forget(self, execution_id: str) -> None:
        with self._lock:
            self._kept.pop(execution_id, None)
