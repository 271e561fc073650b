"""SnapshotCache that are kept: a second one folds only what is new, and tells what a first one would tell."""

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from harness.running import compiled
from noetl.app import snapshot_cache
from noetl.app.composition import driver_of
from noetl.app.kept_folds import Behind
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.snapshot_cache import SnapshotCache
from noetl.app.snapshots import UnreadableExecution, snapshot_of
from noetl.engine.starting import Request
from noetl.ports import ExecutionRow

TEXT = """
workflow:
  - step: start
    tool: {kind: noop, result: 7, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {a: 1}}}}]}}}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop}}
"""


class Watched:
    """A runtime of one execution, which shows as much of the log as `shown`, and notes what is read of it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.read: list[int] = []
        self.shown = 10**6
        self._events = runtime.events
        runtime.events = self.events  # type: ignore[method-assign]
        self.row = self.row_of("e1")

    def row_of(self, name: str) -> ExecutionRow:
        row = self.runtime.store.execution(name)
        assert row is not None
        return row

    def events(self, execution_id: str, after: int = 0) -> Iterator[Any]:
        for position, event in self._events(execution_id, after):
            if position > self.shown:
                return
            self.read.append(position)
            yield position, event


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        for name in ("e1", "e2"):
            with driver_of(runtime, name, lambda *_: None) as driver:
                assert driver.embedded.start(program, name, Request({})) == "completed"
        yield Watched(runtime)


def state(watched: Watched, looks: SnapshotCache) -> tuple[object, ...]:
    with looks.at(watched.row) as look:
        execution = look.execution
        return execution.position, execution.status, dict(execution.counts), execution.ctx


def test_a_second_look_reads_only_what_is_new(watched: Watched) -> None:
    looks, length = SnapshotCache(watched.runtime), len([*watched.events("e1")])
    for shown in (1, 5, length, length):
        watched.shown = shown
        kept = state(watched, looks)
        watched.read.clear()
        assert state(watched, looks) == kept
        assert watched.read == []
        fresh = snapshot_of(watched.runtime, watched.row).execution
        assert kept == (fresh.position, fresh.status, dict(fresh.counts), fresh.ctx)
    assert kept[1:] == ("completed", {"tasks": 2, "retries": 0, "passed_errors": 0}, {"a": 1})


def test_only_the_latest_looks_are_kept(watched: Watched) -> None:
    looks = SnapshotCache(watched.runtime, most=1)
    other = watched.row_of("e2")
    for row in (watched.row, other, watched.row):
        watched.read.clear()
        with looks.at(row):
            assert watched.read[0] == 1


def test_a_fold_that_broke_off_is_not_gone_on_with(watched: Watched) -> None:
    looks, length = SnapshotCache(watched.runtime), len([*watched.events("e1")])
    good = watched.events

    def torn(execution_id: str, after: int = 0) -> Iterator[Any]:
        yield from list(good(execution_id, after))[:4]
        raise KeyError("a value is gone")

    watched.runtime.events = torn  # type: ignore[method-assign]
    with pytest.raises(UnreadableExecution, match="event 5 of e1 cannot be read"), looks.at(watched.row):
        pass
    watched.runtime.events = good  # type: ignore[method-assign]
    watched.read.clear()
    assert state(watched, looks)[0] == length
    assert watched.read[0] == 1


def test_a_look_that_has_no_time_left_goes_on_the_next_time(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = state(watched, SnapshotCache(watched.runtime))
    watched.read.clear()
    looks, clock, broken_off = SnapshotCache(watched.runtime), count(), 0
    monkeypatch.setattr(snapshot_cache, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    while True:
        try:
            with looks.at(watched.row, next(clock) + 4) as look:  # a look at the clock before each event, and one after
                execution = look.execution
                break
        except Behind:
            broken_off += 1
    assert broken_off > 2 and watched.read.count(1) == 1
    assert (execution.position, execution.status, dict(execution.counts), execution.ctx) == fresh


def test_nobody_waits_longer_than_he_may_for_another_who_looks(watched: Watched) -> None:
    looks = SnapshotCache(watched.runtime)
    with looks.at(watched.row), pytest.raises(Behind), looks.at(watched.row, time.monotonic() + 0.01):
        pass
    assert state(watched, looks)[1] == "completed"


def test_many_may_look_at_once(watched: Watched) -> None:
    looks, seen = SnapshotCache(watched.runtime), list[object]()
    threads = [Thread(target=lambda: seen.append(state(watched, looks))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert seen == [seen[0]] * 8
