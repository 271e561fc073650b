"""A real process is killed with `kill -9` inside, between and outside commits; the log holds what was acknowledged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.ports import ExecutionRow
from noetl.ports.audit import WantedAudit
from noetl.ports.mailbox import OpenWait
from noetl.ports.outbox import WantedOutbox
from noetl.store.files import FAULT_POINTS as BLOB_POINTS
from noetl.store.files import FileBlobs
from noetl.store.sqlite import FAULT_POINTS, SqliteStore

ROW = ExecutionRow("e1", "p", "d", "running", None, 1, None)

WRITER = """
import os, signal, sys
from noetl.ports import ExecutionRow
from noetl.ports.audit import AuditRow
from noetl.ports.namespaces import NamespaceRow
from noetl.ports.notifications import NotificationRow
from noetl.ports.outbox import OutboxRow
from noetl.ports.mailbox import Letter
from noetl.ports.places import PlaceRow
from noetl.ports.schedules import ScheduleRow
from noetl.ports.triggers import TriggerRow
from noetl.store.sqlite import SqliteStore
from noetl_ir.plan_sources import SourcedPlan
path, point, turn = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen = 0
def hook(reached):
    global seen
    seen += reached == point
    if reached == point and seen == turn:
        os.kill(os.getpid(), signal.SIGKILL)
store = SqliteStore(path, hook=hook)
store.create(ExecutionRow("e1", "p", "d", "running", None, 1, None), [("v0", b"0")])
store.put_plan("d", "p", b"plan", sources=[SourcedPlan("d", b"plan", b"of it"), SourcedPlan("c", b"in it", b"of that")])
store.post("e1", "pause", None)
store.change_places(lambda rows: [PlaceRow("k", "e1", "e1", placed=True)])
store.mailbox.post_letter(Letter("k", "go", 1, "a"))
store.create(ExecutionRow("over", "p", "d", "completed", None, 1, 2))
store.purges.purge(["over"])
store.scheduling.put(ScheduleRow("nightly", {}, 1))
store.triggering.put(TriggerRow("hook", "webhook", {}, {}))
store.audit.add_deed(AuditRow(0, 1, "ann", "cli", "", "stop", "", once="a"))
store.outbox.put_outbox([OutboxRow(0, "t", "s", None, 1, 1)])
store.notifying.put(NotificationRow("n", {}))
store.namespaces.put(NamespaceRow("a", {}, "a/"))
with store.own("e1"):
    position = 1
    while position < 3_000:
        batch = [(f"v{position + n}", b"%d" % (position + n) * 50) for n in range(3)]
        position = store.append("e1", position, batch, status="running", ended=None)
        os.write(1, b"%d\\n" % position)
"""

PUTTER = """
import os, signal, sys
from noetl.store.files import FileBlobs
def hook(reached):
    if reached == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
FileBlobs(sys.argv[1], hook=hook).put("e1", b"x" * 100_000)
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a script to its end."""
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, check=False, timeout=60)


def check(path: str, acknowledged: int) -> int:
    """The log is whole, reaches at least what was acknowledged, and goes on; returns where it ended."""
    store = SqliteStore(path)
    found = list(store.read("e1"))
    assert [record.event_id for record in found] == [f"v{number}" for number in range(len(found))]
    assert all(record.body == b"%d" % number * (50 if number else 1) for number, record in enumerate(found))
    assert len(found) >= acknowledged
    assert len(found) % 3 == (1 if found else 0), "a commit is there whole or not at all"
    if found:
        with store.own("e1"):
            assert store.append("e1", len(found), [("on", b"")], status="running", ended=None) == len(found) + 1
    store.close()
    return len(found)


@pytest.mark.parametrize(
    ("point", "turn"),
    [(point, turn) for point in FAULT_POINTS for turn in (1, 5) if turn == 1 or point.startswith("append")],
)
def test_a_process_killed_at_a_named_point(tmp_path: Path, point: str, turn: int) -> None:
    path = str(tmp_path / "x.db")
    ended = run(WRITER, path, point, str(turn))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    acknowledged = ended.stdout.split()
    length = check(path, int(acknowledged[-1]) if acknowledged else 0)
    is_done = point.endswith("after_commit")
    if point.startswith("create"):
        assert length == int(is_done)
    elif point.startswith("append"):
        assert length == 1 + 3 * (turn if is_done else turn - 1)
    else:
        store = SqliteStore(path)
        assert length == 1
        if point.startswith("put_plan"):
            found = (store.plan_at("p"), store.plan_bytes("c"), store.source("d"), store.source("c"))
            assert found == ((("d", b"plan"), b"in it", b"of it", b"of that") if is_done else (None,) * 4)
        elif point.startswith("places"):
            assert [place.key for place in store.places()] == ["k"] * is_done
        elif point.startswith("mail"):
            assert store.mailbox.await_letter(OpenWait("k", "e1", "c", ("go",))) is is_done
        elif point.startswith("notification"):
            assert len(store.notifying.rows()) == int(is_done)
        elif point.startswith("namespace"):
            assert len(store.namespaces.rows()) == int(is_done)
        elif point.startswith("outbox"):
            assert len(store.outbox.outbox_rows(WantedOutbox())) == int(is_done)
        elif point.startswith("audit"):
            assert len(store.audit.deeds(WantedAudit())) == int(is_done)
        elif point.startswith("schedule"):
            assert len(store.scheduling.rows()) == int(is_done)
        elif point.startswith("trigger"):
            assert len(store.triggering.rows()) == int(is_done)
        elif point.startswith("purge"):
            assert (store.execution("over") is None) is is_done
            assert store.purges.purged() == ("over",) * is_done
        else:
            assert store.posted() == int(is_done)
        store.close()


@pytest.mark.parametrize("delay", [0, 7, 33, 90])
def test_a_process_killed_at_any_moment(tmp_path: Path, delay: int) -> None:
    """Killed from outside after so many acknowledged commits, wherever it is by then."""
    path = str(tmp_path / "x.db")
    with subprocess.Popen([sys.executable, "-c", WRITER, path, "", "0"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(delay + 1):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = writer.stdout.read().split()
    check(path, int(acknowledged[-1]) if acknowledged else 3 * delay)


@pytest.mark.parametrize("point", BLOB_POINTS)
def test_a_blob_is_there_whole_or_not_at_all(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "blobs"
    assert run(PUTTER, str(folder), point).returncode == -signal.SIGKILL
    whole = [file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".part")]
    assert [file.stat().st_size for file in whole] == ([100_000] if point == "blob.after_commit" else [])
    blobs = FileBlobs(str(folder))
    assert blobs.get(blobs.put("e1", b"x" * 100_000)) == b"x" * 100_000
