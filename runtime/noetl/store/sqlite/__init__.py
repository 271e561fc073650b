"""The store in one SQLite file: what runs are kept in on one machine.

Write-ahead log, `synchronous=FULL`: a commit is on disk when it returns, readers and the one writer never
wait for each other. Every append is one transaction of one prepared `executemany`, and of the executions row, which
says how the log ends. What the log says is checked as it is read: positions without gaps, a checksum that chains the
events of an execution, and its end.

Threads and processes: any thread may call, one lock lets them in one at a time, and a reader takes it page
by page. Several processes may open the file. A store does not survive a fork: the child has to open its
own. Nobody else may open the database or its `-shm` in a process that has a store: closing a file drops the
locks that SQLite has on it.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from noetl.host.disk_space import check_room
from noetl.ports import (
    ALL,
    Append,
    Conflict,
    Damaged,
    ExecutionRow,
    Hook,
    InboxRow,
    Over,
    Record,
    Store,
    StoreFailure,
    Taken,
    Unread,
    Wanted,
)
from noetl.ports.catalogue import EVERY, PlanRow, Versions
from noetl.ports.idempotency import StartKey
from noetl.ports.maintenance import StoreSchema
from noetl.ports.places import PlaceRow
from noetl.store import (
    SELECT_EXECUTIONS,
    Head,
    cut_off,
    is_end,
    is_sealed,
    missing,
    seal_name_of,
    seal_of,
)
from noetl.store.sqlite.catalogue import SqliteCatalogue
from noetl.store.sqlite.deeds import record_deed
from noetl.store.sqlite.failures import TRANSLATED, failure
from noetl.store.sqlite.looking import look
from noetl.store.sqlite.opening import connect
from noetl.store.sqlite.owners import Owners, Ownership
from noetl.store.sqlite.parts import SqliteParts
from noetl.store.sqlite.places import SqlitePlaces
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from noetl.ports.queries import ExecutionAttribute
    from noetl.store.sqlite.finding import SqliteFinding
    from noetl_ir.plan_sources import SourcedPlan

FAULT_POINTS = tuple(
    f"{operation}.{point}"
    for operation in (
        "create",
        "append",
        "put_plan",
        "post",
        "places",
        "mail",
        "purge",
        "schedule",
        "trigger",
        "audit",
        "outbox",
        "notification",
        "namespace",
    )
    for point in ("before_write", "after_write", "before_commit", "after_commit")
)
"""Where `hook` is called: nothing done yet; the main rows written, in an open transaction; all rows written;
on disk, but not acknowledged to the caller."""

_PAGE = 256
_KNOWN = 10_000
_HEAD = """
SELECT x.number, ifnull(e.key & 4294967295, 0), ifnull(e.chain, 0), x.status, x.ended
FROM executions x LEFT JOIN events e ON e.key =
  (SELECT max(key) FROM events WHERE key > x.number << 32 AND key < (x.number + 1) << 32)
WHERE x.execution_id = ?
"""
_NAMED = """
SELECT key & 4294967295, body FROM events WHERE key = (?1 << 32) + CAST(substr(?2, 2) AS INTEGER) AND event_id = ?2
UNION ALL
SELECT key & 4294967295, body FROM events WHERE key >> 32 = ?1 AND event_id = ?2 AND event_id NOT GLOB 's[0-9]*'
"""
"""An event by its id: the server's own stand at the position that they name, all others are in the index."""

# Behind all numbers that are or were just in use: under that of a purged execution its events may still be there.
_ADD_EXECUTION = """
INSERT INTO executions
  (number, execution_id, playbook, plan_digest, status, parent_execution_id, started, ended, rerun_of, error)
VALUES (1 + max((SELECT ifnull(max(number), 0) FROM executions), (SELECT ifnull(max(number), 0) FROM purged)),
  ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADDED = "SELECT number, EXISTS (SELECT 1 FROM namespaces) FROM executions WHERE execution_id = ?"
_SUM_UP = "UPDATE executions SET status = ?, ended = ?, error = ?, events = ?, chain = ? WHERE number = ?"
_COUNT_UP = "UPDATE executions SET events = ?, chain = ? WHERE number = ?"
_MOVE = "UPDATE executions SET plan_digest = ? WHERE number = ?"
_POST = "INSERT INTO inbox (execution, verb, body, at, once) VALUES (?, ?, ?, ?, ?)"
_POSTED = "SELECT row FROM inbox WHERE once = ?"
_SIGNALLED = "SELECT signalled FROM executions WHERE number = ?"
_STARTED = "SELECT execution_id, request FROM starts WHERE key = ?"
_READ = f"SELECT key, event_id, body, chain FROM events WHERE key > ? AND key < ? ORDER BY key LIMIT {_PAGE}"
_T = TypeVar("_T")
_open: "weakref.WeakSet[SqliteStore]" = weakref.WeakSet()
_inherited: list[object] = []


class Misplaced(Conflict):
    """An id of the server's own that names another position: what the index does not see could be there twice."""


