"""Room on a disk: whether there is any left in a folder, and which errors of the system mean that there is none."""

import errno
import os

from noetl.ports import NoRoom

LEAST_ROOM = 1 << 20
"""Bytes that are left on a disk when it is as good as full."""

FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EFBIG: "the file is larger than the system allows",
}
"""Which errors of the system mean that there is no room, in words."""


def check_room(folder: str, *, suspected: bool) -> None:
    """Raises NoRoom where a folder has none for more; where that is `suspected`, as a quota shows in no figure of the
    disk, it is tried with a file that is removed at once. A folder that is not there has what the one around it has.
    """
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    folder = folder or "."
    try:
        disk = os.statvfs(folder)
        # File systems keep a part for root alone: who is not root is full before that.
        left = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
        # Some file systems (of a network, or in memory) have no figures, and say 0 for all of them.
        if disk.f_blocks and left * disk.f_frsize < LEAST_ROOM:
            raise NoRoom(f"{folder}: the disk is full: {left * disk.f_frsize:,} bytes are left", FULL[errno.ENOSPC])
        if suspected:
            _try_to_write(os.path.join(folder, f".room-{os.getpid()}-{os.urandom(4).hex()}.part"))
    except OSError as problem:
        if reason := FULL.get(problem.errno or 0):
            raise NoRoom(f"{folder}: {reason} [{problem}]", reason) from problem


def _try_to_write(path: str) -> None:
    """Write a file, force it to disk, and remove it. It is smaller than the least room, as it takes some away."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        left = LEAST_ROOM // 4
        while left > 0:
            left -= os.write(file, bytes(left))
        # Without it the system may only keep the bytes in memory, and find out later that there is no room for them.
        os.fsync(file)
    finally:
        os.close(file)
        os.unlink(path)
