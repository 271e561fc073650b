"""The write-ahead log that the last process left: torn tails are dropped, damage is never passed over.

Scenario 82, on the files that an unclean end leaves behind.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from noetl.ports import ExecutionRow, StoreFailure
from noetl.store.sqlite import SqliteStore

ROW = ExecutionRow("e1", "p", "d", "running", None, 1, None)
FRAME = 4096 + 24
HEAD = 32
COMMITS = 4


@pytest.fixture
def left(tmp_path: Path) -> Callable[[bytes], Path]:
    """Makes a database as a killed process leaves it, with the given bytes for its write-ahead log."""
    numbers = iter(range(1_000_000))
    database = (tmp_path / "x.db").read_bytes() if (tmp_path / "x.db").exists() else b""

    def make(wal: bytes) -> Path:
        path = tmp_path / f"left{next(numbers)}.db"
        path.write_bytes(database)
        path.with_name(path.name + "-wal").write_bytes(wal)
        return path

    return make


@pytest.fixture
def logs(tmp_path: Path) -> list[bytes]:
    """The write-ahead log after each of some commits of one event; `left` takes the database from before."""
    SqliteStore(str(tmp_path / "x.db")).close()
    database = (tmp_path / "x.db").read_bytes()
    store = SqliteStore(str(tmp_path / "x.db"))
    found = []
    store.create(ROW)
    for position in range(COMMITS):
        store.append("e1", position, [(f"v{position}", bytes([position]) * 300)], status="running", ended=None)
        found.append((tmp_path / "x.db-wal").read_bytes())
    store.close()
    (tmp_path / "x.db").write_bytes(database)
    return found


def ids(store: SqliteStore) -> list[str]:
    """The events of e1."""
    return [record.event_id for record in store.read("e1")]


def test_a_log_cut_anywhere_in_its_last_commit_goes_on(logs: list[bytes], left: Callable[[bytes], Path]) -> None:
    begin, end = len(logs[-2]), len(logs[-1])
    assert (end - begin) % FRAME == 0
    edges = {edge + shift for edge in range(begin, end + 1, FRAME) for shift in (-1, 0, 1, 23, 24, 25)}
    for cut in sorted(edges | set(range(begin, end, 97))):
        if not begin <= cut <= end:
            continue
        store = SqliteStore(str(left(logs[-1][:cut])))
        whole = ["v0", "v1", "v2"] + ["v3"] * (cut == end)
        assert ids(store) == whole, cut
        assert (store.dropped is not None) is (begin < cut < end), cut
        assert store.append("e1", len(whole), [("next", b"n")], status="running", ended=None) == len(whole) + 1
        assert ids(store) == [*whole, "next"]
        store.close()
        again = SqliteStore(store.path)
        assert ids(again) == [*whole, "next"] and again.dropped is None
        again.close()


def test_a_last_commit_of_garbage_is_dropped(logs: list[bytes], left: Callable[[bytes], Path]) -> None:
    chance, begin, end = random.Random(82), len(logs[-2]), len(logs[-1])
    for _ in range(40):
        start = chance.randrange(begin, end)
        wal = bytearray(logs[-1])
        wal[start : start + 700] = chance.randbytes(len(wal[start : start + 700]))
        store = SqliteStore(str(left(bytes(wal))))
        assert ids(store) == ["v0", "v1", "v2"]
        assert store.append("e1", 3, [("next", b"n")], status="running", ended=None) == 4
        store.close()


def test_damage_before_finished_commits_is_refused_and_kept(logs: list[bytes], left: Callable[[bytes], Path]) -> None:
    for place in (len(logs[0]) + 30, len(logs[0]) + 1_000, len(logs[1]) + 40, len(logs[1]) + FRAME + 2_000):
        wal = bytearray(logs[-1])
        wal[place] ^= 0x40
        path = left(bytes(wal))
        with pytest.raises(StoreFailure, match="damaged"):
            SqliteStore(str(path))
        kept = path.with_name(path.name + "-wal.damaged")
        assert kept.read_bytes() == wal
        with pytest.raises(StoreFailure, match=r"-wal\.damaged"):
            SqliteStore(str(path))
        kept.unlink()
        store = SqliteStore(str(path))
        assert ids(store) == ["v0", "v1", "v2"][: 1 if place < len(logs[1]) else 2]
        store.close()


@pytest.mark.parametrize("place", [0, 5, 17, 21, 25, 31])
def test_a_damaged_head_with_commits_behind_it_is_refused(
    logs: list[bytes], left: Callable[[bytes], Path], place: int
) -> None:
    wal = bytearray(logs[-1])
    wal[place] ^= 0x55
    with pytest.raises(StoreFailure, match="damaged"):
        SqliteStore(str(left(bytes(wal))))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 55])
def test_a_log_cut_in_its_head_is_no_log(logs: list[bytes], left: Callable[[bytes], Path], size: int) -> None:
    store = SqliteStore(str(left(logs[-1][:size])))
    assert store.executions() == ()
    store.create(ROW)
    store.close()


def test_frames_of_an_earlier_generation_mean_nothing(tmp_path: Path, left: Callable[[bytes], Path]) -> None:
    """After a checkpoint the log is overwritten from its start; what is behind that is old, not damaged."""
    path = tmp_path / "long.db"
    store = SqliteStore(str(path))
    store.create(ROW)
    for position in range(900):
        store.append("e1", position, [(f"v{position:04}", b"x" * 300)], status="running", ended=None)
    wal, database = path.with_name("long.db-wal").read_bytes(), path.read_bytes()
    assert len(wal) > 200 * FRAME
    copy = left(wal)
    copy.write_bytes(database)
    other = SqliteStore(str(copy))
    assert len(ids(other)) == 900
    assert other.dropped is None
    other.close()
    store.close()


def test_opening_beside_a_busy_writer_is_no_alarm(tmp_path: Path) -> None:
    import threading

    store = SqliteStore(str(tmp_path / "busy.db"))
    store.create(ROW)
    done = threading.Event()

    def write() -> None:
        position = 0
        while not done.is_set():
            position = store.append("e1", position, [(f"v{position}", b"x" * 900)], status="running", ended=None)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(150):
            other = SqliteStore(store.path)
            found = ids(other)
            assert found == [f"v{number}" for number in range(len(found))]
            other.close()
    finally:
        done.set()
        writer.join()
        store.close()
