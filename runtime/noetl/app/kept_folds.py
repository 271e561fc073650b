"""Folds of logs that are kept, so that whoever looks at an execution again reads only what is new in its log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from noetl.app.snapshots import UnreadableExecution
from noetl.bounded_table import BoundedTable

_T = TypeVar("_T")


class Behind(UnreadableExecution):
    """The fold did not reach the end of its log within the time that it had. It is kept, and goes on from there."""


class KeptFolds(Generic[_T]):
    """Folds of the executions that were looked at last, at most `most` of them; from any thread."""

    def __init__(self, most: int) -> None:
        self._kept: BoundedTable[tuple[str, str], tuple[Lock, _T]] = BoundedTable(most)
        self._lock = Lock()

    @contextmanager
    def at(
        self,
        execution_id: str,
        digest: str,
        make: Callable[[], _T],
        read_on: Callable[[_T], None],
        until: float = math.inf,
    ) -> Iterator[_T]:
        """The fold of an execution, brought up to date by `read_on`, for the caller alone while inside the `with`; by
        the plan with a digest, as an execution may move to another one.

        `make` makes it where none is kept. Where `read_on` raises anything but Behind, the fold is dropped. Raises
        Behind also where others use the fold until the time `until`, in seconds of `time.monotonic`.
        """
        key = execution_id, digest
        with self._lock:
            kept = self._kept.get(key) or (Lock(), make())
            self._kept[key] = lock, fold = kept
        # The outer lock is for the table only and held for moments. A long log is folded under the lock of its own
        # execution, and others are looked at meanwhile.
        if not lock.acquire(timeout=-1 if until == math.inf else max(until - time.monotonic(), 0)):
            raise Behind(f"the log of {execution_id} is being read")
        try:
            try:
                read_on(fold)
            except Behind:
                raise
            except BaseException:
                self._forget(key)  # how far the fold came is not known
                raise
            yield fold
        finally:
            lock.release()

    def _forget(self, key: tuple[str, str]) -> None:
        with self._lock:
            self._kept.pop(key, None)
