"""Blobs as files: `FOLDER/<execution>/<sha256>`, the name being the checksum of what is inside.

A blob is written to a file of its own, forced to disk, renamed, and the folder forced to disk: under its
name it is whole or not there. What a killed process leaves behind ends in `.part` and is never read.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import islice

from noetl.host.confined_files import file_name_of
from noetl.host.disk_space import FULL, check_room
from noetl.host.engine_files import force_folder, make_folder
from noetl.ports import Blobs, Hook, NoRoom, StoreFailure
from noetl_ir.expr import Json
from noetl_ir.outcome import reference as reference_to

FAULT_POINTS = ("blob.before_write", "blob.after_write", "blob.before_commit", "blob.after_commit")
"""Where `hook` is called: nothing done; written; on disk, but not yet under its name; done, not yet told."""


COLLECTED = ".collected"
"""The file in a folder that marks when it was collected."""

_NAME = 64
"""Characters of a SHA-256 in hex."""


def open_blobs(url: str, *, hook: Hook | None = None) -> Blobs:
    """The blobs in the folder at `files:///FOLDER`; four slashes for an absolute path."""
    scheme, _, path = url.partition("://")
    if scheme != "files" or len(path) < 2 or path[0] != "/":
        raise StoreFailure(f"{url}: a folder of blobs is written files:///FOLDER")
    return FileBlobs(path[1:], hook=hook)


class FileBlobs:
    """`Blobs` in the folder at `path`, which is made when the first one is put there. Any thread may call."""

    def __init__(self, path: str, *, hook: Hook | None = None) -> None:
        self._path = path
        self._hook = hook

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """A blob that is there already is not written again."""
        import hashlib

        checksum = hashlib.sha256(data).hexdigest()
        folder = file_name_of(execution_id)
        reference = reference_to(store="files", key=f"{folder}/{checksum}", size=len(data), checksum=checksum)
        self._reach("blob.before_write")
        try:
            self._make(folder)
            # Read and hashed, and not only looked for: a file that a crash of the disk has damaged is written anew.
            if not self._is_there(reference):
                self._put(os.path.join(self._path, folder, checksum), data)
            # Also for one that is there: who put it may not have come to this yet.
            force_folder(os.path.join(self._path, folder))
        except OSError as error:
            text = f"{self._path}: the blob cannot be stored: {_words(error)}"
            if reason := FULL.get(error.errno or 0):
                raise NoRoom(text, reason) from error
            raise StoreFailure(text) from error
        self._reach("blob.after_commit")
        return reference

    def get(self, reference: Mapping[str, Json]) -> bytes:
        import hashlib

        key, checksum = reference.get("key"), reference.get("checksum")
        folder, _, name = key.partition("/") if isinstance(key, str) else ("", "", "")
        # The name must be the checksum of what was read, and the folder one that `put` makes.
        # The key comes from a result, so from a playbook: only what `put` makes is a path, and none leads out of the
        # folder.
        if name != checksum or folder.lstrip("=") == "" or file_name_of(folder.lstrip("=")) != folder.lstrip("="):
            raise KeyError(f"{key!r} is not the key of a blob")
        try:
            with open(os.path.join(self._path, folder, name), "rb", buffering=0) as file:
                # Before it is read: a reference must not have a file of any size taken into memory.
                is_sized = os.fstat(file.fileno()).st_size == reference.get("size")
                data = file.readall() if is_sized else b""
        except (OSError, ValueError) as error:
            raise KeyError(f"blob {key!r} is gone [{error}]") from error
        if not is_sized or hashlib.sha256(data).hexdigest() != checksum:
            raise KeyError(f"blob {key!r} was altered: it is not what the reference says")
        return data

    def check_room(self, *, suspected: bool) -> None:
        check_room(self._path, suspected=suspected)

    def uncollected(self, after: str, limit: int) -> list[str]:
        """As `Collectable.uncollected`: nothing was put into a folder whose mark file has the time of the folder."""
        with suppress(FileNotFoundError):
            return [
                *islice(filter(self._is_uncollected, sorted(f for f in os.listdir(self._path) if f > after)), limit)
            ]
        return []

    def names(self, folder: str) -> set[str]:
        with suppress(FileNotFoundError):
            return {name for name in os.listdir(os.path.join(self._path, folder)) if len(name) == _NAME}
        return set()

    def content(self, folder: str, name: str) -> bytes:
        try:
            with open(os.path.join(self._path, folder, name), "rb") as file:
                return file.read()
        except OSError as error:
            raise KeyError(f"blob {folder}/{name} is gone [{error}]") from error

    def collect(self, folder: str, names: Collection[str]) -> int:
        path, size = os.path.join(self._path, folder), 0
        try:
            for name in (*names, *(name for name in os.listdir(path) if name.endswith(".part"))):
                # Another collector may be at the same folder (`noetl collect` beside a server).
                with suppress(FileNotFoundError):
                    size += os.stat(os.path.join(path, name)).st_size
                    os.unlink(os.path.join(path, name))
            # The time of a folder changes with every file that comes or goes, so a mark with the same time says that
            # nothing has come since.
            mark = os.path.join(path, COLLECTED)
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            now = os.stat(path).st_mtime_ns
            os.utime(mark, ns=(now, now))
        except OSError as error:
            raise StoreFailure(f"{path}: the values cannot be collected: {_words(error)}") from error
        return size

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""
        path, size = os.path.join(self._path, file_name_of(execution_id)), 0
        try:
            for name in os.listdir(path):
                size += os.stat(os.path.join(path, name)).st_size
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        except FileNotFoundError:
            return size  # there was none, or another process removes it too
        except OSError as error:
            raise StoreFailure(f"{path}: the values cannot be removed: {_words(error)}") from error
        return size

    def close(self) -> None:
        """Nothing is open."""

    def _is_uncollected(self, folder: str) -> bool:
        path = os.path.join(self._path, folder)
        try:
            mark = os.stat(os.path.join(path, COLLECTED)).st_mtime_ns
        except FileNotFoundError:
            mark = 0
        except NotADirectoryError:
            return False
        return mark < os.stat(path).st_mtime_ns

    def _is_there(self, reference: Mapping[str, Json]) -> bool:
        try:
            self.get(reference)
        except KeyError:
            return False
        return True

    def _make(self, folder: str) -> None:
        """Make the execution's folder, with every folder on the way forced to disk."""
        path, missing = os.path.join(self._path, folder), []
        while path and not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for path in reversed(missing):
            make_folder(path)
            # A folder is in its parent's list only once the parent is on disk.
            force_folder(os.path.dirname(path) or ".")

    def _put(self, path: str, data: bytes) -> None:
        # Of its own name for each try, as two workers may put the same value at once.
        part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(file, view) :]
                self._reach("blob.after_write")
                os.fsync(file)
            finally:
                os.close(file)
            self._reach("blob.before_commit")
            os.rename(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    def _reach(self, point: str) -> None:
        if self._hook is not None:
            self._hook(point)


def _words(error: OSError) -> str:
    import errno

    words = {
        **FULL,
        errno.EROFS: "the disk is read-only",
        errno.EACCES: "you may not write there",
        errno.EPERM: "you may not write there",
        errno.EEXIST: "a file is in the place of a folder",
        errno.ENOTDIR: "a file is in the place of a folder",
        errno.EMFILE: "too many files are open",
        errno.EIO: "the disk reported an error",
    }
    return f"{words.get(error.errno or 0, 'the system refused')} [{error}]"
