"""The SQLite store where it is SQLite: the file, its schema, its errors, other processes, forks."""

import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from zlib import crc32

import pytest

from noetl.ports import Conflict, ExecutionRow, NoRoom, StoreFailure
from noetl.ports.catalogue import PlanRow
from noetl.store.sqlite import SqliteStore, opening, schema
from noetl.store.sqlite.failures import TEXTS, failure

ROW = ExecutionRow("e1", "p", "d", "running", None, 1, None)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the store goes."""
    return str(tmp_path / "deep" / "x.db")


def filled(path: str, count: int) -> SqliteStore:
    """A store with some events of e1."""
    store = SqliteStore(path)
    store.create(ROW, [(f"v{number}", b"body %d " % number * 20) for number in range(count)])
    return store


def sql(path: str, statement: str) -> None:
    """Run a statement on the file as another program would."""
    with sqlite3.connect(path) as other:
        other.execute(statement)
    other.close()


def test_it_forces_every_commit_to_disk(path: str) -> None:
    store = filled(path, 1)
    assert store.rows("PRAGMA journal_mode", ()) == [("wal",)]
    assert store.rows("PRAGMA synchronous", ()) == [(2,)]
    store.close()


def test_an_append_that_leaves_the_status_writes_three_pages(path: str) -> None:
    """The events, the ids of those of workers, and the row of the execution: none of an index over how it stands."""
    log = f"{path}-wal"

    def pages(position: int, status: str, ended: int | None = None) -> int:
        before = os.path.getsize(log)
        store.append("e1", position, [(f"v{position}", b"body")], status=status, ended=ended)
        return (os.path.getsize(log) - before) // (4096 + 24)

    with closing(filled(path, 1)) as store:
        assert [pages(position, "running") for position in range(1, 9)] == [3] * 8
        assert pages(9, "paused") == pages(10, "running") == 4
        assert [row.status for row in store.executions()] == ["running"]
        assert pages(11, "running") == 3
        assert pages(12, "completed", 5) == 4  # it is not among those that are open any more
        (there,) = store.executions()
        assert (there.status, there.ended) == ("completed", 5)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = x'00'",
        "DELETE FROM events",
        "DELETE FROM executions",
        "INSERT INTO events VALUES ((1 << 32) + 1, 'new', x'', 0)",
        "INSERT INTO events VALUES ((1 << 32) + 9, 'v0', x'', 0)",
    ],
)
def test_the_database_itself_refuses_to_change_the_log(path: str, statement: str) -> None:
    store = filled(path, 3)
    with pytest.raises(sqlite3.IntegrityError):
        sql(path, statement)
    assert len(list(store.read("e1"))) == 3
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = x'00' WHERE key & 255 = 2",
        "UPDATE events SET body = 'text' WHERE key & 255 = 2",
        "UPDATE events SET body = NULL WHERE key & 255 = 2",
        "UPDATE events SET event_id = 'other' WHERE key & 255 = 2",
        "UPDATE events SET event_id = x'ff' WHERE key & 255 = 2",
        "UPDATE events SET chain = chain + 1 WHERE key & 255 = 2",
        "DELETE FROM events WHERE key & 255 = 2",
    ],
)
def test_a_damaged_event_is_reported_with_its_position(path: str, statement: str) -> None:
    store = filled(path, 4)
    with sqlite3.connect(path) as other:
        other.executescript("DROP TRIGGER events_never_change; DROP TRIGGER events_never_go;")
        unbound = "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'events'"
        other.executescript(f"PRAGMA writable_schema = 1; {unbound};")
    other.close()
    sql(path, statement)
    reader = store.read("e1")
    assert next(reader).event_id == "v0"
    with pytest.raises(StoreFailure, match="event 2 of 'e1' is damaged"):
        next(reader)
    store.close()


def test_flipped_bits_in_the_file_never_go_unseen(path: str) -> None:
    filled(path, 60).close()
    whole = Path(path).read_bytes()
    wanted = [f"v{number}" for number in range(60)]
    for place in range(whole.index(b"body 1 "), len(whole), 1_009):
        Path(path).write_bytes(whole[:place] + bytes([whole[place] ^ 0x21]) + whole[place + 1 :])
        with suppress(StoreFailure), closing(SqliteStore(path)) as store:
            found = list(store.read("e1"))
            assert [record.event_id for record in found] == wanted
            assert all(record.body == b"body %d " % number * 20 for number, record in enumerate(found))


def test_a_full_disk_stops_the_writer_and_takes_nothing_back(path: str) -> None:
    store = filled(path, 1)
    (pages,) = store.rows("PRAGMA page_count", ())[0]
    store.rows(f"PRAGMA max_page_count = {pages + 3}", ())
    position = 1
    with pytest.raises(NoRoom, match=r"the disk is full \["):
        while True:
            position = store.append("e1", position, [(f"w{position}", b"x" * 900)], status="running", ended=None)
    with pytest.raises(NoRoom, match="full"):
        store.append("e1", position, [("big", b"x" * 90_000)], status="running", ended=None)
    assert len(list(store.read("e1"))) == position
    store.rows("PRAGMA max_page_count = 100000", ())
    assert store.append("e1", position, [("on", b"")], status="running", ended=None) == position + 1
    store.close()


def test_a_commit_that_fails_is_undone(path: str) -> None:
    def hook(point: str) -> None:
        if point == "append.before_commit" and broken:
            raise sqlite3.OperationalError("disk I/O error")

    broken: list[int] = []
    store = SqliteStore(path, hook=hook)
    store.create(ROW)
    broken.append(1)
    with pytest.raises(StoreFailure, match="disk I/O error"):
        store.append("e1", 0, [("a", b"")], status="failed", ended=5)
    broken.clear()
    assert list(store.read("e1")) == [] and store.execution("e1") == ROW
    assert store.append("e1", 0, [("a", b"")], status="running", ended=None) == 1
    store.close()


def test_a_writer_that_waits_too_long_says_why(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BUSY_TIMEOUT", 0.05)
    store = filled(path, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailure, match="another process has kept the database locked"):
        store.append("e1", 1, [("a", b"")], status="running", ended=None)
    assert len(list(store.read("e1"))) == 1
    other.close()
    assert store.append("e1", 1, [("a", b"")], status="running", ended=None) == 2
    store.close()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM keys", "UPDATE keys SET value = 'text'", "UPDATE keys SET value = x''"]
)
def test_a_damaged_key_of_claims_is_said(path: str, statement: str) -> None:
    """Notes of plans that were verified are held against it, so whoever only looks reads it too."""
    with closing(SqliteStore(path)) as store:
        store.vouch("d", "checks")
    sql(path, f"{statement} WHERE name = 'claims'")
    with closing(SqliteStore(path)) as store, pytest.raises(StoreFailure, match="key of claims is missing or damaged"):
        store.vouches("d", "checks")


def test_other_files_are_refused_untouched(path: str) -> None:
    os.mkdir(os.path.dirname(path))
    for make, words in {
        "text": "not a SQLite database",
        "foreign": "another program",
        "numbered": "another program",
    }.items():
        if make == "text":
            Path(path).write_text("This is a letter. " * 200)
        else:
            sql(path, "CREATE TABLE mine (a)" if make == "foreign" else "PRAGMA application_id = 7")
            if make == "numbered":
                sql(path, "PRAGMA user_version = 1")
        before = Path(path).read_bytes()
        with pytest.raises(StoreFailure, match=words):
            SqliteStore(path)
        assert Path(path).read_bytes() == before
        os.unlink(path)


TAMPERED = {
    "DELETE FROM events WHERE key & 4294967295 > 2": "end of the log of 'e1' is missing: it has 2 events, and had 4",
    "DELETE FROM events": "the end of the log of 'e1' is missing: it has 0 events, and had 4",
    "UPDATE events SET body = x'00' WHERE key & 4294967295 = 4": "event 4 of 'e1' is damaged",
    # Somebody who knows how the checksums are made.
    f"UPDATE events SET body = x'00', chain = {crc32(bytes(1), crc32(b'v0'))} WHERE key & 4294967295 = 1;"
    "DELETE FROM events WHERE key & 4294967295 > 1; UPDATE executions SET events = 1": "event 1 of 'e1' is damaged",
}


@pytest.mark.parametrize("statements", TAMPERED)
def test_a_log_that_was_cut_or_changed_is_not_read(path: str, statements: str) -> None:
    store = filled(path, 2)
    assert store.append("e1", 2, [("v2", b"2")], status="running", ended=None) == 3
    assert store.append("e1", 3, [("v3", b"3")], status="running", ended=None) == 4
    store.close()
    for name in ("events_never_change", "events_never_go"):
        sql(path, f"DROP TRIGGER {name}")
    for statement in statements.split(";"):
        sql(path, statement)
    store = SqliteStore(path)
    with pytest.raises(StoreFailure, match=TAMPERED[statements]):
        list(store.read("e1"))
    store.close()


def test_a_newer_schema_is_refused(path: str) -> None:
    filled(path, 1).close()
    sql(path, f"INSERT INTO migrations VALUES ({schema.VERSION + 1}, 'later')")
    with pytest.raises(StoreFailure, match=f"schema {schema.VERSION + 1}, this one knows {schema.VERSION}"):
        SqliteStore(path)


def test_a_database_of_schema_1_goes_on(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(schema, "VERSION", 1)
        older.setattr(schema, "files", lambda: [(1, "sqlite_0001_log.sql")])
        SqliteStore(path).close()
    sql(path, "INSERT INTO plans VALUES ('d', x'01')")
    sql(path, "INSERT INTO plan_paths VALUES ('p', 'd')")
    store = SqliteStore(path)
    assert store.plans() == (PlanRow("p", 1, "d"),)
    assert store.plan_at("p") == ("d", b"\x01")
    store.close()


def test_ids_of_the_server_are_kept_apart_by_their_position(path: str) -> None:
    """They are not in the index, so that one at another position would not be seen twice."""

    def add(expected: int, *records: tuple[str, bytes]) -> int:
        return store.append("e1", expected, records, status="running", ended=None)

    store = filled(path, 1)
    assert add(1, ("s2", b"x"), ("7:1", b"y"), ("s4", b"z")) == 4
    assert add(4, ("s2", b"x")) == add(1, ("s2", b"x"), ("7:1", b"y")) == 4
    for records in ((("s2", b"other"),), (("s9", b"x"),), (("s6", b"x"),), (("7:1", b"other"),)):
        with pytest.raises(Conflict, match=records[0][0]):
            add(4, *records)
    assert add(4, ("s", b"1"), ("seven", b"2"), ("s7", b"3")) == 7
    assert [record.event_id for record in store.read("e1")] == ["v0", "s2", "7:1", "s4", "s", "seven", "s7"]
    store.close()


def test_a_database_of_schema_2_goes_on(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(schema, "VERSION", 2)
        two = schema.files()[:2]
        older.setattr(schema, "files", lambda: two)
        SqliteStore(path).close()
    sql(path, "INSERT INTO executions VALUES (1, 'e1', 'p', 'd', 'running', NULL, 1, NULL)")
    chain = 0
    for position, (name, body) in enumerate([("v0", b"0"), ("v1", b"1"), ("s3", b"x"), ("7:1", b"y")], start=1):
        chain = crc32(body, crc32(name.encode(), chain))
        sql(path, f"INSERT INTO events VALUES ((1 << 32) + {position}, '{name}', x'{body.hex()}', {chain})")
    store = SqliteStore(path)
    assert [record.event_id for record in store.read("e1")] == ["v0", "v1", "s3", "7:1"], "its row knows no end"
    assert store.append("e1", 2, [("s3", b"x"), ("7:1", b"y"), ("s5", b"z")], status="running", ended=None) == 5
    with pytest.raises(Conflict, match="7:1"):
        store.append("e1", 5, [("7:1", b"z")], status="running", ended=None)
    assert [record.event_id for record in store.read("e1")] == ["v0", "v1", "s3", "7:1", "s5"]
    store.close()


def test_migrations_are_numbered_without_gaps() -> None:
    versions = [version for version, _ in schema.files()]
    assert versions == list(range(1, schema.VERSION + 1))


def test_a_migration_that_fails_leaves_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "statements", lambda script: ["CREATE TABLE half (a)", "CREATE nonsense"])
    with pytest.raises(StoreFailure):
        SqliteStore(path)
    monkeypatch.undo()
    filled(path, 2).close()


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailure, match="folder cannot be used"):
        SqliteStore(str(tmp_path / "file" / "x.db"))
    with pytest.raises(StoreFailure, match="cannot be opened"):
        SqliteStore(str(tmp_path))


def test_every_error_of_sqlite_has_words() -> None:
    """The table of translations: primary and extended codes, and errors that have none."""
    for code, text in TEXTS.items():
        for extended in (code, code | (3 << 8)):
            error = sqlite3.OperationalError("driver's words")
            error.sqlite_errorcode = extended
            assert str(failure(error, "x.db")) == f"x.db: {text} [driver's words]"
    unknown = sqlite3.OperationalError("strange")
    unknown.sqlite_errorcode = 99
    assert str(failure(unknown, "x.db")) == "x.db: SQLite failed [strange]"
    assert str(failure(sqlite3.ProgrammingError("no code"), "x.db")) == "x.db: no code"
    for made in (lambda: "\ud800".encode(), lambda: b"\xff".decode()):
        with pytest.raises(UnicodeError) as raised:
            made()
        assert "not text" in str(failure(raised.value, "x.db"))
    assert "larger" in str(failure(OverflowError("int too large"), "x.db"))


def test_the_codes_that_matter_are_in_the_table() -> None:
    names = {"FULL", "READONLY", "BUSY", "LOCKED", "CORRUPT", "NOTADB", "CANTOPEN", "IOERR", "NOMEM", "PERM", "TOOBIG"}
    assert {getattr(sqlite3, f"SQLITE_{name}") for name in names} <= set(TEXTS)


def test_readers_in_other_processes_see_whole_commits_and_stop_nobody(path: str) -> None:
    store = filled(path, 1)
    script = (
        "import sys; from noetl.store.sqlite import SqliteStore\n"
        "store = SqliteStore(sys.argv[1]); print('ready', flush=True); counts = []\n"
        "while not counts or counts[-1] < 1501: counts.append(sum(1 for _ in store.read('e1')))\n"
        "assert all(count % 5 == 1 for count in counts), counts; print(len(counts))\n"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
    slowest, position = 0.0, 1
    while position < 1501:
        begun = time.monotonic()
        batch = [(f"w{position + number}", b"x" * 100) for number in range(5)]
        position = store.append("e1", position, batch, status="running", ended=None)
        slowest = max(slowest, time.monotonic() - begun)
    for reader in readers:
        words, _ = reader.communicate(timeout=60)
        assert reader.returncode == 0 and int(words) > 0
    assert slowest < opening.BUSY_TIMEOUT / 2
    store.close()


def test_one_that_is_refused_the_log_ahead_while_another_makes_it_asks_again() -> None:
    """SQLite calls no busy handler there."""
    asked: list[str] = []

    class Refused:
        def execute(self, text: str) -> sqlite3.Cursor:
            asked.append(text)
            if len(asked) < 3:
                problem = sqlite3.OperationalError("database is locked")
                problem.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise problem
            return sqlite3.connect(":memory:").execute("SELECT 'wal'")

    assert opening._write_ahead(Refused()) == ("wal",)  # type: ignore[arg-type]
    assert asked == ["PRAGMA journal_mode = WAL"] * 3


def test_two_processes_may_make_the_database_at_once(path: str) -> None:
    script = (
        "import sys; from noetl.ports import ExecutionRow; from noetl.store.sqlite import SqliteStore\n"
        "sys.stdin.read()\n"
        "SqliteStore(sys.argv[1]).create(ExecutionRow(sys.argv[2], 'p', 'd', 'running', None, 1, None))\n"
    )
    makers = [
        subprocess.Popen([sys.executable, "-c", script, path, f"e{number}"], stdin=subprocess.PIPE)
        for number in range(4)
    ]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.close()
    assert [maker.wait(60) for maker in makers] == [0] * 4
    store = SqliteStore(path)
    assert {row.execution_id for row in store.executions()} == {"e0", "e1", "e2", "e3"}
    store.close()


def test_a_forked_child_is_told_to_open_its_own(path: str) -> None:
    store = filled(path, 1)
    child = os.fork()
    if not child:
        try:
            store.append("e1", 1, [("child", b"")], status="running", ended=None)
        except StoreFailure as error:
            os._exit(7 if re.search("before a fork", str(error)) else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert store.append("e1", 1, [("parent", b"")], status="running", ended=None) == 2
    store.close()


def test_a_closed_store_leaves_one_file(path: str) -> None:
    store = filled(path, 1)
    with store.own("e1"):
        pass
    store.close()
    assert sorted(os.listdir(os.path.dirname(path))) == ["x.db", "x.db.owners"]
    assert os.listdir(path + ".owners") == []
