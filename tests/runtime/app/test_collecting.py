"""The collector: which values of executions it removes, and all that has to stay."""

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.processes import noetl
from harness.running import HEAD
from noetl.app.clock import WallClock
from noetl.app.collecting import Collected, Collector
from noetl.app.documents import replay_document, verdict_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.snapshots import result_of
from noetl.app.upkeep import Upkeep
from noetl.ports import ExecutionRow
from noetl.store.files import FileBlobs
from noetl_ir import codec
from noetl_ir.events import Event, write_event

HOUR = 3_600_000_000
# Values outside of the log: of a loop and its iterations, of a child, and payloads of events that are too large.
PLAYBOOK = (
    HEAD.replace("t/t", "t/t")
    + """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow:
  - step: start
    loop: {in: "{{ range(4) | list }}", iterator: n}
    tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = {'n': n, 'text': ('%d' % n) * 900}"}
    next: {arcs: [{step: call}]}
  - step: call
    tool: {kind: playbook, path: ./child.yaml, args: {text: "{{ start[0].text }}"}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, args: {all: "{{ start }}", child: "{{ call }}"}, code: "result = {'all': all, 'child': child}"}
"""
)
CHILD = (
    HEAD.replace("t/t", "t/child")
    + """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: python, args: {text: "{{ workload.text }}"}, code: "result = {'back': text * 2}"}
"""
)


@contextmanager
def opened(folder: Path) -> Iterator[Runtime]:
    with open_runtime(f"sqlite:///{folder}/.noetl/noetl.db", Settings(root=folder), lambda path: (b"", {})) as runtime:
        yield runtime


def collector(runtime: Runtime, after: int = 0) -> Collector:
    return Collector(runtime, WallClock(), after)


def stored(folder: Path) -> set[str]:
    """The values on disk, as EXECUTION/CHECKSUM."""
    blobs = folder / ".noetl" / "noetl.db.blobs"
    return {f"{path.parent.name}/{path.name}" for path in blobs.rglob("*") if len(path.name) == 64}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the playbook ran."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "t.yaml").write_text(PLAYBOOK)
    (folder / "child.yaml").write_text(CHILD)
    done = noetl(folder, "run", "t.yaml", "--quiet", "--path", ".")
    assert done.returncode == 0, done.stderr
    return folder


def test_all_that_a_run_named_stays_and_the_rest_goes(ran: Path) -> None:
    before = stored(ran)
    assert len(before) >= 10 and len({name.partition("/")[0] for name in before}) == 2
    with opened(ran) as runtime:
        rows = runtime.store.executions()
        assert collector(runtime).collect() == Collected()
        assert stored(ran) == before
        for row in rows:
            runtime.blobs.put(row.execution_id, os.urandom(100))
        (ran / ".noetl" / "noetl.db.blobs" / rows[0].execution_id / f"{'a' * 64}.1-2.part").write_bytes(b"half")
        assert stored(ran) > before
        found = collector(runtime).collect()
        assert found == Collected(2, 204)
        assert stored(ran) == before
        assert collector(runtime).collect() == Collected()
        for row in rows:
            assert replay_document(*verdict_of(runtime, row))["legal"] is True
        (root,) = (row for row in rows if row.parent_execution_id is None)
        result = result_of(runtime, root, None)
        assert isinstance(result, dict)
        assert result["child"] == {"back": "0" * 1800}


def test_it_is_a_command_too(ran: Path) -> None:
    with opened(ran) as runtime:
        (name,) = (row.execution_id for row in runtime.store.executions() if row.parent_execution_id is None)
        runtime.blobs.put(name, os.urandom(100))
    done = noetl(ran, "collect")
    assert (done.returncode, done.stdout) == (0, "removed 0 values, 0 bytes\n")  # it is over for less than an hour
    with opened(ran) as runtime:
        assert collector(runtime).collect() == Collected(1, 100)


