"""The store in a PostgreSQL database: what servers on several machines share.

Any number of them may work at once. A log is appended at an expected position in one statement, which the primary
key of the events decides; whoever loses is told and reads again. Everything lies in one namespace of the database,
`noetl` unless the URL has `schema=NAME`. Blobs lie in a table beside the log.

A server that restarts is waited for, a few seconds long: every operation may be repeated. Promises rest on
`synchronous_commit`, which each connection switches on.
"""

from noetl.ports import Blobs, Hook, Store, StoreFailure
from noetl.ports.maintenance import StoreSchema
from noetl.ports.output import Outputs

FAULT_POINTS = tuple(
    f"{operation}.{point}"
    for operation in (
        "create",
        "append",
        "put_plan",
        "post",
        "mail",
        "purge",
        "schedule",
        "trigger",
        "audit",
        "outbox",
        "notification",
        "namespace",
    )
    for point in ("before_write", "before_commit", "after_commit")
)
"""Where `hook` is called: nothing done yet; about to take effect; on disk, but not acknowledged to the caller."""

EXTRA = "a store in PostgreSQL needs the extra: pip install 'noetlc[postgres]'"


def open_store(url: str, *, hook: Hook | None = None) -> Store:
    """The store at `postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?schema=NAME]`, made if need be."""
    try:
        from noetl.store.postgres.store import PostgresStore
    except ImportError as missing:
        raise StoreFailure(f"{EXTRA} ({missing})") from None
    return PostgresStore(url, hook=hook)


def schema_of(url: str) -> StoreSchema:
    """The schema of the store at a URL, which is not changed. Raises StoreFailure."""
    try:
        from noetl.store.postgres.looking import look
    except ImportError as missing:
        raise StoreFailure(f"{EXTRA} ({missing})") from None
    return look(url)


def open_blobs(url: str, *, hook: Hook | None = None) -> Blobs:
    """The blobs of the store at a URL."""
    try:
        from noetl.store.postgres.blobs import PostgresBlobs
    except ImportError as missing:
        raise StoreFailure(f"{EXTRA} ({missing})") from None
    return PostgresBlobs(url)


def open_outputs(url: str) -> Outputs:
    """The task output of the store at a URL."""
    try:
        from noetl.store.postgres.output import PostgresOutputs
    except ImportError as missing:
        raise StoreFailure(f"{EXTRA} ({missing})") from None
    return PostgresOutputs(url)
