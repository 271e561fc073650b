"""The plans of a store, and which of them each playbook path has had."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from noetl.ports import Conflict
from noetl.ports.catalogue import PlanRow, Versions
from noetl.store.sqlite.deeds import record_deed

if TYPE_CHECKING:
    from noetl_ir.plan_sources import SourcedPlan

_T = TypeVar("_T")
_NEWEST = "SELECT digest, version FROM catalogue WHERE path = ? ORDER BY version DESC LIMIT 1"
_LIST = """
SELECT path, version, digest FROM catalogue
WHERE (?1 = '' OR path = ?1)
  AND (?6 = '[]' OR EXISTS (SELECT 1 FROM json_each(?6) AS prefix WHERE catalogue.path = prefix.value
    OR (substr(prefix.value, -1) = '/' AND substr(catalogue.path, 1, length(prefix.value)) = prefix.value)))
  AND (?2 = 0 OR version = (SELECT max(version) FROM catalogue AS own WHERE own.path = catalogue.path))
  AND path >= ?3 AND (path > ?3 OR version < ?4)
ORDER BY path, version DESC LIMIT ?5
"""
_AT = """
SELECT digest, data FROM catalogue JOIN plans USING (digest)
WHERE path = ?1 AND version = ifnull(?2, (SELECT max(version) FROM catalogue WHERE path = ?1))
"""

_IS_KEPT = """
SELECT 1 FROM plans WHERE digest = ?1 AND data = ?3 AND EXISTS (SELECT 1 FROM catalogue WHERE path = ?2)
"""


_KEEP_SOURCE = "INSERT OR IGNORE INTO sources SELECT digest, ? FROM plans WHERE digest = ?"
_SOURCED = "SELECT digest FROM sources WHERE digest IN (SELECT value FROM json_each(?))"


class CatalogueAccess(Protocol):
    """The part of its store that the catalogue needs."""

    def rows(self, query: str, values: Sequence[str | int | bytes | None]) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        ...

    def write(self, operation: str, work: Callable[[sqlite3.Cursor], _T]) -> _T:
        """Do `work` in one transaction."""
        ...

    def reach(self, point: str) -> None:
        """Call the hook of the fault points."""
        ...


class SqliteCatalogue:
    """Keeps plans by digest, and the versions of paths."""

    def __init__(self, access: CatalogueAccess) -> None:
        self._access = access

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        both = f"SELECT data, version FROM plans p JOIN ({_NEWEST}) x ON x.digest = p.digest WHERE p.digest = ?"
        # The usual case first, without a transaction: `noetl run` of a file that has not changed keeps it each time.
        newest = [] if registered or sources else self._access.rows(both, (path, digest))
        if newest and newest[0][0] == data:
            return int(newest[0][1])

        def work(cursor: sqlite3.Cursor) -> int:
            _keep(cursor, digest, data)
            _keep_sources(cursor, sources)
            self._access.reach("put_plan.after_write")
            if registered:
                cursor.execute("INSERT OR IGNORE INTO registered VALUES (?)", (path,))
            found = cursor.execute(_NEWEST, (path,)).fetchone()
            if found is not None and found[0] == digest:
                return int(found[1])
            if not registered and cursor.execute("SELECT 1 FROM registered WHERE path = ?", (path,)).fetchone():
                return 0
            return _added(cursor, digest, path, found[1] + 1 if found is not None else 1)

        return self._access.write("put_plan", work)

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        # Each child of a caller comes here, and nearly all find what the first one kept.
        if not sources and self._access.rows(_IS_KEPT, (digest, path, data)):
            return

        def work(cursor: sqlite3.Cursor) -> None:
            _keep(cursor, digest, data)
            _keep_sources(cursor, sources)
            if cursor.execute(_NEWEST, (path,)).fetchone() is None:
                _added(cursor, digest, path, 1)

        self._access.write("keep_plan", work)

    def plans(self, wanted: Versions) -> tuple[PlanRow, ...]:
        values = (
            wanted.path,
            int(wanted.newest),
            *(wanted.after or ("", 0)),
            wanted.limit or -1,
            json.dumps(wanted.within),
        )
        return tuple(PlanRow(*row) for row in self._access.rows(_LIST, values))

    def plan_bytes(self, digest: str) -> bytes | None:
        found = self._access.rows("SELECT data FROM plans WHERE digest = ?", (digest,))
        return found[0][0] if found else None

    def put_source(self, digest: str, text: bytes) -> None:
        """Keep the source of a plan, unless it has one; of a plan that is not there none is kept."""
        if self.source(digest) is None:  # as nearly always, and without a transaction
            self._access.write("put_source", lambda cursor: cursor.execute(_KEEP_SOURCE, (text, digest)) and None)

    def source(self, digest: str) -> bytes | None:
        """The source of a plan."""
        found = self._access.rows("SELECT data FROM sources WHERE digest = ?", (digest,))
        return found[0][0] if found else None

    def without_source(self, digests: Sequence[str]) -> list[str]:
        """The plans among some of which there is no source."""
        known = {digest for (digest,) in self._access.rows(_SOURCED, (json.dumps([*digests]),))}
        return [digest for digest in digests if digest not in known]

    def plan_at(self, path: str, version: int | None) -> tuple[str, bytes] | None:
        found = self._access.rows(_AT, (path, version))
        return (found[0][0], found[0][1]) if found else None


def _keep(cursor: sqlite3.Cursor, digest: str, data: bytes) -> None:
    cursor.execute("INSERT OR IGNORE INTO plans VALUES (?, ?)", (digest, data))
    if cursor.execute("SELECT data FROM plans WHERE digest = ?", (digest,)).fetchone()[0] != data:
        raise Conflict(f"a plan with digest {digest} is there already, with other bytes")


def _keep_sources(cursor: sqlite3.Cursor, sources: "Sequence[SourcedPlan]") -> None:
    for plan in sources:
        _keep(cursor, plan.digest, plan.data)
        cursor.execute(_KEEP_SOURCE, (plan.source, plan.digest))


def _added(cursor: sqlite3.Cursor, digest: str, path: str, version: int) -> int:
    cursor.execute("INSERT INTO catalogue VALUES (?, ?, ?)", (path, version, digest))
    record_deed(cursor, "register", f"{path}@{version}")
    return version
