"""The plans of a store, and which of them each playbook path has had."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noetl.clients.deed_rows import record_deed
from noetl.ports import Conflict
from noetl.ports.catalogue import PlanRow, Versions
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import read, written
from noetl.store.postgres.transaction import PostgresTransaction

if TYPE_CHECKING:
    from noetl_ir.plan_sources import SourcedPlan

_NEWEST = "SELECT digest, version FROM catalogue WHERE path = %s ORDER BY version DESC LIMIT 1"
_LIST = """
SELECT path, version, digest FROM catalogue
WHERE (%(path)s::text = '' OR path = %(path)s)
  AND (cardinality(%(within)s::text[]) = 0 OR EXISTS (SELECT 1 FROM unnest(%(within)s::text[]) AS prefix
    WHERE path = prefix OR (right(prefix, 1) = '/' AND left(path, length(prefix)) = prefix)))
  AND (NOT %(newest)s OR version = (SELECT max(version) FROM catalogue AS own WHERE own.path = catalogue.path))
  AND path >= %(behind)s AND (path > %(behind)s OR version < %(version)s)
ORDER BY path, version DESC LIMIT NULLIF(%(limit)s, 0)
"""
_AT = """
SELECT digest, data FROM catalogue JOIN plans USING (digest) WHERE path = %(path)s AND version =
  coalesce(%(version)s::integer, (SELECT max(version) FROM catalogue WHERE path = %(path)s))
"""

_IS_KEPT = """
SELECT FROM plans WHERE digest = %s AND data = %b AND EXISTS (SELECT FROM catalogue WHERE path = %s)
"""
_REGISTERED = "SELECT 1 FROM registered WHERE path = %s"
_KEEP_SOURCE = "INSERT INTO sources SELECT digest, %b FROM plans WHERE digest = %s ON CONFLICT DO NOTHING"
_SOURCED = "SELECT digest FROM sources WHERE digest = ANY(%s)"
_KEEP_SEAL = "INSERT INTO keys VALUES (%s, %b) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class PostgresCatalogue:
    """Keeps plans by digest, and the versions of paths."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        self._access.reach("put_plan.before_write")

        def work(connection: PostgresConnection) -> int:
            with connection.transaction():
                newest = _kept(connection, digest, path, data)
                _keep_sources(connection, sources)
                if registered:
                    connection.execute("INSERT INTO registered VALUES (%s) ON CONFLICT DO NOTHING", (written(path),))
                if newest is not None and newest[0] == written(digest):
                    version = int(newest[1])
                elif not registered and connection.execute(_REGISTERED, (written(path),)).fetchone():
                    version = 0
                else:
                    version = _added(connection, digest, path, int(newest[1]) + 1 if newest is not None else 1)
                self._access.reach("put_plan.before_commit")
            return version

        version = self._access.run(work)
        self._access.reach("put_plan.after_commit")
        return version

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        # Each child of a caller comes here, and nearly all find what the first one kept.
        if not sources and self._access.rows(_IS_KEPT, (written(digest), data, written(path))):
            return

        def work(connection: PostgresConnection) -> None:
            with connection.transaction():
                newest = _kept(connection, digest, path, data)
                _keep_sources(connection, sources)
                if newest is None:
                    _added(connection, digest, path, 1)

        self._access.run(work)

    def plans(self, wanted: Versions) -> tuple[PlanRow, ...]:
        behind, version = wanted.after or ("", 0)
        values = {
            "path": written(wanted.path), "newest": wanted.newest, "behind": written(behind), "version": version,
            "limit": wanted.limit, "within": [*map(written, wanted.within)],
        }  # fmt: skip
        return tuple(
            PlanRow(read(path), number, read(digest)) for path, number, digest in self._access.rows(_LIST, values)
        )

    def plan_bytes(self, digest: str) -> bytes | None:
        found = self._access.rows("SELECT data FROM plans WHERE digest = %s", (written(digest),))
        return found[0][0] if found else None

    def put_source(self, digest: str, text: bytes) -> None:
        """Keep the source of a plan, unless it has one; of a plan that is not there none is kept."""
        self._access.run(lambda connection: connection.execute(_KEEP_SOURCE, (text, written(digest))) and None)

    def source(self, digest: str) -> bytes | None:
        """The source of a plan."""
        found = self._access.rows("SELECT data FROM sources WHERE digest = %s", (written(digest),))
        return bytes(found[0][0]) if found else None

    def without_source(self, digests: Sequence[str]) -> list[str]:
        """The plans among some of which there is no source."""
        known = {read(digest) for (digest,) in self._access.rows(_SOURCED, ([*map(written, digests)],))}
        return [digest for digest in digests if digest not in known]

    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        found = self._access.rows(_AT, {"path": written(path), "version": version})
        return (read(found[0][0]), found[0][1]) if found else None

    def keep_seal(self, name: str, seal: bytes) -> None:
        """Keep what was found of a plan."""
        self._access.run(lambda connection: connection.execute(_KEEP_SEAL, (written(name), seal)) and None)

    def seal(self, name: str) -> bytes | None:
        """The seal that was kept so."""
        found = self._access.rows("SELECT value FROM keys WHERE name = %s", (written(name),))
        return bytes(found[0][0]) if found else None


def _kept(connection: PostgresConnection, digest: str, path: str, data: bytes) -> tuple[Any, ...] | None:
    """The newest version of a path, once a plan is kept: its digest and number."""
    # One at a time for each path, so that a version is given once.
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (written(path),))
    _keep(connection, digest, data)
    return connection.execute(_NEWEST, (written(path),)).fetchone()


def _keep(connection: PostgresConnection, digest: str, data: bytes) -> None:
    connection.execute("INSERT INTO plans VALUES (%s, %b) ON CONFLICT DO NOTHING", (written(digest), data))
    there = connection.execute("SELECT data = %b FROM plans WHERE digest = %s", (data, written(digest)))
    if there.fetchone() != (True,):
        raise Conflict(f"a plan with digest {digest} is there already, with other bytes")


def _keep_sources(connection: PostgresConnection, sources: "Sequence[SourcedPlan]") -> None:
    # In one order, whoever comes: two that keep the same ones wait for each other, and never in a circle.
    for plan in sorted(sources):
        _keep(connection, plan.digest, plan.data)
        connection.execute(_KEEP_SOURCE, (plan.source, written(plan.digest)))


def _added(connection: PostgresConnection, digest: str, path: str, version: int) -> int:
    row = (written(path), version, written(digest))
    connection.execute("INSERT INTO catalogue VALUES (%s, %s, %s)", row)
    record_deed(PostgresTransaction(connection), "register", f"{path}@{version}")
    return version
