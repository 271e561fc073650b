"""Who owns an execution: a lock of the operating system on a file for each, in a folder beside the database.

The kernel lets go of a lock when its process ends, however it ends. A lock file is removed by the owner
when it lets go; so whoever has just locked one looks whether it is still the file of that name. The folder
must be on a local disk: many network file systems do not lock.

A process that stands still keeps its locks. So its files say when it was last seen, by the monotonic clock of the
machine; from who is too old another one takes the execution, by putting a file of its own in the place of the other.
The table `taken` says so, and is looked at by every append of an owner: whoever wakes up writes nothing.
"""

import fcntl
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol

from noetl.host.confined_files import file_name_of
from noetl.host.disk_space import FULL
from noetl.host.engine_files import make_folder
from noetl.host.lease_renewal import LEASE, Renewal, hung_text
from noetl.ports import Conflict, NoRoom, Owned, StoreFailure
from noetl_ir.records import NamedTuple

_TRIES = 2_000
_PAUSE = 0.001
_TAKEN = "SELECT holder FROM taken WHERE execution_id = ?"
_TAKE = "INSERT OR REPLACE INTO taken VALUES (?, ?)"
_owned: "weakref.WeakSet[Ownership]" = weakref.WeakSet()


class Database(Protocol):
    """The database, which keeps who has taken which execution."""

    def write(self, operation: str, work: Callable[[sqlite3.Cursor], int]) -> int: ...

    def rows(self, query: str, values: Sequence[str]) -> list[tuple[Any, ...]]: ...


class Stamp(NamedTuple):
    """The content of a lock file: the process, and when it was last seen (monotonic seconds; None in files of older
    programs).
    """

    process: int | None
    seen: float | None

    @property
    def still(self) -> float:
        """For how many seconds it has stood still, 0 while it has a lease."""
        silent = 0.0 if self.seen is None else time.monotonic() - self.seen
        return silent if silent > LEASE else 0.0

    def __str__(self) -> str:
        return "another process" if self.process is None else f"process {self.process}"


class Owners:
    """The ownerships of one store; its lock files lie in `folder`."""

    def __init__(self, folder: str, database: Database) -> None:
        self.folder = folder
        self.database = database
        self.holder = int.from_bytes(os.urandom(7), "big")
        self.owned: dict[str, Ownership] = {}
        self.renewal = Renewal(self._renew)

    def own(self, execution_id: str) -> "Ownership":
        return Ownership(self, execution_id)

    def is_owned(self, execution_id: str) -> bool:
        """Whether any process that does not stand still owns the execution. Raises StoreFailure."""
        stamp = stamp_of(self._path(execution_id))
        return stamp is not None and not stamp.still

    def hung(self, execution_id: str) -> str:
        stamp = stamp_of(self._path(execution_id))
        return hung_text(str(stamp), stamp.still) if stamp is not None and stamp.still else ""

    def taken_over(self) -> set[str]:
        # Only whoever stood still can have been taken for dead, so nobody else pays for the look.
        if not self.owned or not self.renewal.was_late():
            return set()
        return {name for name, ownership in [*self.owned.items()] if ownership.is_taken()}

    def check(self, cursor: sqlite3.Cursor, execution_id: str) -> None:
        """Before an append, in its transaction. Raises Conflict where another one has taken what was owned here."""
        if execution_id in self.owned:
            found = cursor.execute(_TAKEN, (execution_id,)).fetchone()
            # In the transaction of the append: between an answer of the file system and the commit another process
            # could take the execution.
            if found is not None and found[0] != self.holder:
                raise Conflict(f"execution {execution_id!r} is owned by another process now")

    def close(self) -> None:
        """Renew nothing any more."""
        self.renewal.end_renewal()

    def _path(self, execution_id: str) -> str:
        return os.path.join(self.folder, file_name_of(execution_id) + ".lock")

    def _renew(self, now: float) -> None:
        for ownership in [*self.owned.values()]:
            with suppress(OSError):  # others take it for one who stands still
                ownership.stamp(now)


