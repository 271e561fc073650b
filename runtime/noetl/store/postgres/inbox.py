"""The requests to executions: rows that are numbered in the order in which they are committed."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from noetl.clients.deed_rows import record_deed
from noetl.ports import InboxRow, Over, StoreFailure
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.owners import INBOX_LOCK
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import read, written
from noetl.store.postgres.transaction import PostgresTransaction
from noetl_ir.expr import Json

_POST = """
WITH mine AS (
  SELECT number FROM executions WHERE execution_id = %(name)s AND (%(verb)s <> 'signal' OR ended IS NULL) FOR UPDATE
), posted AS (
  INSERT INTO inbox (execution, verb, body, token, at) SELECT number, %(verb)s, %(body)s, %(token)s,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
  FROM mine ON CONFLICT (token) DO NOTHING RETURNING row, execution
)
UPDATE executions SET signalled = posted.row FROM posted WHERE number = posted.execution AND %(verb)s = 'signal'
"""
_THERE = "SELECT FROM executions WHERE execution_id = %(name)s"
_SENT = uuid.UUID("6e6f6574-6c00-5e47-8000-7369676e616c")
"""The name space of what is sent once."""
_POSTED = "SELECT row FROM inbox WHERE token = %(token)s"
_REQUESTS = """
SELECT row, execution_id, verb, body, at FROM inbox JOIN executions ON number = execution WHERE row > %(after)s
"""


class InboxRows:
    """Keeps requests. A token in each row tells the repeat of a request whose answer was lost from a new one."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        try:
            text = json.dumps(body, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreFailure(f"the body of the request cannot be stored [{error}]") from error
        self._access.reach("post.before_write")
        # Made outside of `work`, which may be repeated: with the same token the second try finds the row of the
        # first.
        token = self.token(once)
        lock = {"schema": self._access.pool.address.namespace}

        def work(connection: PostgresConnection) -> int:
            with connection.transaction():
                # Rows must become visible in the order of their numbers: a reader that has seen row 7 never looks for
                # row 6 again.
                connection.execute(INBOX_LOCK, lock)
                row = self.leave(connection, execution_id, verb, text, token)
                name = {"name": written(execution_id)}
                if row is None and connection.execute(_THERE, name).fetchone() is not None:
                    raise Over(f"execution {execution_id!r} is over")
                if row is None:
                    raise self._access.unknown(execution_id)
                record_deed(PostgresTransaction(connection), verb, execution_id)
                self._access.reach("post.before_commit")
            return row

        row = self._access.run(work)
        self._access.reach("post.after_commit")
        return row

    @staticmethod
    def token(once: str) -> uuid.UUID:
        """The token by which a row is known that is left once under a name, or by itself."""
        return uuid.uuid5(_SENT, once) if once else uuid.uuid4()

    def leave(
        self, connection: PostgresConnection, execution_id: str, verb: str, text: str, token: uuid.UUID
    ) -> int | None:
        """Put a request into an inbox, within a transaction that has the lock; its row, None where it takes none."""
        values = {"name": written(execution_id), "verb": written(verb), "body": text, "token": token}
        connection.execute(_POST, values)
        return self.row_of(connection, token)

    def row_of(self, connection: PostgresConnection, token: uuid.UUID) -> int | None:
        """The row that is known by a token."""
        row = connection.execute(_POSTED, {"token": token}).fetchone()
        return None if row is None else int(row[0])

    def posted(self) -> int:
        return int(self._access.rows("SELECT coalesce(max(row), 0) FROM inbox")[0][0])

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        mine = "AND execution = (SELECT number FROM executions WHERE execution_id = %(name)s)"
        return self._requests(mine, {"after": after, "name": written(execution_id)})

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        return self._requests("", {"after": after})

    def _requests(self, where: str, values: Mapping[str, Any]) -> tuple[InboxRow, ...]:
        rows = self._access.rows(f"{_REQUESTS} {where} ORDER BY row", values)
        try:
            return tuple(
                InboxRow(row, read(name), read(verb), json.loads(body), at) for row, name, verb, body, at in rows
            )
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreFailure(f"{self._access.shown}: a request is damaged [{error}]") from error
