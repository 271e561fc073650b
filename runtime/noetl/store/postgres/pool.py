"""The connections of a store: some that are kept, made when needed, replaced when they are lost.

Any thread may ask for one. A connection that the server has closed is noticed before it is used, so a restart
between two operations is no error. A process that was forked has to open its own store.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import pq

from noetl.host.backoff import Backoff
from noetl.ports import StoreFailure
from noetl.store.postgres.address import Address
from noetl.store.postgres.failures import TRANSLATED, failure, is_passing

MOST = 8
"""Connections at once; who wants one more waits."""

WAIT = 30.0
"""Seconds to wait for a connection that others use."""

CONNECT_TIMEOUT = 5
STATEMENT_TIMEOUT, LOCK_TIMEOUT, IDLE_TIMEOUT = "30s", "10s", "5s"
"""Each shorter than the one before: a process that stands still between two statements of a transaction holds rows,
and who waits for them outlasts it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a lost server is tried again: the first time, doubled each time, at most."""

PostgresConnection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")

_PREPARE = """
SELECT set_config('search_path', %(schema)s, false), set_config('synchronous_commit', 'on', false),
  set_config('statement_timeout', %(statement)s, false), set_config('lock_timeout', %(lock)s, false),
  set_config('idle_in_transaction_session_timeout', %(idle)s, false),
  set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false)
"""


class ConnectionPool:
    """Connections to one address. `reconnect_seconds` is how many seconds a lost server is waited for."""

    def __init__(self, address: Address, *, reconnect_seconds: float = 10.0) -> None:
        self.address = address
        self._reconnect_seconds = reconnect_seconds
        self._free: list[PostgresConnection] = []
        self._out = 0
        self._turn = threading.Condition()
        self._pid = os.getpid()
        self._closed: str | None = None

    @property
    def is_inherited(self) -> bool:
        """Whether the connections belong to the process that this one was forked from."""
        return os.getpid() != self._pid

    def once(self, work: Callable[[PostgresConnection], _T]) -> _T:
        """Do something on a connection. Raises StoreFailure."""
        try:
            return self._work(work)
        except TRANSLATED as error:
            raise failure(error, self.address) from error

    def run(self, work: Callable[[PostgresConnection], _T]) -> _T:
        """Do something that may be repeated; again while the server is lost. Raises StoreFailure."""
        until, backoff = time.monotonic() + self._reconnect_seconds, Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                return self._work(work)
            except TRANSLATED as error:
                # A failure that stands (a wrong table, a full disk) is told at once: waiting would only hide it.
                if not is_passing(error) or time.monotonic() + backoff.pause > until:
                    raise failure(error, self.address) from error
            time.sleep(backoff.pause)
            backoff.double()

    def connect(self) -> PostgresConnection:
        """A new connection, which is the caller's. Raises what the driver raises."""
        settings: dict[str, Any] = {
            "connect_timeout": str(CONNECT_TIMEOUT), "application_name": "noetl", "keepalives_idle": "5",
            "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "20000",
            **self.address.parameters, "client_encoding": "utf8",
        }  # fmt: skip
        connection: PostgresConnection = psycopg.connect(autocommit=True, **settings)
        try:
            values = {
                "schema": self.address.namespace,
                "statement": STATEMENT_TIMEOUT,
                "lock": LOCK_TIMEOUT,
                "idle": IDLE_TIMEOUT,
            }
            connection.execute(_PREPARE, values)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close what is free; what is out is closed when it comes back."""
        with self._turn:
            if self._closed is None:
                self._closed = "the store is closed"
            free, self._free = self._free, []
            self._turn.notify_all()
        if not self.is_inherited:
            for connection in free:
                connection.close()

    def _work(self, work: Callable[[PostgresConnection], _T]) -> _T:
        with self._borrowed() as connection:
            return work(connection)

    @contextmanager
    def _borrowed(self) -> Iterator[PostgresConnection]:
        connection = self._taken()
        try:
            if connection is None:
                connection = self.connect()
            yield connection
        finally:
            self._give_back(connection)

    def _taken(self) -> PostgresConnection | None:
        """A free connection, or None for the right to make one."""
        if self.is_inherited:
            raise StoreFailure("the store was opened before a fork; the child has to open its own")
        until = time.monotonic() + WAIT
        with self._turn:
            while True:
                if self._closed is not None:
                    raise StoreFailure(self._closed)
                while self._free:
                    connection = self._free.pop()
                    if is_alive(connection):
                        self._out += 1
                        return connection
                    connection.close()
                if self._out < MOST:
                    self._out += 1
                    return None
                if not self._turn.wait(until - time.monotonic()):
                    raise StoreFailure(f"{self.address.shown}: all {MOST} connections are busy")

    def _give_back(self, connection: PostgresConnection | None) -> None:
        """Keep a connection that can be used again; one in the middle of something is closed."""
        # A thread that was interrupted may leave a transaction open; the next one would write into it.
        good = connection is not None and connection.info.transaction_status is pq.TransactionStatus.IDLE
        with self._turn:
            self._out -= 1
            good = good and self._closed is None
            if good and connection is not None:
                self._free.append(connection)
            self._turn.notify()
        if connection is not None and not good:
            connection.close()


def is_alive(connection: PostgresConnection) -> bool:
    """Whether an idle connection can be used, as far as is known here: the server says goodbye when it goes."""
    if connection.closed:
        return False
    poll = select.poll()
    # An idle connection has nothing to read. What can be read is the server's goodbye.
    poll.register(connection.pgconn.socket, select.POLLIN | select.POLLRDHUP)
    if not poll.poll(0):
        return True
    try:
        connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return connection.pgconn.status is pq.ConnStatus.OK and not poll.poll(0)