class Kept:
    """A store of hand-made executions: `end` adds an event, and the end."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.blobs = runtime.blobs

    def begin(self, name: str) -> None:
        self.runtime.store.create(ExecutionRow(name, "t/t", "d" * 64, "running", None, 1_000, None))

    def end(self, name: str, *data: dict[str, object], over: bool = True, ended: int = 2_000) -> None:
        types = [*("task.done" for _ in data), *(("playbook.processed",) if over else ())]
        bodies = [*data, {}][: len(types)]
        records = [
            (f"v{at}", write_event(Event(f"v{at}", kind, 1_000, data=body)))  # type: ignore[arg-type]
            for at, (kind, body) in enumerate(zip(types, bodies, strict=True))
        ]
        status = "completed" if over else "running"
        self.runtime.store.append(name, 0, records, status=status, ended=ended if over else None)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with opened(tmp_path) as runtime:
        yield Kept(runtime)


def there(kept: Kept, *references: dict[str, object]) -> list[bool]:
    found = []
    for reference in references:
        try:
            kept.blobs.get(reference)  # type: ignore[arg-type]
            found.append(True)
        except KeyError:
            found.append(False)
    return found


def test_what_a_named_value_names_stays(kept: Kept) -> None:
    kept.begin("e1")
    deep = kept.blobs.put("e1", b"deep")
    middle = kept.blobs.put("e1", codec.pack({"x": [deep]}))
    outside = kept.blobs.put("e1", codec.pack({"result": middle}))
    glued = kept.blobs.put("e1", b"glued")
    unnamed = kept.blobs.put("e1", codec.pack({"result": kept.blobs.put("e1", b"alone")}))
    kept.end("e1", {"payload": outside}, {"result": f"0{glued['checksum']}f"})
    assert collector(kept.runtime).collect().values == 2
    assert there(kept, deep, middle, outside, glued, unnamed) == [True, True, True, True, False]


def test_what_is_not_over_or_not_for_long_stays(kept: Kept) -> None:
    now = WallClock().now()
    for name, over, ended in (("e1", False, 0), ("e2", True, now - HOUR // 2), ("e3", True, now - 2 * HOUR)):
        kept.begin(name)
        kept.blobs.put(name, b"unnamed")
        kept.end(name, over=over, ended=ended)
    assert collector(kept.runtime, HOUR).collect() == Collected(1, 7)
    assert {path.parent.name for path in Path(kept.runtime.store.path).parent.rglob("*") if len(path.name) == 64} == {  # type: ignore[attr-defined]
        "e1",
        "e2",
    }


def test_what_somebody_owns_or_nobody_knows_stays(kept: Kept) -> None:
    kept.begin("e1")
    one, other = kept.blobs.put("e1", b"1"), kept.blobs.put("e2", b"2")
    kept.end("e1")
    with kept.runtime.store.own("e1"):
        assert collector(kept.runtime).collect() == Collected()
    assert there(kept, one, other) == [True, True]
    assert collector(kept.runtime).collect() == Collected(1, 1)
    assert there(kept, one, other) == [False, True]


@pytest.mark.parametrize("fault", ["DELETE FROM events WHERE key & 4294967295 = 2", "no end", "gone value"])
def test_of_a_log_that_is_not_whole_all_stays(kept: Kept, fault: str) -> None:
    """A value may be named by what is not there any more."""
    kept.begin("e1")
    named, unnamed = kept.blobs.put("e1", b"named"), kept.blobs.put("e1", b"unnamed")
    kept.end("e1", {"result": named}, over=fault != "no end")
    path = kept.runtime.store.path  # type: ignore[attr-defined]
    if fault == "gone value":
        assert isinstance(kept.blobs, FileBlobs)
        os.unlink(Path(f"{path}.blobs") / "e1" / str(named["checksum"]))
    elif fault == "no end":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE executions SET ended = 5, status = 'completed'")
    else:
        with sqlite3.connect(path) as connection:
            for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {trigger}")
            assert connection.execute(fault).rowcount == 1
    collector(kept.runtime).collect()
    assert there(kept, unnamed) == [True]


def test_a_server_does_so_by_itself_and_can_be_ended(kept: Kept) -> None:
    kept.begin("e1")
    unnamed = kept.blobs.put("e1", b"unnamed")
    kept.end("e1")
    said: list[str] = []
    told = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        told.set()

    upkeep = Upkeep([collector(kept.runtime).keep_up], say, first=0.01)
    upkeep.start()
    assert told.wait(60)
    upkeep.end_soon()
    upkeep.join(60)
    assert not upkeep.is_alive()  # it waits for an hour
    assert re.fullmatch(r"removed values that nothing names: 1 \(7 bytes\)", said[0])
    assert there(kept, unnamed) == [False]
