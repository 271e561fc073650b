"""The purges of a PostgreSQL database."""

from noetl.clients.purge_rows import SqlPurges
from noetl.store.postgres.transaction import PostgresPart

_SWEEP = """
DELETE FROM events WHERE execution = %(number)s AND position IN
  (SELECT position FROM events WHERE execution = %(number)s ORDER BY position LIMIT %(limit)s)
"""


class PostgresPurges(PostgresPart, SqlPurges):
    """The purges of a store."""

    operation = "purge"

    def remove_events(self, number: int, limit: int) -> bool:
        """`SqlPurges.remove_events`."""
        values = {"number": number, "limit": limit}
        return self._access.run(lambda connection: connection.execute(_SWEEP, values).rowcount < limit)
