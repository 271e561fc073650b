"""The executions of a store and their logs.

An append is one statement. Where its log ended when this store saw it last is remembered: only appends move that, so
it can be too old but never wrong, and an append behind it meets the primary key. Then, and when nothing is
remembered, the log's end is read under a lock on the execution's row. What the log says is checked as it is read:
positions without gaps, a checksum that chains the events of an execution.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar
from zlib import crc32

from psycopg.errors import UniqueViolation

from noetl.clients.deed_rows import record_deed
from noetl.ports import Append, Conflict, Damaged, ExecutionRow, Record, Taken
from noetl.ports.actors import actor_now
from noetl.ports.idempotency import StartKey
from noetl.ports.queries import ExecutionAttribute
from noetl.store import SELECT_EXECUTIONS, Head, cut_off, is_end, missing
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.finding import keep_attributes
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import read, read_row, written
from noetl.store.postgres.transaction import PostgresTransaction

_Records = Sequence[tuple[str, bytes]]

_KNOWN = 10_000
_PAGE = 256
_TRIES = 5
_BATCH = """unnest(%(positions)b::integer[], %(ids)b::text[], %(bodies)b::bytea[], %(chains)b::bigint[])
  AS fresh (position, event_id, body, chain)"""
# A statement that is no part of a transaction adds nothing where there are namespaces: these are asked in one.
_CREATE = f"""
WITH made AS (
  INSERT INTO executions
    (execution_id, playbook, plan_digest, status, parent_execution_id, started, ended, rerun_of, error, events, chain)
  SELECT %(name)s, %(playbook)s, %(digest)s, %(status)s, %(parent)s, %(started)s, %(ended)s, %(rerun_of)s,
    %(error)s, %(count)s, %(chain)s
  WHERE NOT %(is_alone)s OR NOT EXISTS (SELECT FROM namespaces)
  ON CONFLICT (execution_id) DO NOTHING RETURNING number
), logged AS (
  INSERT INTO events SELECT number, fresh.* FROM made, {_BATCH}
), owned AS (
  INSERT INTO owners SELECT %(name)s, %(holder)s, %(who)s FROM made WHERE %(holder)s > 0 ON CONFLICT DO NOTHING
)
SELECT number, EXISTS (SELECT FROM namespaces) FROM made
"""
# An owner who was taken for dead, and whose execution another one has now, writes nothing.
_OWNED = "(%(holder)s = 0 OR EXISTS (SELECT FROM owners WHERE execution_id = %(name)s AND holder = %(holder)s))"
_INSERT = f"""
WITH logged AS (
  INSERT INTO events SELECT %(number)s, fresh.* FROM {_BATCH} WHERE {_OWNED} RETURNING position
), summed AS (
  UPDATE executions SET status = %(status)s, ended = %(ended)s, error = %(error)s, events = %(count)s,
    chain = %(chain)s
  WHERE number = %(number)s AND EXISTS (SELECT FROM logged)
)
SELECT FROM logged
"""
# What is over is nobody's: its owner's row goes in the same transaction.
_INSERT_LAST = _INSERT.replace(
    "SELECT FROM logged\n",
    """, freed AS (
  DELETE FROM owners WHERE execution_id = %(name)s AND holder = %(holder)s AND EXISTS (SELECT FROM logged)
)
SELECT FROM logged
""",
)
# Nor does what is over leave a signal unread: `may_end` raises then.
_INSERT_LAST = _INSERT_LAST.replace("ended = %(ended)s", "ended = may_end(signalled, %(read)s, %(ended)s)")
# What is restored keeps the code that it was made with.
_INSERT_LAST = _INSERT_LAST.replace("error = %(error)s", "error = coalesce(%(error)s, error)")
# Of several logs at once: where one is another owner's, nothing is written at all.
_INSERT_ALL = """
WITH turns AS (
  SELECT * FROM unnest(%(numbers)b::bigint[], %(names)b::text[], %(statuses)b::text[], %(endings)b::bigint[],
    %(counts)b::integer[], %(sums)b::bigint[], %(held)b::boolean[], %(reads)b::bigint[], %(errors)b::text[])
    AS turns (number, name, status, ended, events, chain, held, unread_from, error)
), logged AS (
  INSERT INTO events SELECT fresh.* FROM unnest(%(executions)b::bigint[], %(positions)b::integer[],
    %(ids)b::text[], %(bodies)b::bytea[], %(chains)b::bigint[]) AS fresh (execution, position, event_id, body, chain)
  WHERE NOT EXISTS (
    SELECT FROM turns WHERE held
      AND NOT EXISTS (SELECT FROM owners WHERE execution_id = turns.name AND holder = %(holder)s))
  RETURNING position
), summed AS (
  UPDATE executions SET status = turns.status, ended = CASE WHEN turns.ended IS NOT NULL
    THEN may_end(executions.signalled, turns.unread_from, turns.ended) END, events = turns.events, chain = turns.chain,
    error = CASE WHEN turns.ended IS NOT NULL THEN coalesce(turns.error, executions.error) END
  FROM turns WHERE executions.number = turns.number AND EXISTS (SELECT FROM logged)
), freed AS (
  DELETE FROM owners USING turns WHERE turns.ended IS NOT NULL AND turns.held AND owners.holder = %(holder)s
    AND owners.execution_id = turns.name AND EXISTS (SELECT FROM logged)
)
SELECT FROM logged
"""
_MOVE = "UPDATE executions SET plan_digest = %s WHERE number = %s"
_HEAD = "SELECT number, status, ended FROM executions WHERE execution_id = %s FOR UPDATE"
_END = "SELECT number, events, chain FROM executions WHERE execution_id = %s"
_KEEP = "INSERT INTO starts VALUES (%s, %s, %s) ON CONFLICT (key) DO NOTHING"
_MAKE_KEY = "INSERT INTO keys VALUES ('claims', %s) ON CONFLICT (name) DO NOTHING"
_STARTED = "SELECT execution_id, request FROM starts WHERE key = %s"
_LAST = "SELECT position, chain FROM events WHERE execution = %s ORDER BY position DESC LIMIT 1"
_STORED = "SELECT event_id, position, body FROM events WHERE execution = %s AND event_id = ANY(%s)"
_READ = f"""
SELECT position, event_id, body, chain FROM events
WHERE execution = %s AND position > %s ORDER BY position LIMIT {_PAGE}
"""
_T = TypeVar("_T")


class Log:
    """Keeps executions and their events."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access
        self._heads: dict[str, Head] = {}
        # As it was at the last start: then a statement alone is not even tried.
        self._has_namespaces = False
        self._lock = threading.Lock()

    def create(
        self,
        row: ExecutionRow,
        records: _Records = (),
        *,
        key: StartKey | None = None,
        attributes: Sequence[ExecutionAttribute] = (),
    ) -> None:
        self._access.reach("create.before_write")
        fresh, holder = missing(0, 0, records, lambda _: None), self._access.holder

        def made(connection: PostgresConnection, *, is_alone: bool = False) -> Head | None:
            return self._add(connection, row, fresh, attributes, is_alone=is_alone)

        def claim(connection: PostgresConnection, key: StartKey) -> None:
            """Of two with one key the second waits here for the first."""
            connection.execute(_KEEP, (written(key.key), written(row.execution_id), key.request))
            holder, request = connection.execute(_STARTED, (written(key.key),)).fetchone() or ("", "")
            if read(holder) != row.execution_id:
                raise Taken(read(holder), request)

        def begun(connection: PostgresConnection) -> Head | None:
            is_alone = key is None and actor_now() is None and not attributes
            if is_alone and not self._has_namespaces and (head := made(connection, is_alone=True)) is not None:
                return head
            with connection.transaction():
                if key is not None:
                    claim(connection, key)
                return made(connection)

        self._access.reach("create.before_commit")
        head = self._access.run(begun)
        if head is not None:
            self._remember(row.execution_id, head)
        else:
            # An execution of that id is there: ours, if the answer to the first try was lost, and else another one's.
            # Its first events tell.
            self._access.run(lambda connection: self._check_same(connection, row, records))
        holder.execution_begun(row.execution_id)
        self._access.reach("create.after_commit")

    def _add(
        self,
        connection: PostgresConnection,
        row: ExecutionRow,
        records: _Records,
        attributes: Sequence[ExecutionAttribute],
        *,
        is_alone: bool,
    ) -> Head | None:
        """Where the log of a new execution ends; None where an execution of that id is there. A statement that
        `is_alone`, in no transaction with others, adds none where there are namespaces, either. Raises QuotaExceeded.
        """
        holder, parent, old = self._access.holder, row.parent_execution_id, row.rerun_of
        # One that is restored has no events yet, and begins nothing.
        has_quotas = parent is None and bool(records)
        batch, position, chain = _batch(Head(0, 0, 0, "", None), records)
        values = {
            "name": written(row.execution_id), "playbook": written(row.playbook),
            "digest": written(row.plan_digest), "status": row.status,
            "parent": None if parent is None else written(parent),
            "started": row.started, "ended": row.ended, "who": holder.who,
            "rerun_of": None if old is None else written(old),
            "error": None if row.error is None else written(row.error),
            # 0 where nobody owns it yet: `create` may be called for an execution that its caller does not drive.
            "holder": holder.number if row.execution_id in holder.new else 0,
            "is_alone": is_alone and has_quotas, **batch,
        }  # fmt: skip
        added = connection.execute(_CREATE, values).fetchone()
        if added is None:
            return None
        number, has_namespaces = added
        self._has_namespaces = has_namespaces
        if attributes:
            keep_attributes(connection, number, attributes)
        if parent is None:
            record_deed(PostgresTransaction(connection), "rerun" if old else "start", row.execution_id)
        # Last, as it locks the namespace until the commit.
        if has_namespaces and has_quotas:
            self._check_start(connection, row)
        return Head(number, position, chain, row.status, row.ended)

    def _check_start(self, connection: PostgresConnection, row: ExecutionRow) -> None:
        from noetl.store.postgres.namespaces import check_start  # most stores have no namespaces

        check_start(connection, row.playbook)

    def claims_key(self) -> bytes:
        """Whichever server asks first makes it."""
        self._access.run(lambda connection: connection.execute(_MAKE_KEY, (os.urandom(32),)) and None)
        ((key,),) = self._access.rows("SELECT value FROM keys WHERE name = 'claims'")
        return bytes(key)

    def started_with(self, key: str) -> tuple[str, str] | None:
        found = self._access.rows(_STARTED, (written(key),))
        return (read(found[0][0]), found[0][1]) if found else None

    def append_all(self, appends: Sequence[Append]) -> list[Head]:
        """`Store.append_all`; returns where the logs end. The quick way trusts the heads seen last; the keys of the
        table catch the rest.
        """
        self._access.reach("append.before_write")
        # In one order: two who write the same logs wait for each other, and not both for ever.
        appends = sorted(appends, key=lambda append: append.execution_id)
        with self._lock:
            # Taken out first: whatever goes wrong, the heads are read again.
            known = [self._heads.pop(append.execution_id, None) for append in appends]
        heads = [head for head, append in zip(known, appends, strict=True) if is_end(head, append)]

        def quickly(connection: PostgresConnection) -> list[Head]:
            # Nearly always one statement; what executions are found by seldom changes.
            with connection.transaction() if any(_has_more(append) for append in appends) else nullcontext():
                return self._insert(connection, heads, appends)

        def carefully(connection: PostgresConnection) -> list[Head]:
            with connection.transaction():
                return [self._appended(connection, append) for append in appends]

        self._access.reach("append.before_commit")
        after = None
        if len(heads) == len(appends):
            # One statement, no transaction: a round trip instead of four. The primary key refuses what a head that
            # was too old would write twice.
            after = self._free(quickly)
        for _ in range(_TRIES):
            after = after or self._free(carefully)
        if after is None:
            names = ", ".join(repr(append.execution_id) for append in appends[:3])
            raise Conflict(f"the log of {names} grows faster than it can be read")
        for append, head in zip(appends, after, strict=True):
            if append.ended is None:
                self._remember(append.execution_id, head)
            else:
                self._access.holder.ended(append.execution_id)
        self._access.reach("append.after_commit")
        return after

    def _appended(self, connection: PostgresConnection, append: Append) -> Head:
        """Where a log ends once it has what it lacks of an append."""
        head = self._head(connection, append.execution_id)
        fresh = self._missing(connection, head, append.expected, append.records)
        return self._insert(connection, [head], [append._replace(records=fresh)])[0] if fresh else head

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        """Each page is a transaction of its own, so a slow reader holds nothing open."""
        found = self._access.rows(_END, (written(execution_id),))
        if not found:
            return
        (number, count, last), position, chain = found[0], after, 0
        if after:
            before = self._access.rows(
                "SELECT chain FROM events WHERE execution = %s AND position = %s", (number, after)
            )
            if not before:
                raise Conflict(f"the log of {execution_id!r} has no position {after}")
            chain = before[0][0]
        while page := self._access.rows(_READ, (number, position)):
            for at, stored, body, stated in page:
                position, event_id = position + 1, read(stored)
                chain = crc32(body, crc32(event_id.encode(), chain))
                # The chain covers the ids and bodies of all events so far, so a row that was changed, or moved from
                # another log, shows at itself.
                if at != position or chain != stated or (position == count and chain != last):
                    raise Damaged(self._access.shown, f"event {position} of {execution_id!r} is damaged or missing")
                yield Record(position, event_id, body)
        # The end is kept with the execution, too: rows that are missing at the end leave no gap behind them.
        if count is not None and position < count:
            raise Damaged(self._access.shown, cut_off(execution_id, position, count))

    def execution(self, execution_id: str) -> ExecutionRow | None:
        found = self._access.rows(f"{SELECT_EXECUTIONS} WHERE execution_id = %s", (written(execution_id),))
        return _row(found[0]) if found else None

    def counts(self) -> dict[str, int]:
        return dict(self._access.rows("SELECT status, count(*) FROM executions GROUP BY status"))

    def _insert(self, connection: PostgresConnection, heads: Sequence[Head], appends: Sequence[Append]) -> list[Head]:
        """Insert behind heads. Raises UniqueViolation where a log goes on already, or has one of the events."""
        holder = self._access.holder
        if len(appends) == 1:
            append, head = appends[0], heads[0]
            batch, position, chain = _batch(head, append.records)
            owned = holder.number if append.execution_id in holder.names else 0
            values: dict[str, Any] = {
                "number": head.number, "name": written(append.execution_id), "status": append.status,
                "ended": append.ended, "error": None if append.error is None else written(append.error),
                "read": _read_up_to(append), "holder": owned, **batch,
            }  # fmt: skip
            after = [Head(head.number, position, chain, append.status, append.ended)]
            statement = _INSERT if append.ended is None else _INSERT_LAST
        else:
            values, after = _batches(heads, appends, holder.names)
            values["holder"], statement = holder.number, _INSERT_ALL
        if connection.execute(statement, values).rowcount != sum(len(append.records) for append in appends):
            names = ", ".join(repr(append.execution_id) for append in appends[:3])
            raise Conflict(f"execution {names} is owned by another process now")
        for append, head in zip(appends, after, strict=True):
            if append.attributes is not None:
                keep_attributes(connection, head.number, append.attributes)
            if append.plan is not None:
                connection.execute(_MOVE, (written(append.plan), head.number))
        return after

    def _free(self, work: Callable[[PostgresConnection], _T]) -> _T | None:
        """The result of an append, None where one of its keys is taken."""

        def tried(connection: PostgresConnection) -> _T | None:
            try:
                return work(connection)
            # None and not an error: the log has grown behind the head that was known, or the same append has come
            # through before its answer was lost.
            except UniqueViolation:
                return None

        return self._access.run(tried)

    def _check_same(self, connection: PostgresConnection, row: ExecutionRow, records: _Records) -> None:
        """Raises Conflict where an execution that is there is another one, or has not these first events."""
        with connection.transaction():
            head = self._head(connection, row.execution_id)
            found = connection.execute(f"{SELECT_EXECUTIONS} WHERE number = %s", (head.number,)).fetchone()
            known = _row(found or ())
            if (known.playbook, known.plan_digest, known.parent_execution_id) != (row[1], row[2], row[4]):
                raise Conflict(f"execution {row.execution_id!r} is there already, and is another one")
            if self._missing(connection, head, 0, records):
                raise Conflict(f"execution {row.execution_id!r} is there already, without these events")

    def _head(self, connection: PostgresConnection, execution_id: str) -> Head:
        """Where a log ends, with a lock on its execution. Raises StoreFailure for one that is not there."""
        found = connection.execute(_HEAD, (written(execution_id),)).fetchone()
        if found is None:
            raise self._access.unknown(execution_id)
        number, status, ended = found
        position, chain = connection.execute(_LAST, (number,)).fetchone() or (0, 0)
        return Head(number, position, chain, status, ended)

    def _missing(
        self, connection: PostgresConnection, head: Head, expected: int, records: _Records
    ) -> list[tuple[str, bytes]]:
        ids = [written(event_id) for event_id, _ in records]
        rows = connection.execute(_STORED, (head.number, ids), binary=True).fetchall()
        known = {read(stored): (position, body) for stored, position, body in rows}
        return missing(expected, head.position, records, known.get)

    def _remember(self, execution_id: str, head: Head) -> None:
        with self._lock:
            # Thrown away as a whole: a head that is missing costs one slower append, and keeping an order of use
            # costs every one.
            if len(self._heads) >= _KNOWN:
                self._heads.clear()
            self._heads[execution_id] = head


