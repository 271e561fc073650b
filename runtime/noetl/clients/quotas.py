"""The quotas of a namespace: whether one more execution has a place, and what is said where it has none."""

from noetl.clients.token_bucket import Bucket, taken
from noetl.ports.namespaces import OPEN, PAUSED, STARTS, NamespaceRow, QuotaExceeded

AGAIN = 5
"""Seconds after which a start may be tried again where nobody knows when there will be a place."""


def check_paused(row: NamespaceRow) -> None:
    """Raises QuotaExceeded where nothing is to be started."""
    if row.paused:
        raise QuotaExceeded(row.name, PAUSED, "is paused", AGAIN)


def check_open(row: NamespaceRow, count: int) -> None:
    """Raises QuotaExceeded where so many are more than may be open, the one that begins among them."""
    if count > row.open_executions:
        text = f"has its {row.open_executions:,} open executions (`quotas.{OPEN}`)"
        raise QuotaExceeded(row.name, OPEN, text, AGAIN)


def check_starts(row: NamespaceRow, bucket: Bucket, now: int) -> Bucket:
    """The bucket of a namespace behind one more start. Raises QuotaExceeded where it holds none."""
    after, wait = taken(bucket, row.starts_per_minute, row.burst, now)
    if after is None:
        text = f"has had its {row.starts_per_minute:,} starts a minute (`quotas.{STARTS}`)"
        raise QuotaExceeded(row.name, STARTS, text, -(-wait // 1_000_000))
    return after
