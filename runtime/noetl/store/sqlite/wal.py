"""Tell a torn tail of the write-ahead log from damage in its middle.

SQLite reads its write-ahead log up to the first frame that is not whole and forgets the rest without a
word. After a crash that is right: the rest is a commit that never ended. But where the ends of several
commits lie behind the bad frame, it was on disk once (with synchronous=FULL no commit begins before the
last one is on disk), and finished commits would be forgotten. So the frames that SQLite did not take are
looked at: they may hold one end of a commit at most. Layout: https://www.sqlite.org/walformat.html.
"""

import os
import sqlite3
import struct
import time

from noetl_ir.records import NamedTuple

_HEADER = struct.Struct(">8I")  # magic, version, page size, sequence, salt 1, salt 2, checksum 1, checksum 2
_FRAME = struct.Struct(">4I")  # page, database size where a commit ends else 0, salt 1, salt 2
_FRAME_HEADER = 24
_MAGIC = 0x377F0682  # its lowest bit says in which byte order the checksums were made
_MASK = 0xFFFFFFFF
_PAUSE = 0.005


class Tail(NamedTuple):
    """The frames behind frame `taken`, the last that SQLite took.

    `torn` says that anything of this generation does, `commits` counts the ends of commits there.
    """

    taken: int
    torn: bool
    commits: int


class DamagedWal(Exception):
    """Finished commits lie behind a bad frame."""


def tail(cursor: sqlite3.Cursor, path: str) -> Tail:
    """The tail of the write-ahead log of the open database at `path`; raises Damaged.

    Call it after a first read, with which SQLite recovers the log, and before the first write. Others may be
    writing meanwhile: what they finish moves the last frame that SQLite takes, so that is asked after the frames,
    and the header again after both. What still looks damaged is looked at until it stands still.
    """
    found = _tail(cursor, path)
    # A writer that is at work looks like damage for as long as its commit takes; damage stands still.
    for _ in range(5):
        if found is not None and found.commits < 2:
            return found
        time.sleep(_PAUSE)
        again = _tail(cursor, path)
        if again is not None and again == found:
            raise DamagedWal(f"{found.commits} commits lie behind a damaged place in its write-ahead log")
        found = again
    return Tail(0, False, 0)


def _tail(cursor: sqlite3.Cursor, path: str) -> Tail | None:
    """One look; None when others got in the way."""
    try:
        # SQLite locks the database and `-shm`, never `-wal`. Closing a file takes away all locks that the process
        # has on it, so those two are never opened here.
        file = os.open(path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Tail(0, False, 0)
    try:
        header = os.pread(file, _HEADER.size, 0)
        if len(header) < _HEADER.size:
            return Tail(0, False, 0)
        first = _taken(cursor)
        if first < 0:
            return None
        # A header that is half written, as at the begin of a new generation, has frames taken by nobody yet; one that
        # is damaged has the frames of the old generation behind it.
        if not _is_sound(header):
            if os.fstat(file).st_size > _HEADER.size + _FRAME_HEADER and not first:
                raise DamagedWal("the head of its write-ahead log is damaged, and there is something behind it")
            return None
        fields = _HEADER.unpack(header)
        found = _frames(file, fields[2], fields[4:6], first)
        taken = _taken(cursor)
        if taken < 0 or os.pread(file, _HEADER.size, 0) != header:
            return None
        ends = sum(is_end and frame > taken for frame, is_end in found)
        return Tail(taken, bool(found) and taken == first, ends)
    finally:
        os.close(file)


def _frames(file: int, page: int, salts: tuple[int, ...], after: int) -> list[tuple[int, bool]]:
    """The frames of this generation behind frame `after`, each with whether a commit ends there.

    A frame that is cut off counts, as what was not finished.
    """
    size, frame = os.fstat(file).st_size, after
    found: list[tuple[int, bool]] = []
    while True:
        start = _HEADER.size + frame * (page + _FRAME_HEADER)
        if start >= size:
            return found
        frame += 1
        head = os.pread(file, _FRAME.size, start)
        is_whole = start + page + _FRAME_HEADER <= size
        if len(head) < _FRAME.size:
            found.append((frame, False))
        else:
            fields = _FRAME.unpack(head)
            # Frames of an older generation have other salts: SQLite writes over them and never reads them.
            if fields[2:4] == salts:
                found.append((frame, is_whole and fields[1] != 0))


def _taken(cursor: sqlite3.Cursor) -> int:
    """The last frame that SQLite takes. Asking is a checkpoint, which a process that begins may well make.

    It stops nobody. -1 while another process makes one.
    """
    (_, frames, _) = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(frames)


def _is_sound(header: bytes) -> bool:
    """Whether the log's header carries its own checksum (walformat §4.2)."""
    fields = _HEADER.unpack(header)
    if fields[0] & ~1 != _MAGIC:
        return False
    words = struct.unpack((">" if fields[0] & 1 else "<") + "6I", header[:24])
    first = second = 0
    for index in range(0, 6, 2):
        first = (first + words[index] + second) & _MASK
        second = (second + words[index + 1] + first) & _MASK
    return (first, second) == fields[6:8]