def _batch(head: Head, records: Sequence[tuple[str, bytes]]) -> tuple[dict[str, Any], int, int]:
    """The columns of new events behind a head, and the position and chain of the last one."""
    chain, chains = head.chain, []
    for event_id, body in records:
        chain = crc32(body, crc32(event_id.encode(), chain))
        chains.append(chain)
    position = head.position + len(records)
    batch = {
        "positions": list(range(head.position + 1, position + 1)),
        "ids": [written(event_id) for event_id, _ in records],
        "bodies": [body for _, body in records],
        "chains": chains,
        "count": position,
        "chain": chain,
    }
    return batch, position, chain


def _batches(
    heads: Sequence[Head], appends: Sequence[Append], owned: Collection[str]
) -> tuple[dict[str, Any], list[Head]]:
    """The columns of new events behind several heads, what the executions say then, and the heads behind that."""
    columns: dict[str, list[Any]] = {name: [] for name in ("executions", "positions", "ids", "bodies", "chains")}
    after = []
    for head, append in zip(heads, appends, strict=True):
        batch, position, chain = _batch(head, append.records)
        columns["executions"] += [head.number] * len(append.records)
        for name in ("positions", "ids", "bodies", "chains"):
            columns[name] += batch[name]
        after.append(Head(head.number, position, chain, append.status, append.ended))
    turns = {
        "numbers": [head.number for head in after],
        "names": [written(append.execution_id) for append in appends],
        "statuses": [head.status for head in after],
        "endings": [head.ended for head in after],
        "counts": [head.position for head in after],
        "sums": [head.chain for head in after],
        "held": [append.execution_id in owned for append in appends],
        "reads": [_read_up_to(append) for append in appends],
        "errors": [None if append.error is None else written(append.error) for append in appends],
    }
    return {**columns, **turns}, after


def _has_more(append: Append) -> bool:
    """Whether an append changes more than a log and how its execution stands."""
    return append.attributes is not None or append.plan is not None


def _read_up_to(append: Append) -> int:
    """The row of the inbox up to which it was read; the last of all where that does not matter."""
    return (1 << 62) if append.read is None else append.read


def _row(columns: Sequence[Any]) -> ExecutionRow:
    return ExecutionRow(*read_row(tuple(columns)))
