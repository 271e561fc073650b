"""Which holders stand still: each counts on in a row of its own every few seconds, and looks at those of others."""

import time
from collections.abc import Callable

from noetl.host.lease_renewal import LEASE
from noetl.store.postgres.pool import PostgresConnection

_SEEN = "(SELECT * FROM unnest(%(still)s::integer[], %(beats)s::bigint[]))"
_OLD = f"clock_timestamp() - interval '{LEASE} s'"
STANDS_STILL = f"""EXISTS (SELECT FROM beats b WHERE b.holder = owners.holder
  AND CASE WHEN %(by_clock)s THEN b.renewed < {_OLD} ELSE (b.holder, b.beat) IN {_SEEN} END)"""
"""Whether the holder of a row of `owners` stands still. It takes the values of `HolderHeartbeats.still`, and is false
of one that has counted on since that was last looked at."""

_COUNT = """
INSERT INTO beats VALUES (%s, 1, clock_timestamp())
ON CONFLICT (holder) DO UPDATE SET beat = beats.beat + 1, renewed = clock_timestamp()
"""
_LOOK = "SELECT holder, beat FROM beats WHERE holder <> %s"
_END = "DELETE FROM beats WHERE holder = %s"
_CLEAR = """
DELETE FROM beats WHERE renewed < clock_timestamp() - interval '1 day'
  AND pg_try_advisory_xact_lock_shared((to_regnamespace(%s)::oid::bigint - 2147483648)::integer, holder)
"""


class HolderHeartbeats:
    """The counts of other holders, as one store has seen them. `clock` is in monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[int, tuple[int, float]] = {}
        self._began: float | None = None
        self._last = 0.0

    def register_holder(self, connection: PostgresConnection, number: int, namespace: str) -> None:
        """Add a row for a holder, and remove rows of holders that died."""
        connection.execute(_CLEAR, (namespace,))
        connection.execute(_COUNT, (number,))

    def count(self, connection: PostgresConnection, number: int) -> None:
        """Raise this holder's count, and read those of the others. Raises what the driver raises."""
        connection.execute(_COUNT, (number,))
        self.saw(connection.execute(_LOOK, (number,)).fetchall())

    def remove_holder(self, connection: PostgresConnection, number: int) -> None:
        """Remove the row of a holder that ends."""
        connection.execute(_END, (number,))

    def saw(self, rows: list[tuple[int, int]]) -> None:
        """Note the counts that were read now. After a late look, the time for which a count was the same begins
        anew.
        """
        now = self._clock()
        # Whoever looks late saw no counts in between: a holder that counted on and then stood still would look the
        # same as one that is dead.
        if now - self._last > LEASE / 2:
            self._since, self._began = {}, now
        self._last = now
        known = self._since
        self._since = {
            holder: known[holder] if holder in known and known[holder][0] == count else (count, now)
            for holder, count in rows
        }

    def still(self) -> dict[str, list[int] | bool]:
        """The holders that stand still, with their last counts, as parameters of the query that takes from them."""
        now = self._clock()
        # Nothing is known before one whole lease has been watched.
        watched = self._began is not None and now - self._began > LEASE
        still = (
            {holder: count for holder, (count, since) in self._since.items() if now - since > LEASE} if watched else {}
        )
        return {"by_clock": self._began is None, "still": [*still], "beats": [*still.values()]}
