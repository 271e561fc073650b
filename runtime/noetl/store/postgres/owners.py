"""Who owns an execution: a row that names a holder, and an advisory lock that says that the holder lives.

A holder is a store that is open. Its lock belongs to one connection, kept for that alone, so PostgreSQL lets go of it
when the process ends, however it ends, and within 20 s when its machine does. A row whose holder has no lock is
anybody's. One lock serves all executions of a holder: there may be any number of them.

A process that stands still keeps its connections. So a holder counts on in a row of its own, and every store looks at
the rows of all: one whose count was the same for as long as a lease, in looks of which none was late, stands still, and
its rows are anybody's too. No clock says so but the monotonic one of the store that looks. One that has
not begun to look, as it owns nothing yet, goes by the times in the rows, which are the database's.

A connection that is lost is made anew under the same number. What others took meanwhile is theirs: an append by
whoever no longer owns the execution finds no row of his and is refused.
"""

import os
import socket
import threading
from collections.abc import Collection
from contextlib import suppress
from types import TracebackType

from noetl.host.lease_renewal import LEASE, Renewal, hung_text
from noetl.ports import Owned, StoreFailure
from noetl.store.postgres.failures import TRANSLATED, failure
from noetl.store.postgres.heartbeats import STANDS_STILL, HolderHeartbeats
from noetl.store.postgres.pool import ConnectionPool, PostgresConnection, is_alive
from noetl.store.postgres.texts import written

# Locks are the database's; the object id of the namespace keeps those of two stores apart. 0 is the inbox's.
_CLASS = "(to_regnamespace(%(schema)s)::oid::bigint - 2147483648)::integer"
_GONE = f"pg_try_advisory_xact_lock_shared({_CLASS}, owners.holder)"
_HUNG = f"""
SELECT who, extract(epoch FROM clock_timestamp() - renewed) FROM owners JOIN beats USING (holder)
WHERE execution_id = %(name)s AND NOT {_GONE}
"""
_DEAD = f"({_GONE} OR {STANDS_STILL})"
_TAKE = f"""
INSERT INTO owners VALUES (%(name)s, %(holder)s, %(who)s)
ON CONFLICT (execution_id) DO UPDATE SET holder = excluded.holder, who = excluded.who
  WHERE owners.holder = excluded.holder OR {_DEAD}
"""
_LIVE = f"SELECT execution_id FROM owners WHERE execution_id = ANY(%(names)s) AND NOT {_DEAD}"
_WHO = "SELECT who FROM owners WHERE execution_id = %(name)s"
_MINE = "SELECT execution_id FROM owners WHERE holder = %s"
_RELEASE = "DELETE FROM owners WHERE execution_id = ANY(%(names)s) AND holder = %(holder)s"
_LOCK = f"SELECT pg_advisory_lock({_CLASS}, %(holder)s)"
_OLD = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"
_SELF = "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
INBOX_LOCK = f"SELECT pg_advisory_xact_lock({_CLASS}, 0)"
PLACES_LOCK = f"SELECT pg_advisory_xact_lock({_CLASS}, 0)"


