"""Who owns an execution: a lock of the operating system, on a file each in a folder beside the database.

The kernel lets go of a lock when its process ends, however it ends. A lock file is removed by the owner
when it lets go; so whoever has just locked one looks whether it is still the file of that name. The folder
must be on a local disk: many network file systems do not lock.
"""

import fcntl
import os
import time
import weakref
from contextlib import suppress
from types import TracebackType

from noetl.files import file_name_of
from noetl.own import make_folder
from noetl.ports import NoRoom, Owned, StoreFailure
from noetl.space import FULL

_TRIES = 2_000
_PAUSE = 0.001
_held: "weakref.WeakSet[Ownership]" = weakref.WeakSet()


class Ownership:
    """The ownership of one execution, held while inside; may be used again, but never twice at once."""

    def __init__(self, folder: str, execution_id: str) -> None:
        self._folder = folder
        self._execution_id = execution_id
        self._path = os.path.join(folder, file_name_of(execution_id) + ".lock")
        self._file = -1

    def __enter__(self) -> None:
        try:
            make_folder(self._folder)
            for _ in range(_TRIES):
                self._file = _locked(self._path, fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT)
                if self._file >= 0:
                    # Of fixed width instead of truncated, which makes ext4 write it out at once.
                    os.pwrite(self._file, b"%-19d\n" % os.getpid(), 0)
                    _held.add(self)
                    return
                # Somebody who only asks shares the lock for a moment; an owner does not.
                if is_owned(self._folder, self._execution_id):
                    break
                time.sleep(_PAUSE)
            owner = _owner(self._path)
        except OSError as error:
            self._let_go()
            text = f"{self._path}: the execution cannot be locked [{error}]"
            if reason := FULL.get(error.errno or 0):
                raise NoRoom(text, reason) from error
            raise StoreFailure(text) from error
        raise Owned(f"execution {self._execution_id!r} is owned by {owner}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            with suppress(OSError):  # the lock is what counts
                os.unlink(self._path)
        self._let_go()

    def _let_go(self) -> None:
        _held.discard(self)
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def is_owned(folder: str, execution_id: str) -> bool:
    """Whether any process owns the execution."""
    path = os.path.join(folder, file_name_of(execution_id) + ".lock")
    try:
        file = _locked(path, fcntl.LOCK_SH, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreFailure(f"{path}: the lock cannot be read [{error}]") from error
    if file < 0:
        return True
    os.close(file)
    return False


def _locked(path: str, lock: int, flags: int) -> int:
    """A descriptor of the file at `path` with the lock on it, or -1 when somebody else has it."""
    while True:
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, lock | fcntl.LOCK_NB)
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


def _owner(path: str) -> str:
    """The process that holds a lock, as far as its file says."""
    try:
        with open(path, "rb") as file:
            number = file.read(20).strip()
    except OSError:
        number = b""
    return f"process {int(number)}" if number.isdigit() else "another process"


def _forget() -> None:
    """In a forked child: a lock belongs to the open file, which the child shares, so it closes its copy."""
    for ownership in list(_held):
        ownership._let_go()


os.register_at_fork(after_in_child=_forget)