def open_store(url: str, *, hook: Hook | None = None) -> Store:
    """The store at `sqlite:///PATH`; four slashes for an absolute path. Makes the file and its folder."""
    scheme, _, path = url.partition("://")
    if scheme != "sqlite" or len(path) < 2 or path[0] != "/":
        raise StoreFailure(f"{url}: a SQLite store is written sqlite:///PATH")
    return SqliteStore(path[1:], hook=hook)


def schema_of(url: str) -> StoreSchema:
    """The schema of the store at a URL, which is not changed. Raises StoreFailure."""
    return look(url.partition("://")[2][1:])


class SqliteStore(SqliteParts):
    """A `Store` in the file at `path`. `dropped` says what the last process left unfinished, if anything."""

    def __init__(self, path: str, *, hook: Hook | None = None) -> None:
        self.path = path
        self._hook = hook
        self._lock = threading.RLock()
        self._heads: dict[str, Head] = {}
        self._closed: str | None = None
        self._catalogue = SqliteCatalogue(self)
        self._places = SqlitePlaces(self)
        self._owners = Owners(path + ".owners", self)
        self._open()
        _open.add(self)

    def _open(self) -> None:
        self._connection, self.dropped, self._problem = connect(self.path)
        self._cursor = self._connection.cursor()

    def _open_again(self) -> None:
        """The disk was full when it was opened: so that all goes on once there is room."""
        self._connection.close()
        self._open()

    @cached_property
    def _finding(self) -> "SqliteFinding":
        from noetl.store.sqlite.finding import SqliteFinding  # most runs look for nothing

        return SqliteFinding(self)

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: "Sequence[ExecutionAttribute]" = (),
    ) -> None:

        def work(cursor: sqlite3.Cursor) -> None:
            if key is not None:
                cursor.execute(
                    "INSERT OR IGNORE INTO starts VALUES (?, ?, ?)", (key.key, row.execution_id, key.request)
                )
                holder, request = cursor.execute(_STARTED, (key.key,)).fetchone()
                # The key is inserted first and read back: of two starts with one key at the same time the database
                # lets one in.
                if holder != row.execution_id:
                    raise Taken(holder, request)
            there = cursor.execute(f"{SELECT_EXECUTIONS} WHERE execution_id = ?", (row.execution_id,)).fetchone()
            if there is None:
                cursor.execute(_ADD_EXECUTION, row._replace(ended=None) if records else row)
                number, has_namespaces = cursor.execute(_ADDED, (row.execution_id,)).fetchone()
                head = Head(number, 0, 0, row.status, None)
                head = self._insert(cursor, head, missing(0, 0, records, lambda _: None))
                cursor.execute(_SUM_UP, (row.status, row.ended, row.error, head.position, head.chain, head.number))
                if attributes:
                    self._keep_attributes(cursor, head.number, attributes)
                if row.parent_execution_id is None:
                    record_deed(cursor, "rerun" if row.rerun_of else "start", row.execution_id)
                    # Once its end is there too: what ends in its first turn was never open. One that is restored has no
                    # events yet, and begins nothing.
                    if has_namespaces and records:
                        self._check_start(cursor, row)
            else:
                known = ExecutionRow(*there)
                if (known.playbook, known.plan_digest, known.parent_execution_id) != (row[1], row[2], row[4]):
                    raise Conflict(f"execution {row.execution_id!r} is there already, and is another one")
                if self._missing(cursor, self._head(cursor, row.execution_id), 0, records):
                    raise Conflict(f"execution {row.execution_id!r} is there already, without these events")
            self.reach("create.after_write")

        self.write("create", work)

    def claims_key(self) -> bytes:
        found = self.rows("SELECT value FROM keys WHERE name = 'claims'", ())
        if not found or not isinstance(key := found[0][0], bytes) or not key:
            raise StoreFailure(f"{self.path}: the key of claims is missing or damaged")
        return key

    def started_with(self, key: str) -> tuple[str, str] | None:
        found = self.rows(_STARTED, (key,))
        return (found[0][0], found[0][1]) if found else None

    def append(
        self,
        execution_id: str,
        expected: int,
        records: Sequence[tuple[str, bytes]],
        *,
        status: str,
        ended: int | None,
        read: int | None = None,
    ) -> int:
        return self._append((Append(execution_id, expected, records, status, ended, read),))[0].position

    def append_all(self, appends: Sequence[Append]) -> None:
        self._append(appends)

    def _append(self, appends: Sequence[Append]) -> list[Head]:
        """Where the logs end then. The quick way trusts the heads seen last; primary key and ids catch the rest."""

        # Neither the end of a log nor the ids are read: a head that is too old meets the primary key, and a known
        # id meets the index. Reading first would double what an append costs.
        def quickly(cursor: sqlite3.Cursor) -> list[Head]:
            after = []
            for append, head in zip(appends, heads, strict=True):
                self._owners.check(cursor, append.execution_id)
                after.append(self._sum_up(cursor, self._insert(cursor, head, append.records), append))
            return after

        def carefully(cursor: sqlite3.Cursor) -> list[Head]:
            return [self._appended(cursor, append) for append in appends]

        with self._lock:
            # Taken out first: whatever goes wrong, the heads are read again.
            known = [self._heads.pop(append.execution_id, None) for append in appends]
            heads = [head for head, append in zip(known, appends, strict=True) if is_end(head, append)]
            if len(heads) == len(appends):
                try:
                    after = self._transact("append", quickly)
                # Another process has appended, or a part of this append is there already, from a try whose answer was
                # lost. The log tells which.
                except (sqlite3.IntegrityError, Misplaced):
                    after = self.write("append", carefully)
                except TRANSLATED as error:
                    raise failure(error, self.path) from error
            else:
                after = self.write("append", carefully)
            for append, head in zip(appends, after, strict=True):
                if append.ended is None:
                    # Heads are a cache: dropping all costs one read for each execution that goes on.
                    if len(self._heads) >= _KNOWN:
                        self._heads.clear()
                    self._heads[append.execution_id] = head
            return after

    def _appended(self, cursor: sqlite3.Cursor, append: Append) -> Head:
        """Where a log ends once it has what it lacks of an append."""
        head = self._head(cursor, append.execution_id)
        if fresh := self._missing(cursor, head, append.expected, append.records):
            self._owners.check(cursor, append.execution_id)
            head = self._sum_up(cursor, self._insert(cursor, head, fresh), append)
        return head

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        """Each page is a transaction of its own, so a slow reader holds nothing open."""
        found = self.rows("SELECT number, events, chain FROM executions WHERE execution_id = ?", (execution_id,))
        if not found:
            return
        (number, count, last), position, chain = found[0], after, 0
        base = int(number) << 32
        if after:
            before = self.rows("SELECT chain FROM events WHERE key = ?", (base + after,))
            if not before:
                raise Conflict(f"the log of {execution_id!r} has no position {after}")
            chain = before[0][0]
        while page := self.rows(_READ, (base + position, base + (1 << 32))):
            for key, event_id, body, stated in page:
                position += 1
                try:
                    chain = crc32(body, crc32(event_id.encode(), chain))
                except (TypeError, AttributeError):
                    chain = -1  # not even of its type
                if key != base + position or chain != stated or (position == count and chain != last):
                    raise Damaged(self.path, f"event {position} of {execution_id!r} is damaged or missing")
                yield Record(position, event_id, body)
        if count is not None and position < count:
            raise Damaged(self.path, cut_off(execution_id, position, count))

    def execution(self, execution_id: str) -> ExecutionRow | None:
        found = self.rows(f"{SELECT_EXECUTIONS} WHERE execution_id = ?", (execution_id,))
        return ExecutionRow(*found[0]) if found else None

    def executions(self, wanted: Wanted = ALL) -> tuple[ExecutionRow, ...]:
        return self._finding.executions(wanted)

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        return self._finding.tally(wanted, group)

    def attributes(self, execution_ids: Sequence[str]) -> "dict[str, tuple[ExecutionAttribute, ...]]":
        return self._finding.attributes(execution_ids)

    def counts(self) -> dict[str, int]:
        return dict(self.rows("SELECT status, count(*) FROM executions GROUP BY status", ()))

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        return self._catalogue.put_plan(digest, path, data, registered=registered, sources=sources)

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        self._catalogue.keep_plan(digest, path, data, sources)

    def plans(self, wanted: Versions = EVERY) -> tuple[PlanRow, ...]:
        return self._catalogue.plans(wanted)

    def plan_bytes(self, digest: str) -> bytes | None:
        return self._catalogue.plan_bytes(digest)

    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        return self._catalogue.plan_at(path, version)

    def put_source(self, digest: str, text: bytes) -> None:
        self._catalogue.put_source(digest, text)

    def source(self, digest: str) -> bytes | None:
        return self._catalogue.source(digest)

    def without_source(self, digests: Sequence[str]) -> list[str]:
        return self._catalogue.without_source(digests)

    def vouch(self, digest: str, verifier: str) -> None:
        row = seal_name_of(digest), seal_of(self.claims_key(), digest, verifier)
        self.write("vouch", lambda cursor: cursor.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", row) and None)

    def vouches(self, digest: str, verifier: str) -> bool:
        found = self.rows("SELECT value FROM keys WHERE name = ?", (seal_name_of(digest),))
        return bool(found) and is_sealed(found[0][0], self.claims_key(), digest, verifier)

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        import json

        try:
            text = json.dumps(body, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreFailure(f"the body of the request cannot be stored [{error}]") from error

        def work(cursor: sqlite3.Cursor) -> int:
            row = self.leave(cursor, execution_id, verb, text, once)
            record_deed(cursor, verb, execution_id)
            self.reach("post.after_write")
            return row

        return self.write("post", work)

    def leave(self, cursor: sqlite3.Cursor, execution_id: str, verb: str, text: str, once: str) -> int:
        """Put a request into an inbox within a transaction; its row. Raises Over."""
        head = self._head(cursor, execution_id)
        if once and (there := self.row_of(cursor, once)) is not None:
            return there
        if verb == "signal" and head.ended is not None:
            raise Over(f"execution {execution_id!r} is over")
        cursor.execute(_POST, (head.number, verb, text, time.time_ns() // 1000, once or None))
        row = cursor.lastrowid or 0
        if verb == "signal":
            cursor.execute("UPDATE executions SET signalled = ? WHERE number = ?", (row, head.number))
        return row

    def row_of(self, cursor: sqlite3.Cursor, once: str) -> int | None:
        """The row of what was left once under a name."""
        row = cursor.execute(_POSTED, (once,)).fetchone()
        return None if row is None else int(row[0])

    def posted(self) -> int:
        return int(self.rows("SELECT ifnull(max(row), 0) FROM inbox", ())[0][0])

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        return self._requests(
            "AND execution = (SELECT number FROM executions WHERE execution_id = ?)", after, execution_id
        )

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        return self._requests("", after)

    def places(self) -> tuple[PlaceRow, ...]:
        return self._places.places()

    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        self._places.change(work)

    def own(self, execution_id: str) -> Ownership:
        return self._owners.own(execution_id)

    def own_new(self, execution_id: str) -> Ownership:
        return self.own(execution_id)

    def is_owned(self, execution_id: str) -> bool:
        return self._owners.is_owned(execution_id)

    def owned(self, names: Collection[str]) -> set[str]:
        return {*filter(self.is_owned, names)}

    def hung(self, execution_id: str) -> str:
        return self._owners.hung(execution_id)

    def taken_over(self) -> set[str]:
        return self._owners.taken_over()

    def check_room(self, *, suspected: bool) -> None:
        check_room(os.path.dirname(self.path), suspected=suspected)

    def close(self) -> None:
        """Let go of the file. The last one of all processes folds the write-ahead log into it."""
        self._owners.close()
        with self._lock:
            if self._closed is None:
                self._closed = "the store is closed"
                self._connection.close()

    def _transact(self, operation: str, work: Callable[[sqlite3.Cursor], _T]) -> _T:
        """Do `work` in one transaction, which is on disk when this returns. Raises what the driver raises."""
        with self._lock:
            if self._closed is not None:
                raise StoreFailure(self._closed)
            if self._problem is not None:
                self._open_again()
                if self._problem is not None:
                    raise self._problem
            cursor = self._cursor
            self.reach(operation + ".before_write")
            # IMMEDIATE takes the write lock at once. A deferred transaction would fail in its middle, when it first
            # writes while another process does.
            cursor.execute("BEGIN IMMEDIATE")
            try:
                result = work(cursor)
                self.reach(operation + ".before_commit")
                cursor.execute("COMMIT")
            except BaseException:
                # A full disk has rolled back already. Where even this fails, the next BEGIN does, and says
                # so.
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        cursor.execute("ROLLBACK")
                raise
            self.reach(operation + ".after_commit")
            return result

    def write(self, operation: str, work: Callable[[sqlite3.Cursor], _T]) -> _T:
        """Do `work` in one transaction. Raises StoreFailure."""
        try:
            return self._transact(operation, work)
        except TRANSLATED as error:
            raise failure(error, self.path) from error

    def rows(
        self, query: str, values: Sequence[str | int | bytes | None] | Mapping[str, str | int]
    ) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises StoreFailure."""
        with self._lock:
            if self._closed is not None:
                raise StoreFailure(self._closed)
            if self._problem is not None:
                self._open_again()
            try:
                return self._cursor.execute(query, values).fetchall()
            except TRANSLATED as error:
                raise failure(error, self.path) from error

    def _requests(self, where: str, after: int, *values: str) -> tuple[InboxRow, ...]:
        import json

        query = (
            "SELECT row, execution_id, verb, body, at FROM inbox JOIN executions ON number = execution"
            f" WHERE row > ? {where} ORDER BY row"
        )
        try:
            rows = self.rows(query, (after, *values))
            return tuple(InboxRow(row, name, verb, json.loads(body), at) for row, name, verb, body, at in rows)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreFailure(f"{self.path}: a request is damaged [{error}]") from error

    def _head(self, cursor: sqlite3.Cursor, execution_id: str) -> Head:
        found = cursor.execute(_HEAD, (execution_id,)).fetchone()
        if found is None:
            raise StoreFailure(f"there is no execution {execution_id!r} in {self.path}")
        return Head(*found)

    def _missing(
        self, cursor: sqlite3.Cursor, head: Head, expected: int, records: Sequence[tuple[str, bytes]]
    ) -> list[tuple[str, bytes]]:
        def stored(event_id: str) -> tuple[int, bytes] | None:
            found: tuple[int, bytes] | None = cursor.execute(_NAMED, (head.number, event_id)).fetchone()
            return found

        return missing(expected, head.position, records, stored)

    def _insert(self, cursor: sqlite3.Cursor, head: Head, records: Sequence[tuple[str, bytes]]) -> Head:
        number, position, chain, status, ended = head
        base = number << 32
        rows = []
        for event_id, body in records:
            position += 1
            # The ids of the server's own events name their position and are left out of the index of ids, which
            # halves what an append writes. So they are held to it here.
            if event_id[:1] == "s" and event_id != f"s{position}" and "0" <= event_id[1:2] <= "9":
                raise Misplaced(f"event {event_id!r} does not stand at the position that it names")
            chain = crc32(body, crc32(event_id.encode(), chain))
            rows.append((base + position, event_id, body, chain))
        cursor.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
        return Head(number, position, chain, status, ended)

    def _sum_up(self, cursor: sqlite3.Cursor, head: Head, append: Append) -> Head:
        self.reach("append.after_write")
        if append.attributes is not None:
            self._keep_attributes(cursor, head.number, append.attributes)
        if append.plan is not None:
            cursor.execute(_MOVE, (append.plan, head.number))
        # Nearly all appends leave the status as it is. To write it again would check it against its list and write the
        # page of an index, a third more than the append has to.
        if (append.status, append.ended) == (head.status, head.ended):
            cursor.execute(_COUNT_UP, (head.position, head.chain, head.number))
            return head
        if append.ended is not None and append.read is not None:
            (signalled,) = cursor.execute(_SIGNALLED, (head.number,)).fetchone()
            if signalled > append.read:
                raise Unread(f"execution {append.execution_id!r} has a signal that it has not read")
        cursor.execute(_SUM_UP, (append.status, append.ended, append.error, head.position, head.chain, head.number))
        return head._replace(status=append.status, ended=append.ended)

    def _check_start(self, cursor: sqlite3.Cursor, row: ExecutionRow) -> None:
        from noetl.store.sqlite.namespaces import check_start  # most stores have no namespaces

        check_start(cursor, row.playbook, row.started)

    def _keep_attributes(self, cursor: sqlite3.Cursor, number: int, attributes: "Sequence[ExecutionAttribute]") -> None:
        from noetl.store.sqlite.finding import keep_attributes  # most executions have none

        keep_attributes(cursor, number, attributes)

    def reach(self, point: str) -> None:
        """Call the hook."""
        if self._hook is not None:
            self._hook(point)


def _forget() -> None:
    """In a forked child: SQLite's files and locks are the parent's; even closing them could do harm."""
    for store in list(_open):
        # Kept for ever, so that the child's garbage collection does not close it: closing would drop the parent's
        # locks.
        _inherited.append(store._connection)
        store._lock = threading.RLock()
        store._closed = "the store was opened before a fork; the child has to open its own"


os.register_at_fork(after_in_child=_forget)