class Holder:
    """The ownerships of one store. `number` is 0 before the first one."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._lock = threading.RLock()
        self._connection: PostgresConnection | None = None
        self._session: tuple[int, object] | None = None
        self._left: set[str] = set()
        self.number = 0
        self.names: set[str] = set()
        self.new: set[str] = set()
        self._heartbeats = HolderHeartbeats()
        self._renewal = Renewal(self._renew)

    def keep(self) -> None:
        """See to it that this holder lives, if it ever did; or leave that to the thread that does so just now."""
        # Not waited for: who holds the lock makes the connection just now, and a thread of the API need not stand
        # behind that.
        if self.number and self._lock.acquire(blocking=False):
            try:
                self._live()
            finally:
                self._lock.release()

    def take(self, execution_id: str, *, is_new: bool = False) -> None:
        """Become the owner, of a new execution once it is created (`begun`). Raises Owned, StoreFailure."""
        with self._lock:
            # The lock is the process's and would be had a second time: two drivers in one process would not see each
            # other.
            if execution_id in self.names:
                raise Owned(f"execution {execution_id!r} is owned by this process already")
            self._renewal.begin_renewal()  # first: what it knows of its lease is never later than what others know
            self._live()
            self._release_left()
            if is_new:
                self.names.add(execution_id)
                self.new.add(execution_id)
                return
            values = self._values(execution_id, who=self.who)
            if not self._pool.run(lambda connection: connection.execute(_TAKE, values).rowcount):
                row = self._pool.run(lambda connection: connection.execute(_WHO, values).fetchone())
                raise Owned(f"execution {execution_id!r} is owned by {row[0] if row else 'another process'}")
            self.names.add(execution_id)

    @property
    def who(self) -> str:
        """The process, for those who would like to own what it owns."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def execution_begun(self, execution_id: str) -> None:
        """A new execution is there, and the row of its owner with it."""
        self.new.discard(execution_id)

    def ended(self, execution_id: str) -> None:
        """An execution is over, and its owner's row went with its last events."""
        self.names.discard(execution_id)

    def release(self, execution_id: str) -> None:
        """Let go, if it was not over. What cannot be said now is said later: this never fails."""
        with self._lock:
            self.new.discard(execution_id)
            if execution_id not in self.names:
                return
            self.names.discard(execution_id)
            # Noted before it is said, so that what fails here is said with the next taking, and nothing waits for a
            # holder that has let go.
            self._left.add(execution_id)
            with suppress(StoreFailure):
                self._release_left()

    def owned(self, names: Collection[str]) -> set[str]:
        """The executions among some that any live store owns. One that was let go of while nobody could be told is
        not.
        """
        if self._left:
            with self._lock:
                self._release_left()
        known = {written(name): name for name in names}
        values = {"names": [*known], "schema": self._pool.address.namespace, **self._heartbeats.still()}
        rows = self._pool.run(lambda connection: connection.execute(_LIVE, values).fetchall())
        return {known[name] for (name,) in rows}

    def hung(self, execution_id: str) -> str:
        values = {"name": written(execution_id), "schema": self._pool.address.namespace}
        row = self._pool.run(lambda connection: connection.execute(_HUNG, values).fetchone())
        return hung_text(row[0], float(row[1])) if row is not None and row[1] > LEASE else ""

    def taken_over(self) -> set[str]:
        # Asked in every round. Nobody can have taken anything unless a renewal was late, so the database is only
        # asked then.
        if not self.names or not self._renewal.was_late():
            return set()
        rows = self._pool.run(lambda connection: connection.execute(_MINE, (self.number,)).fetchall())
        mine = {name for (name,) in rows}
        # A copy, since other threads take and release while this one looks.
        return {name for name in [*self.names] if written(name) not in mine and name not in self.new}

    def close(self) -> None:
        """Let go of everything; call it before the pool closes. In a forked child nothing here is its own."""
        # The sockets are the parent's: a word on them would end its session, and with it what it owns.
        if self._pool.is_inherited:
            return
        self._renewal.end_renewal()
        with self._lock:
            self._left |= self.names
            self.names.clear()
            if self._connection is not None:
                with suppress(StoreFailure):
                    self._release_left()
                with suppress(*TRANSLATED):
                    self._heartbeats.remove_holder(self._connection, self.number)
                self._connection.close()
                self._connection = None

    def _live(self) -> None:
        """Have a connection with the lock. The one before is ended, in case the server still waits for it."""
        if self._connection is not None and is_alive(self._connection):
            return
        if self._connection is not None:
            self._connection.close()
        self._connection = self._pool.run(lambda _: self._joined())

    def _joined(self) -> PostgresConnection:
        connection = self._pool.connect()
        try:
            if self._session is not None:
                # The server may not have noticed yet that the old connection is gone. Ended, it lets go of the lock
                # that is taken below.
                connection.execute(_OLD, self._session)
            if not self.number:
                # The number is kept when a connection is made anew: the rows of what is owned name it.
                (self.number,) = connection.execute("SELECT nextval('holders')").fetchone() or (0,)
            connection.execute(_LOCK, self._values(""))
            self._heartbeats.register_holder(connection, self.number, self._pool.address.namespace)
            (began,) = connection.execute(_SELF).fetchone() or (None,)
            self._session = (connection.info.backend_pid, began)
        except TRANSLATED:
            connection.close()
            raise
        return connection

    def _release_left(self) -> None:
        if self._left:
            values = {"names": [written(name) for name in self._left], "holder": self.number}
            self._pool.once(lambda connection: connection.execute(_RELEASE, values))
            self._left.clear()

    def _values(self, execution_id: str, who: str = "") -> dict[str, object]:
        schema = self._pool.address.namespace
        return {
            "name": written(execution_id), "holder": self.number, "who": who, "schema": schema,
            **self._heartbeats.still(),
        }  # fmt: skip

    def _renew(self, now: float) -> None:
        with self._lock:
            if self._connection is None:
                raise StoreFailure("the store is closed")
            try:
                self._heartbeats.count(self._connection, self.number)
            except TRANSLATED as error:
                raise failure(error, self._pool.address) from error


class Ownership:
    """The ownership of one execution, held while inside; may be used again, but never twice at once."""

    def __init__(self, holder: Holder, execution_id: str, *, is_new: bool = False) -> None:
        self._holder = holder
        self._is_new = is_new
        self._execution_id = execution_id
        self._is_owned = False

    def __enter__(self) -> None:
        self._holder.take(self._execution_id, is_new=self._is_new)
        self._is_owned = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_owned:
            self._is_owned = False
            self._holder.release(self._execution_id)
