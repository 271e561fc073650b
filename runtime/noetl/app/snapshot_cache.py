"""Snapshots that are kept, so that whoever looks at an execution again folds only what is new in its log."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile

from noetl.app.kept_folds import Behind, KeptFolds
from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot, check_plan, events_of, fold, program_of
from noetl.engine.execution import Execution
from noetl.ports import ExecutionRow

_MOST = 128
"""As many as a list of executions shows, and some that are looked at beside it: one that waits takes some 10 KB."""


class SnapshotCache:
    """The executions that were looked at last, at most `most` of them; from any thread."""

    def __init__(self, runtime: Runtime, most: int = _MOST) -> None:
        self._runtime = runtime
        self._kept: KeptFolds[Execution] = KeptFolds(most)

    @contextmanager
    def at(self, row: ExecutionRow, until: float = math.inf) -> Iterator[Snapshot]:
        """The execution as its log tells it now, for the caller alone while inside the `with`. Raises
        UnreadableExecution, and Behind where that takes longer than until `until`, in seconds of `time.monotonic`.
        """
        name = row.execution_id
        program = program_of(self._runtime, name)

        def read_on(execution: Execution) -> None:
            events = events_of(self._runtime, name, execution.position)
            fold(program, execution, takewhile(lambda _: time.monotonic() < until, events))
            check_plan(program, execution)
            if time.monotonic() >= until:
                raise Behind(f"the log of {name} was read up to event {execution.position}")

        with self._kept.at(name, program.digest, lambda: Execution(name, program), read_on, until) as execution:
            yield Snapshot(row, program, execution)
