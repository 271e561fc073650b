"""PostgreSQL where it is itself: restarts, cuts, owners that die, other people's tables, and its errors in words."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zlib import crc32

import psycopg
import pytest
from psycopg import errors

from harness.pace import allowed
from noetl.ports import Conflict, ExecutionRow, Owned, StoreFailure
from noetl.store.postgres import open_blobs, open_store
from noetl.store.postgres import pool as pool_module
from noetl.store.postgres import schema as schema_module
from noetl.store.postgres.address import address_of
from noetl.store.postgres.failures import LOST, TEXTS
from noetl.store.postgres.store import PostgresStore
from services import postgres, waited_for

ROW = ExecutionRow("e1", "p", "d", "running", None, 1, None)


@pytest.fixture
def url() -> str:
    """The URL of a store that is not there yet."""
    return postgres().store_url()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    """A store with execution e1 in it."""
    found = PostgresStore(url)
    found.create(ROW)
    yield found
    found.close()


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    """The rows of a query that does not go through the store."""
    address = address_of(url)
    with psycopg.connect(**address.parameters, autocommit=True) as connection:  # type: ignore[arg-type]
        cursor = connection.execute(f"SET search_path = {address.namespace}; {statement}".encode())
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []


def cut(url: str, name: str = "noetl") -> None:
    """End every connection of stores."""
    asked(url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{name}'")


def add(store: PostgresStore, expected: int, name: str) -> int:
    """Append one event to e1."""
    return store.append("e1", expected, [(name, name.encode())], status="running", ended=None)


def names(store: PostgresStore) -> list[str]:
    """The events of e1."""
    return [record.event_id for record in store.read("e1")]


def test_a_restart_in_the_middle_is_waited_for_and_nothing_is_lost(store: PostgresStore) -> None:
    said: list[str] = []
    problems: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        position = 0
        try:
            while not done.is_set():
                position = add(store, position, f"v{position}")
                said.append(f"v{position - 1}")
                store.post("e1", "signal", position)
        except BaseException as problem:
            problems.append(problem)

    writer = threading.Thread(target=write)
    with store.own("e1"):
        writer.start()
        for _ in range(2):
            before = len(said)
            waited_for(lambda before=before: len(said) > before + 20 or problems, "the writer stands")
            postgres().kill()
            postgres().start()
        before = len(said)
        waited_for(lambda: len(said) > before + 20 or problems, "the writer does not go on")
        assert store.is_owned("e1")
        done.set()
        writer.join()
    assert not problems
    assert names(store) == said == [f"v{number}" for number in range(len(said))]
    assert [row.body for row in store.inbox("e1", 0)] == list(range(1, len(said) + 1))


def test_a_server_that_stays_away_is_an_error_in_words(url: str) -> None:
    store = PostgresStore(url, reconnect_seconds=0.2)
    store.create(ROW)
    postgres().kill()
    try:
        with pytest.raises(StoreFailure, match=LOST):
            add(store, 0, "a")
        with pytest.raises(StoreFailure, match=LOST):
            store.executions()
        with pytest.raises(StoreFailure, match=LOST):
            PostgresStore(url)
    finally:
        postgres().start()
    assert add(store, 0, "a") == 1
    store.close()


def test_connections_that_were_cut_are_replaced(store: PostgresStore, url: str) -> None:
    with store.own("e1"):
        for number in range(3):
            cut(url)
            assert add(store, number, f"v{number}") == number + 1
            other = PostgresStore(url)
            assert other.is_owned("e1")
            other.close()
    assert not store.is_owned("e1")


def test_what_was_let_go_of_while_nobody_could_be_told_is_anybodys(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody would ever take it up: whoever looks for work passes by what is owned."""

    def away(_: object) -> None:
        raise StoreFailure("the server is away")

    holder = store._access.holder
    with closing(open_store(url)) as other:
        with store.own("e1"):
            monkeypatch.setattr(holder._pool, "once", away)
        monkeypatch.undo()
        assert other.is_owned("e1")
        assert not store.owned(["e1"])
        assert not other.is_owned("e1")
        with other.own("e1"):
            assert store.is_owned("e1")


def test_an_owner_that_was_cut_off_and_replaced_writes_nothing(store: PostgresStore, url: str) -> None:
    other = PostgresStore(url)
    with store.own("e1"):
        add(store, 0, "a")
        store._access.holder._connection.close()  # type: ignore[union-attr]  # as a cable that is pulled does
        with other.own("e1"):
            with pytest.raises(Conflict, match="owned by another"):
                add(store, 1, "late")
            with pytest.raises(Conflict, match="owned by another"):
                store.append("e1", 1, [("end", b"")], status="completed", ended=9)
            assert add(other, 1, "b") == 2
        with pytest.raises(Conflict):
            add(store, 2, "later")
    assert names(store) == ["a", "b"]
    with store.own("e1"):
        assert add(store, 2, "c") == 3
    other.close()


