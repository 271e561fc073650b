"""`noetl store`: what a check finds, a vacuum gives back, and a copy has."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.processes import noetl
from harness.running import HEAD
from noetl.engine.identities import execution_id_of

# Values outside of the log, one of which names another: a list whose items are stored.
PLAYBOOK = (
    HEAD
    + """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow:
  - step: start
    loop: {in: "{{ range(5) | list }}", iterator: n}
    tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "print(n); result = {'text': ('%d' % n) * 900}"}
"""
)
SLOW = (
    HEAD.replace("t/t", "t/slow")
    + """
workflow:
  - step: start
    loop: {in: "{{ range(400) | list }}", iterator: n}
    tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "import time; time.sleep(0.01); result = n"}
"""
)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the playbook ran twice."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "t.yaml").write_text(PLAYBOOK)
    (folder / "slow.yaml").write_text(SLOW)
    for _ in range(2):
        done = noetl(folder, "run", "t.yaml", "--quiet")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def ran(once: Path, tmp_path: Path) -> Path:
    """Such a folder, of its own."""
    return shutil.copytree(once, tmp_path / "ran")


def changed(folder: Path, *statements: str) -> None:
    """Change the database by hand, without what keeps its log append-only."""
    with sqlite3.connect(folder / ".noetl" / "noetl.db") as database:
        for name in ("events_never_change", "events_never_go", "executions_never_go"):
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
    database.close()


def test_a_store_that_is_whole(ran: Path) -> None:
    done = noetl(ran, "store", "check", "--replay")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("whole: 2 executions, ")
    found = json.loads(noetl(ran, "store", "check", "--json").stdout)
    assert (found["faults"], found["executions"], found["unknown_folders"]) == ([], 2, [])
    assert found["events"] > 20 and found["values"] >= 8


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET body = x'00' WHERE key % 4294967296 = 5", "event 5 of '{id}' is damaged or missing"),
        ("DELETE FROM events WHERE key % 4294967296 > 5", "the end of the log of '{id}' is missing"),
        ("DELETE FROM plans", "its plan {digest} is gone"),
        ("UPDATE plans SET data = x'00'", "its plan {digest} was altered"),
        ("UPDATE executions SET plan_digest = 'nobody'", "its plan nobody is gone"),
    ],
)
def test_what_is_wrong_in_the_database_is_told_of_each(ran: Path, statement: str, said: str) -> None:
    rows = json.loads(noetl(ran, "list", "--json").stdout)
    changed(ran, statement)
    done = noetl(ran, "store", "check")
    assert done.returncode == 1
    for row in rows:
        text = said.format(id=row["execution_id"], digest=row["plan_digest"])
        assert f"{row['execution_id']}: " in done.stdout and text in done.stdout
    assert "faults in 2 executions" in done.stdout


def test_an_execution_whose_end_its_log_does_not_say(ran: Path) -> None:
    """The row was written by somebody else: chain and number fit, and the log ends before its last event."""
    name = json.loads(noetl(ran, "list", "--json").stdout)[0]["execution_id"]
    number = f"(SELECT number FROM executions WHERE execution_id = '{name}')"
    last = f"(SELECT max(key) FROM events WHERE key >> 32 = {number})"
    changed(
        ran,
        f"DELETE FROM events WHERE key = {last}",
        f"UPDATE executions SET events = events - 1, chain = (SELECT chain FROM events WHERE key = {last})"
        f" WHERE number = {number}",
    )
    done = noetl(ran, "store", "check")
    assert f"{name}: it is completed, and its log does not say that it is over\n" in done.stdout
    assert "1 fault in" in done.stdout


@pytest.mark.parametrize(("change", "said"), [("gone", "is gone"), ("altered", "was altered")])
def test_each_value_that_is_lost_is_found(ran: Path, change: str, said: str) -> None:
    """Of items, and of the lists that hold their references."""
    values = [path for path in (ran / ".noetl" / "noetl.db.blobs").rglob("*") if len(path.name) == 64]
    assert len(values) >= 8
    for path in values:
        data = path.read_bytes()
        if change == "gone":
            path.unlink()
        else:
            path.write_bytes(data + b" ")
        done = noetl(ran, "store", "check")
        assert done.returncode == 1
        assert f"{path.parent.name}: a value that its log names {said}: {path.name}\n" in done.stdout
        path.write_bytes(data)


def test_values_that_belong_to_nobody_here_are_told(ran: Path) -> None:
    folder = ran / ".noetl" / "noetl.db.blobs" / "nobody"
    folder.mkdir()
    (folder / ("a" * 64)).write_bytes(b"x")
    done = noetl(ran, "store", "check")
    assert done.returncode == 0
    assert done.stderr == "note: values of 1 execution that this store does not know\n"


def test_a_purge_and_a_vacuum_give_room_back(ran: Path) -> None:
    with sqlite3.connect(ran / ".noetl" / "noetl.db") as database:
        database.execute("CREATE TABLE filler (data BLOB)")
        database.execute("INSERT INTO filler VALUES (zeroblob(5000000))")
        database.execute("DROP TABLE filler")
    database.close()
    before, after, _ = json.loads(noetl(ran, "store", "vacuum", "--json").stdout).values()
    assert before > 5_000_000 > after
    assert (ran / ".noetl" / "noetl.db").stat().st_size == after
    assert noetl(ran, "store", "check", "--replay").returncode == 0


def test_a_copy_of_a_store_that_is_in_use_goes_on_in_its_place(ran: Path) -> None:
    running = subprocess.Popen([sys.executable, "-m", "noetl.cli", "run", "slow.yaml", "--quiet"], cwd=ran)
    try:
        while noetl(ran, "list", "--status", "running", "--json").stdout == "[]\n":
            time.sleep(0.05)
        done = noetl(ran, "store", "backup", "copy")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout == "copy/noetl.db: 3 executions, checked\n"
    finally:
        running.kill()
        running.wait()
    assert "there is something already" in noetl(ran, "store", "backup", "copy").stderr
    shutil.rmtree(ran / ".noetl")
    (ran / "copy").rename(ran / ".noetl")
    assert noetl(ran, "store", "check", "--replay").stdout.startswith("whole: 3 executions")
    resumed = noetl(ran, "resume", "last", "--quiet", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(noetl(ran, "result", "last").stdout) == [*range(400)]


def test_the_key_of_credentials_stays_where_it_is(ran: Path) -> None:
    added = noetl(ran, "credential", "add", "db", "--type", "postgres", "--field", "password=secret-word")
    assert added.returncode == 0, added.stderr
    assert noetl(ran, "store", "backup", "copy").returncode == 0
    names = {path.name for path in (ran / "copy").iterdir()}
    assert {"noetl.db", "noetl.db.blobs", "noetl.db.output", "noetl.db.credentials"} <= names
    assert not [name for name in names if name.endswith(".key")]
    assert not [path for path in (ran / "copy").rglob("*") if path.is_file() and b"secret-word" in path.read_bytes()]


def test_a_server_is_not_asked(ran: Path) -> None:
    done = noetl(ran, "store", "check", "--store", "sqlite:///nowhere.db")
    assert (done.returncode, "there is no store at nowhere.db" in done.stderr) == (1, True)


def test_a_copy_that_cannot_be_made_leaves_nothing(ran: Path) -> None:
    database = ran / ".noetl" / "noetl.db"
    before = {path.name for path in ran.iterdir()}
    database.write_bytes(database.read_bytes()[:5_000] + b"x" * 90_000)
    done = noetl(ran, "store", "backup", "copy")
    assert done.returncode == 1 and done.stderr.startswith("error: ")
    assert {path.name for path in ran.iterdir()} == before


def test_a_store_that_is_damaged_is_copied_as_it_is(ran: Path) -> None:
    """Before anybody mends it."""
    name = json.loads(noetl(ran, "list", "--json").stdout)[0]["execution_id"]
    number = f"(SELECT number FROM executions WHERE execution_id = '{name}')"
    changed(ran, f"UPDATE events SET body = x'00' WHERE key >> 32 = {number} AND key % 4294967296 = 5")
    done = noetl(ran, "store", "backup", "copy")
    assert done.returncode == 1
    assert f"as damaged as the store is: {name}: " in done.stderr and ".part" not in done.stderr
    assert (ran / "copy" / "noetl.db").exists()
    assert not [path for path in ran.iterdir() if path.name.endswith(".part")]


def test_a_vacuum_removes_values_of_what_never_began(ran: Path) -> None:
    """As a rerun leaves them whose process died before its log was on disk. One that may begin still is left alone, and
    so is what has no id of ours.
    """
    blobs = ran / ".noetl" / "noetl.db.blobs"
    there = {path.name for path in blobs.iterdir()}
    now = int(time.time() * 1_000)
    old, young = execution_id_of(now - 3_700_000, 5), execution_id_of(now - 3_500_000, 5)
    for name in (old, young, "nobody"):
        (blobs / name).mkdir()
        (blobs / name / ("a" * 64)).write_bytes(b"values")
    found = json.loads(noetl(ran, "store", "vacuum", "--json").stdout)
    assert found["never_began"] == {"executions": 1, "size": 6}
    assert {path.name for path in blobs.iterdir()} == there | {young, "nobody"}
    assert noetl(ran, "store", "vacuum").stdout.count("\n") == 1
