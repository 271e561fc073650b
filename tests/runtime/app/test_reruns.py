"""A rerun is in the store whole or not at all, wherever the process dies while it is begun."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from harness.running import HEAD, compiled
from noetl.app.composition import driver_of
from noetl.app.reruns import PlannedRerun, RerunWish, begin_rerun, planned_rerun, source_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.replay import replay
from noetl.engine.starting import Request
from noetl.ports import Taken
from noetl.ports.idempotency import start_key
from noetl.store.files import FAULT_POINTS as OF_BLOBS
from noetl.store.sqlite import FAULT_POINTS as OF_STORE

BODY = """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'a': [1] * 9}", spec: {inline_max_bytes: 0}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: shell, cmd: "test -e ok", args: {r: "{{ ref(start) }}"}}
"""
POINTS = [*(point for point in OF_STORE if point.startswith("create.")), *OF_BLOBS]


class Dead(BaseException):
    """The process has died here."""


def no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(path)


def opened(folder: Path) -> AbstractContextManager[Any]:
    return open_runtime(f"sqlite:///{folder}/noetl.db", Settings(root=folder), no_compiler)


def planned(runtime: Runtime) -> PlannedRerun:
    row = runtime.store.execution("e1")
    assert row is not None
    source = source_of(runtime, row)
    return planned_rerun(runtime, source, row, source.program, RerunWish())


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """The folder of a store with an execution that failed."""
    with opened(tmp_path) as runtime:
        program = runtime.programs.add_plan(compiled(HEAD + BODY.lstrip()))
        with driver_of(runtime, "e1", lambda *rest: None) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "failed"
    return tmp_path


def events_of(runtime: Runtime, name: str) -> list[bytes]:
    return [record.body for record in runtime.store.read(name)]


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_dies_leaves_all_of_it_or_nothing(failed: Path, point: str) -> None:
    def die(reached: str) -> None:
        if reached == point:
            raise Dead

    with opened(failed) as runtime:
        before, made = events_of(runtime, "e1"), planned(runtime)
        runtime.store._hook = runtime.blobs._hook = die
        with pytest.raises(Dead):
            begin_rerun(runtime, made, None)
        runtime.store._hook = runtime.blobs._hook = None
    with opened(failed) as runtime:
        assert events_of(runtime, "e1") == before
        row = runtime.store.execution(made.execution_id)
        assert (row is not None) == (point == "create.after_commit")
        if row is None:
            assert not events_of(runtime, made.execution_id)
            begin_rerun(runtime, made, None)
        (failed / "ok").touch()
        log = [event for _, event in runtime.events(made.execution_id)]
        assert replay(made.program, made.execution_id, log).wrong is None
        with driver_of(runtime, made.execution_id, lambda *rest: None) as driver:
            assert driver.embedded.resume(made.program, made.execution_id) == "completed"


def test_of_two_with_one_key_one_is_begun(failed: Path) -> None:
    with opened(failed) as runtime:
        one, other = planned(runtime), planned(runtime)
        key = start_key("once", {})
        begin_rerun(runtime, one, key)
        with pytest.raises(Taken) as taken:
            begin_rerun(runtime, other, key)
        assert taken.value.execution_id == one.execution_id
        assert len(runtime.store.executions()) == 2


def test_values_of_its_own_are_stored_under_its_own_id(failed: Path) -> None:
    with opened(failed) as runtime:
        made = planned(runtime)
        begin_rerun(runtime, made, None)
        log = [event for _, event in runtime.events(made.execution_id)]
        texts = "".join(str(event.data) for event in log)
        assert f"{made.execution_id}/" in texts and "'e1/" not in texts