@pytest.mark.parametrize("code", [0, 9])
def test_ownership_ends_with_the_process(store: PostgresStore, url: str, code: int) -> None:
    script = (
        "import sys; from noetl.store.postgres.store import PostgresStore\n"
        "store = PostgresStore(sys.argv[1]); own = [store.own(name) for name in ('e1', 'e2')]\n"
        "[each.__enter__() for each in own]; print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None and owner.stdin is not None and owner.stdout.readline() == "held\n"
        assert store.is_owned("e1")
        with pytest.raises(Owned, match=f"process {owner.pid} on "), store.own("e1"):
            pass
        if code:
            owner.kill()
        else:
            owner.stdin.close()
        owner.wait(60)
    waited_for(lambda: not store.is_owned("e1"), "the ownership outlives its process")
    with store.own("e1"), store.own("e2"):
        assert store.is_owned("e2")


def test_thousands_of_executions_are_owned_by_one_lock(store: PostgresStore, url: str) -> None:
    owned = [store.own(f"w{number}") for number in range(2_000)]
    for own in owned:
        own.__enter__()
    assert asked(url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(1,)]
    store.close()
    assert asked(url, "SELECT count(*) FROM owners") == [(0,)]


def test_servers_that_start_at_once_make_the_tables_once(url: str) -> None:
    opened: list[PostgresStore] = []
    threads = [threading.Thread(target=lambda: opened.append(PostgresStore(url))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    for found in opened:
        found.close()


def test_a_newer_schema_and_another_programs_tables_are_refused(url: str) -> None:
    open_store(url).close()
    asked(url, "INSERT INTO migrations VALUES (99, 'postgres_0099_future.sql')")
    with pytest.raises(StoreFailure, match=r"newer noetl wrote this database \(schema 99, this one knows"):
        open_store(url)
    other = postgres().store_url()
    schema = address_of(other).schema
    asked(url, f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.events (x int)")
    with pytest.raises(StoreFailure, match=f"`{schema}` has tables of another program"):
        open_store(other)


def test_the_newest_migration_is_the_version() -> None:
    files = schema_module.files()
    assert [version for version, _ in files] == list(range(1, schema_module.VERSION + 1))


def test_the_log_cannot_be_changed(store: PostgresStore, url: str) -> None:
    add(store, 0, "a")
    for statement in (
        "UPDATE events SET body = ''",
        "DELETE FROM events",
        "TRUNCATE events",
        "DELETE FROM executions",
        "TRUNCATE executions CASCADE",
    ):
        with pytest.raises(errors.RaiseException, match="append-only"):
            asked(url, statement)
    assert names(store) == ["a"]


def test_a_log_that_was_cut_is_not_read(store: PostgresStore, url: str) -> None:
    for number in range(3):
        add(store, number, f"v{number}")
    asked(url, "ALTER TABLE events DISABLE TRIGGER USER; DELETE FROM events WHERE position > 1")
    with pytest.raises(StoreFailure, match="the end of the log of 'e1' is missing: it has 1 events, and had 3"):
        list(store.read("e1"))


def test_a_log_whose_end_was_made_anew_is_not_read(store: PostgresStore, url: str) -> None:
    add(store, 0, "v0")
    chain = crc32(b"x", crc32(b"v0"))
    asked(url, f"ALTER TABLE events DISABLE TRIGGER USER; UPDATE events SET body = 'x', chain = {chain}")
    with pytest.raises(StoreFailure, match="event 1 of 'e1' is damaged"):
        list(store.read("e1"))


@pytest.mark.parametrize(
    "damage",
    ["UPDATE events SET body = 'x' WHERE position = 2", "DELETE FROM events WHERE position = 2"],
)
def test_a_damaged_event_is_named(store: PostgresStore, url: str, damage: str) -> None:
    for number in range(3):
        add(store, number, f"v{number}")
    asked(url, f"ALTER TABLE events DISABLE TRIGGER USER; {damage}")
    with pytest.raises(StoreFailure, match="event 2 of 'e1' is damaged or missing"):
        names(store)


def test_what_waits_too_long_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "LOCK_TIMEOUT", "200ms")
    monkeypatch.setattr(pool_module, "STATEMENT_TIMEOUT", "2s")
    store = PostgresStore(url, reconnect_seconds=0.1)
    store.create(ROW)
    parameters = address_of(url).parameters
    with psycopg.connect(**parameters) as other:  # type: ignore[arg-type]
        other.execute(f"SET search_path = {address_of(url).namespace}".encode())
        other.execute("LOCK TABLE inbox")
        with pytest.raises(StoreFailure, match=TEXTS["55P03"]):
            store.posted()
    with pytest.raises(StoreFailure, match=TEXTS["57014"]):
        store._access.rows("SELECT pg_sleep(30)")
    assert store.posted() == 0
    store.close()


@pytest.mark.parametrize("table", ["executions", "inbox"])
def test_who_stands_still_in_a_transaction_stops_nobody(store: PostgresStore, url: str, table: str) -> None:
    """As by SIGSTOP, or on a machine that was suspended: its connection stays open, and its rows stay locked."""
    hung = PostgresStore(url)
    connection = hung._access.pool.connect()
    connection.execute("BEGIN")
    connection.execute(f"LOCK TABLE {table}".encode())
    began = time.monotonic()
    assert store.append("e1", 0, [("a", b"a")], status="completed", ended=1) == 1
    assert store.posted() == 0
    assert time.monotonic() - began < 60
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT 1")
    hung.close()


def test_requests_are_numbered_as_they_are_committed(store: PostgresStore, url: str) -> None:
    """Whoever polls the last row, and reads what is behind the one that it knows, misses none."""
    stores = [PostgresStore(url) for _ in range(4)]
    done = threading.Event()
    seen: list[int] = []

    def poll() -> None:
        known = 0
        while not done.is_set() or store.posted() != known:
            if (last := store.posted()) != known:
                seen.extend(row.row for row in store.posts(known) if row.row <= last)
                known = last

    poller = threading.Thread(target=poll)
    writers = [
        threading.Thread(target=lambda each=each: [each.post("e1", "signal", n) for n in range(25)]) for each in stores
    ]
    for thread in (poller, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    poller.join()
    assert seen == sorted(seen) and len(seen) == 100
    for each in stores:
        each.close()


def test_a_forked_child_is_told_to_open_its_own(store: PostgresStore) -> None:
    owned = store.own("e1")
    owned.__enter__()
    child = os.fork()
    if not child:
        try:
            add(store, 0, "child")
        except StoreFailure as error:
            store.close()
            os._exit(7 if "before a fork" in str(error) else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert store.is_owned("e1")
    assert add(store, 0, "parent") == 1


def test_only_so_many_connections_are_made(store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WAIT", 0.05)
    going = threading.Event()
    started = threading.Barrier(pool_module.MOST + 1)

    def hold() -> None:
        def work(_: object) -> None:
            started.wait(60)
            going.wait(60)

        store._pool.once(work)

    threads = [threading.Thread(target=hold) for _ in range(pool_module.MOST)]
    for thread in threads:
        thread.start()
    started.wait(60)
    with pytest.raises(StoreFailure, match="connections are busy"):
        store.posted()
    going.set()
    for thread in threads:
        thread.join()
    assert store.posted() == 0


def test_a_blob_lies_in_the_database(url: str) -> None:
    blobs = open_blobs(url)
    reference = blobs.put("e1", b"x" * 3_000_000)
    blobs.close()
    with pytest.raises(StoreFailure, match="closed"):
        blobs.get(reference)
    (row,) = asked(url, "SELECT folder, length(data) FROM blobs")
    assert (reference["store"], row) == ("postgres", ("e1", 3_000_000))
    with pytest.raises(errors.RaiseException):
        asked(url, "UPDATE blobs SET data = ''")


def test_a_missing_driver_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError('not here')")
    script = (
        "from noetl.ports import StoreFailure; from noetl.store.postgres import open_store\n"
        "try: open_store('postgresql://h/db')\n"
        "except StoreFailure as failure: print(failure)\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert "pip install 'noetlc[postgres]'" in done.stdout, done.stderr


def test_appends_do_not_slow_down_with_the_log(store: PostgresStore) -> None:
    """An append behind a known head reads nothing of the log: its plan is an insert and an index."""
    position = 0
    for number in range(40):
        batch = [(f"{number}.{part}", b"x" * 200) for part in range(250)]
        position = store.append("e1", position, batch, status="running", ended=None)
    begun = time.process_time()
    for number in range(100):
        position = add(store, position, f"last{number}")
    assert position == 10_100 and time.process_time() - begun < allowed(1)