class Ownership:
    """The ownership of one execution, held while inside; may be used again, but never twice at once."""

    def __init__(self, owners: Owners, execution_id: str) -> None:
        self._owners = owners
        self._execution_id = execution_id
        self._path = owners._path(execution_id)
        self._file = -1
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        try:
            make_folder(self._owners.folder)
            for _ in range(_TRIES):
                self._file = _locked(self._path, fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT)
                if self._file >= 0:
                    self._claim()
                    return
                # Somebody who only asks shares the lock for a moment; an owner does not.
                if (stamp := stamp_of(self._path)) is not None:
                    if not stamp.still:
                        break
                    self._take()
                    if self._file >= 0:
                        self._begin()
                        return
                time.sleep(_PAUSE)
            owner = _read(self._path)
        except OSError as error:
            self.__exit__(None, None, None)
            text = f"{self._path}: the execution cannot be locked [{error}]"
            if reason := FULL.get(error.errno or 0):
                raise NoRoom(text, reason) from error
            raise StoreFailure(text) from error
        except BaseException:
            self.__exit__(None, None, None)
            raise
        raise Owned(f"execution {self._execution_id!r} is owned by {owner}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0 and not self.is_taken():
            with suppress(OSError):  # the lock is what counts
                os.unlink(self._path)
        self._let_go()

    def stamp(self, now: float) -> None:
        """Say that the owner was there at that time."""
        with self._lock:
            if self._file >= 0:
                # Of fixed width instead of truncated, which makes ext4 write it out at once.
                os.pwrite(self._file, b"%-19d %-19d\n" % (os.getpid(), int(now * 1_000_000)), 0)

    def is_taken(self) -> bool:
        """Whether another one has put its file in the place of this one's."""
        return self._file >= 0 and not _is_at(self._file, self._path)

    def _begin(self) -> None:
        _owned.add(self)
        self._owners.owned[self._execution_id] = self
        self._owners.renewal.begin_renewal()
        self.stamp(self._owners.renewal.last)

    def _claim(self) -> None:
        """Become the owner of an execution that was free: whoever once took it does not own it any more."""
        self._begin()
        owners, name = self._owners, self._execution_id
        # A row is written only where somebody once took it. Most executions never have one.
        found = owners.database.rows(_TAKEN, (name,))
        if found and found[0][0] != owners.holder:
            owners.database.write("take", lambda cursor: cursor.execute(_TAKE, (name, owners.holder)).rowcount)

    def _take(self) -> None:
        """Take an execution from an owner that stands still; the transaction lets in one taker at a time."""

        def work(cursor: sqlite3.Cursor) -> int:
            stamp = stamp_of(self._path)
            if stamp is not None and stamp.still:
                cursor.execute(_TAKE, (self._execution_id, self._owners.holder))
                os.unlink(self._path)
                self._file = _locked(self._path, fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT)
            return 0

        self._owners.database.write("take", work)

    def _let_go(self) -> None:
        _owned.discard(self)
        if self._owners.owned.get(self._execution_id) is self:
            del self._owners.owned[self._execution_id]
        with self._lock:  # nothing is written to a file of that number that comes after it
            file, self._file = self._file, -1
            if file >= 0:
                os.close(file)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of who holds a lock; None where nobody does."""
    try:
        file = _locked(path, fcntl.LOCK_SH, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreFailure(f"{path}: the lock cannot be read [{error}]") from error
    if file < 0:
        return _read(path)
    os.close(file)
    return None


def _locked(path: str, lock: int, flags: int) -> int:
    """A descriptor of the file at `path` with the lock on it, or -1 when somebody else has it."""
    while True:
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, lock | fcntl.LOCK_NB)
            # The owner may have removed the file between our opening and our locking: the lock is then on a file that
            # has no name.
            if _is_at(file, path):
                return file
        except BlockingIOError:
            os.close(file)
            return -1
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # its owner removed it between our opening and locking it


def _is_at(file: int, path: str) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), there)


def _read(path: str) -> Stamp:
    """The stamp that a lock file has of its owner; older programs write no time."""
    try:
        with open(path, "rb") as file:
            words = file.read(40).split()
    except OSError:
        words = []
    process, seen, *_ = [int(word) if word.isdigit() else None for word in words] + [None, None]
    return Stamp(process, None if seen is None else seen / 1_000_000)


def _forget() -> None:
    """In a forked child: a lock belongs to the open file, which the child shares, so it closes its copy."""
    for ownership in list(_owned):
        ownership._lock = threading.Lock()  # the thread that had it is the parent's
        ownership._let_go()


os.register_at_fork(after_in_child=_forget)
