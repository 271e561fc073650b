"""The store, put together from its parts."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from noetl.ports import ALL, Append, ExecutionRow, Hook, InboxRow, Record, Wanted
from noetl.ports.catalogue import EVERY, PlanRow, Versions
from noetl.ports.idempotency import StartKey
from noetl.ports.places import PlaceRow
from noetl.ports.queries import ExecutionAttribute
from noetl.store import is_sealed, seal_name_of, seal_of
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.address import address_of
from noetl.store.postgres.audit import PostgresAudit
from noetl.store.postgres.catalogue import PostgresCatalogue
from noetl.store.postgres.finding import PostgresFinding
from noetl.store.postgres.inbox import InboxRows
from noetl.store.postgres.log import Log
from noetl.store.postgres.mailbox import PostgresMailbox
from noetl.store.postgres.maintenance import PostgresMaintenance
from noetl.store.postgres.namespaces import PostgresNamespaces
from noetl.store.postgres.notifications import PostgresNotifications
from noetl.store.postgres.outbox import PostgresOutbox
from noetl.store.postgres.owners import Ownership
from noetl.store.postgres.places import PlaceRows
from noetl.store.postgres.pool import ConnectionPool
from noetl.store.postgres.purges import PostgresPurges
from noetl.store.postgres.schedules import PostgresSchedules
from noetl.store.postgres.schema import migrate
from noetl.store.postgres.triggers import PostgresTriggers
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from noetl_ir.plan_sources import SourcedPlan


class PostgresStore:
    """A `Store` in the database at `url`. `reconnect_seconds` is how many seconds a lost server is waited for."""

    dropped: str | None = None

    def __init__(self, url: str, *, hook: Hook | None = None, reconnect_seconds: float = 10.0) -> None:
        address = address_of(url)
        self._pool = ConnectionPool(address, reconnect_seconds=reconnect_seconds)
        self._access = DatabaseAccess(self._pool, hook)
        self._log = Log(self._access)
        self._finding = PostgresFinding(self._access)
        self._catalogue = PostgresCatalogue(self._access)
        self._inbox = InboxRows(self._access)
        self._places = PlaceRows(self._access)
        self.mailbox = PostgresMailbox(self._access, self._inbox)
        self.purges = PostgresPurges(self._access)
        self.scheduling = PostgresSchedules(self._access)
        self.triggering = PostgresTriggers(self._access)
        self.notifying = PostgresNotifications(self._access)
        self.namespaces = PostgresNamespaces(self._access)
        self.outbox = PostgresOutbox(self._access)
        self.audit = PostgresAudit(self._access)
        self.maintenance = PostgresMaintenance(self._access)
        try:
            self._pool.once(lambda connection: migrate(connection, address))
        except BaseException:
            self._pool.close()
            raise

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: Sequence[ExecutionAttribute] = (),
    ) -> None:
        self._log.create(row, records, key=key, attributes=attributes)

    def claims_key(self) -> bytes:
        return self._log.claims_key()

    def started_with(self, key: str) -> tuple[str, str] | None:
        return self._log.started_with(key)

    def append(
        self,
        execution_id: str,
        expected: int,
        records: Sequence[tuple[str, bytes]],
        *,
        status: str,
        ended: int | None,
        read: int | None = None,
    ) -> int:
        return self._log.append_all((Append(execution_id, expected, records, status, ended, read),))[0].position

    def append_all(self, appends: Sequence[Append]) -> None:
        self._log.append_all(appends)

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        return self._log.read(execution_id, after)

    def execution(self, execution_id: str) -> ExecutionRow | None:
        return self._log.execution(execution_id)

    def executions(self, wanted: Wanted = ALL) -> tuple[ExecutionRow, ...]:
        return self._finding.executions(wanted)

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        return self._finding.tally(wanted, group)

    def attributes(self, execution_ids: Sequence[str]) -> dict[str, tuple[ExecutionAttribute, ...]]:
        return self._finding.attributes(execution_ids)

    def counts(self) -> dict[str, int]:
        return self._log.counts()

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        return self._catalogue.put_plan(digest, path, data, registered=registered, sources=sources)

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        self._catalogue.keep_plan(digest, path, data, sources)

    def plans(self, wanted: Versions = EVERY) -> tuple[PlanRow, ...]:
        return self._catalogue.plans(wanted)

    def plan_bytes(self, digest: str) -> bytes | None:
        return self._catalogue.plan_bytes(digest)

    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        return self._catalogue.plan_at(path, version)

    def put_source(self, digest: str, text: bytes) -> None:
        self._catalogue.put_source(digest, text)

    def source(self, digest: str) -> bytes | None:
        return self._catalogue.source(digest)

    def without_source(self, digests: Sequence[str]) -> list[str]:
        return self._catalogue.without_source(digests)

    def vouch(self, digest: str, verifier: str) -> None:
        self._catalogue.keep_seal(seal_name_of(digest), seal_of(self.claims_key(), digest, verifier))

    def vouches(self, digest: str, verifier: str) -> bool:
        return is_sealed(self._catalogue.seal(seal_name_of(digest)), self.claims_key(), digest, verifier)

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        return self._inbox.post(execution_id, verb, body, once=once)

    def posted(self) -> int:
        return self._inbox.posted()

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        return self._inbox.inbox(execution_id, after)

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        return self._inbox.posts(after)

    def places(self) -> tuple[PlaceRow, ...]:
        return self._places.places()

    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        self._places.change(work)

    def own(self, execution_id: str) -> Ownership:
        return Ownership(self._access.holder, execution_id)

    def own_new(self, execution_id: str) -> Ownership:
        """The row goes with the first events of the execution: a transaction less."""
        return Ownership(self._access.holder, execution_id, is_new=True)

    def is_owned(self, execution_id: str) -> bool:
        return bool(self.owned((execution_id,)))

    def owned(self, names: Collection[str]) -> set[str]:
        return self._access.holder.owned(names)

    def hung(self, execution_id: str) -> str:
        return self._access.holder.hung(execution_id)

    def taken_over(self) -> set[str]:
        return self._access.holder.taken_over()

    def check_room(self, *, suspected: bool) -> None:
        """The values lie on the same disk (`PostgresBlobs`)."""

    def close(self) -> None:
        """Let go of what is owned, and of the connections."""
        self._access.holder.close()
        self._pool.close()
