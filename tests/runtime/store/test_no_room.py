"""A full disk, of the system's own making where that can be had: what is refused, what is read, and what goes on."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from psycopg import errors

from harness.disks import fill, small_disk
from noetl.host.disk_space import LEAST_ROOM, check_room
from noetl.ports import ExecutionRow, NoRoom, StoreFailure
from noetl.store.files import FileBlobs
from noetl.store.postgres.address import address_of
from noetl.store.postgres.failures import failure
from noetl.store.sqlite import SqliteStore

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def test_a_full_disk_is_read_and_goes_on_when_there_is_room(disk: Path) -> None:
    with closing(SqliteStore(str(disk / "a.db"))) as store:
        store.create(ROW)
        store.append("e1", 0, [("a", b"1")], status="running", ended=None)
        store.check_room(suspected=True)
        ballast = fill(disk)
        for suspected in (False, True):
            with pytest.raises(NoRoom, match="full"):
                store.check_room(suspected=suspected)
        position = 1
        with pytest.raises(NoRoom, match="the disk is full"):
            while True:
                position = store.append("e1", position, [(f"w{position}", b"x" * 900)], status="running", ended=None)
        assert len(list(store.read("e1"))) == position
        with pytest.raises(NoRoom):
            FileBlobs(str(disk / "b")).put("e1", bytes(10_000))
        ballast.unlink()
        store.check_room(suspected=True)
        assert store.append("e1", position, [("on", b"")], status="running", ended=None) == position + 1
        assert FileBlobs(str(disk / "b")).put("e1", b"abc")["size"] == 3


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_store_is_opened_on_a_full_disk_to_be_read(disk: Path, *, is_closed: bool) -> None:
    """As a command does that only looks; what it may not do becomes possible once there is room."""
    before = SqliteStore(str(disk / "a.db"))
    before.create(ROW)
    before.append("e1", 0, [("a", b"1")], status="running", ended=None)
    if is_closed:
        before.close()
    ballast = fill(disk)
    with closing(SqliteStore(str(disk / "a.db"))) as store:
        assert [record.event_id for record in store.read("e1")] == ["a"]
        assert store.counts() == {"running": 1}
        with pytest.raises(NoRoom):
            store.append("e1", 1, [("b", b"2" * 100_000)], status="running", ended=None)
        ballast.unlink()
        assert store.append("e1", 1, [("b", b"2" * 100_000)], status="running", ended=None) == 2
        assert [record.event_id for record in store.read("e1")] == ["a", "b"]
    before.close()


def test_no_room_shows_where_a_folder_is_not_there_yet(tmp_path: Path) -> None:
    check_room(str(tmp_path / "a" / "b"), suspected=False)
    check_room(str(tmp_path / "a" / "b"), suspected=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_quota_shows_when_it_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def write(file: int, data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", write)
    check_room(str(tmp_path), suspected=False)
    with pytest.raises(NoRoom):
        check_room(str(tmp_path), suspected=True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_for_the_system_is_no_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = os.statvfs(tmp_path)
    blocks = LEAST_ROOM // disk.f_frsize
    values = [disk.f_bsize, disk.f_frsize, 100 * blocks, 2 * blocks, blocks // 2, *[*disk][5:]]
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(values))
    for user, is_full in ((0, False), (1000, True)):
        monkeypatch.setattr(os, "geteuid", lambda: user)  # noqa: B023
        if is_full:
            with pytest.raises(NoRoom, match="bytes are left"):
                check_room(str(tmp_path), suspected=False)
        else:
            check_room(str(tmp_path), suspected=False)


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (errors.DiskFull, True),
        (errors.OutOfMemory, True),
        (errors.TooManyConnections, True),
        (errors.ProgramLimitExceeded, False),
        (errors.ConnectionFailure, False),
    ],
)
def test_what_postgresql_lacks_is_no_room(error: type[Exception], *, is_full: bool) -> None:
    told = failure(error("x"), address_of("postgresql://h/db"))
    assert isinstance(told, NoRoom) is is_full
    assert isinstance(told, StoreFailure)
