"""Ownership among real processes: it ends with the process, or when that stands still, and no forked child has it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from noetl.host.lease_renewal import LEASE, RENEW_EVERY
from noetl.ports import Conflict, ExecutionRow, Owned, Store, StoreFailure
from noetl.store.postgres import open_store as open_postgres
from noetl.store.sqlite import SqliteStore, open_store
from services import postgres, waited_for

ROW = ExecutionRow("e1", "p", "d", "running", None, 1, None)
OWNER = """
import importlib, sys
store = importlib.import_module(sys.argv[1]).open_store(sys.argv[2])
with store.own("e1"):
    print("mine", flush=True)
    for line in sys.stdin:
        try:
            said = store.append("e1", int(line), [(f"v{line}", b"")], status="running", ended=None)
        except Exception as problem:
            said = type(problem).__name__
        print(said, sorted(store.taken_over()), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "x.db.owners")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(str(tmp_path / "x.db"))) as found:
        found.create(ROW)
        yield found


class Owner:
    """A process that owns e1, and appends when it is told to."""

    def __init__(self, module: str, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, module, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._said() == "mine"

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def append(self, expected: int) -> str:
        """The outcome of an append, and the executions that the owner then knows to be lost."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{expected}\n")
        self.process.stdin.flush()
        return self._said()

    def send(self, number: int) -> None:
        os.kill(self.process.pid, number)


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Owner]]:
    """A store with the execution e1, and a process that owns it."""
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/x.db" if is_sqlite else postgres().store_url()
    with closing((open_store if is_sqlite else open_postgres)(url)) as found:
        found.create(ROW)
        owner = Owner(f"noetl.store.{request.param}", url)
        try:
            yield found, owner
        finally:
            owner.process.kill()
            owner.process.communicate()


def test_who_stands_still_loses_what_it_owns_and_writes_nothing_when_it_wakes(shared: tuple[Store, Owner]) -> None:
    store, owner = shared
    assert owner.append(0) == "1 []"
    began = time.monotonic()
    owner.send(signal.SIGSTOP)
    with pytest.raises(Owned, match=f"process {owner.process.pid}"), store.own("e1"):
        pass
    waited_for(lambda: not store.owned(["e1"]), "it keeps what it owns")
    assert re.match(rf"process {owner.process.pid} .*has it and has stood still for (8|9|\d\d) s$", store.hung("e1"))
    assert time.monotonic() - began > LEASE - RENEW_EVERY - 0.5
    with store.own("e1"):
        assert store.is_owned("e1") and [record.event_id for record in store.read("e1")] == ["v0\n"]
        owner.send(signal.SIGCONT)
        assert owner.append(1) == "Conflict ['e1']"
        assert store.append("e1", 1, [("w", b"")], status="running", ended=None) == 2
    owner.process.communicate("", timeout=60)  # letting go of what is lost changes nothing
    with store.own("e1"):
        assert store.append("e1", 2, [("x", b"")], status="running", ended=None) == 3


def test_who_stood_still_while_nobody_wanted_it_goes_on(shared: tuple[Store, Owner]) -> None:
    store, owner = shared
    owner.send(signal.SIGSTOP)
    waited_for(lambda: not store.owned(["e1"]), "it keeps what it owns")
    owner.send(signal.SIGCONT)
    assert owner.append(0) == "1 []"
    waited_for(lambda: store.is_owned("e1"), "it is not seen again")
    assert store.hung("e1") == ""
    with pytest.raises(Owned), store.own("e1"):
        pass


def test_what_was_taken_and_let_go_of_is_not_the_old_owners(shared: tuple[Store, Owner]) -> None:
    store, owner = shared
    owner.send(signal.SIGSTOP)
    waited_for(lambda: not store.owned(["e1"]), "it keeps what it owns")
    with store.own("e1"):
        pass
    owner.send(signal.SIGCONT)
    assert owner.append(0) == "Conflict ['e1']"
    assert not store.is_owned("e1")
    with store.own("e1"):
        assert store.append("e1", 0, [("a", b"")], status="running", ended=None) == 1


def test_who_takes_again_what_was_taken_from_it_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (SqliteStore(str(tmp_path / "x.db")) for _ in range(2))
    first.create(ROW)
    with first.own("e1"):
        monkeypatch.setattr("noetl.store.sqlite.owners.LEASE", -1)
        with second.own("e1"):
            monkeypatch.undo()
            with pytest.raises(Conflict):
                first.append("e1", 0, [("a", b"")], status="running", ended=None)
    with first.own("e1"):
        assert first.append("e1", 0, [("a", b"")], status="running", ended=None) == 1
    for each in (first, second):
        each.close()


def test_an_owner_that_writes_no_time_keeps_what_it_owns(store: SqliteStore, folder: str) -> None:
    """That of an older program."""
    with store.own("e1"):
        path = os.path.join(folder, os.listdir(folder)[0])
        with open(path, "r+b") as file:
            file.write(b"%-40d" % 17)
        with closing(SqliteStore(store.path)) as other, pytest.raises(Owned, match=r"process 17$"), other.own("e1"):
            pass


def test_another_process_owns_until_it_is_killed(store: SqliteStore, folder: str) -> None:
    owner = Owner("noetl.store.sqlite", f"sqlite:///{store.path}")
    with owner.process:
        assert store.is_owned("e1")
        with pytest.raises(Owned, match=f"process {owner.process.pid}$"), store.own("e1"):
            pass
        owner.send(signal.SIGKILL)
    assert not store.is_owned("e1")
    with store.own("e1"):
        assert store.is_owned("e1")
    assert os.listdir(folder) == []


def test_a_child_that_lives_on_does_not_keep_it(tmp_path: Path) -> None:
    """The owner forks and is gone; its child, still alive, holds nothing."""
    path, (read, write) = str(tmp_path / "x.db"), os.pipe()
    owner = os.fork()
    if not owner:
        with SqliteStore(path).own("e1"):
            if not os.fork():
                os.close(write)
                os.read(read, 1)  # until the test lets go
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(owner, 0)
    try:
        with closing(SqliteStore(path)) as store:
            for _ in range(100):  # the child may still be about to close its copy
                if not store.is_owned("e1"):
                    break
                os.sched_yield()
            with store.own("e1"):
                assert store.is_owned("e1")
    finally:
        os.close(read)
        os.close(write)


def test_a_child_that_ends_does_not_take_it_away(store: SqliteStore) -> None:
    with store.own("e1"):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        assert store.is_owned("e1")


def test_a_folder_that_cannot_be_used_says_so(store: SqliteStore, folder: str) -> None:
    Path(folder).write_text("a file")
    with pytest.raises(StoreFailure, match="cannot be locked"), store.own("e1"):
        pass
