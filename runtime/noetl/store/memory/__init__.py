"""The store and the blobs in memory: for tests, and as the plainest statement of the contract.

One lock guards everything, so any thread may call. Nothing outlives the process.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from noetl.ports import (
    ALL,
    Append,
    Blobs,
    Conflict,
    ExecutionRow,
    Hook,
    InboxRow,
    Over,
    Owned,
    Record,
    Store,
    StoreFailure,
    Taken,
    Unpurgeable,
    Unread,
    Wanted,
)
from noetl.ports.catalogue import EVERY, PlanRow, Versions
from noetl.ports.idempotency import StartKey
from noetl.ports.output import Outputs
from noetl.ports.places import PlaceRow
from noetl.ports.purges import Purges
from noetl.store import is_sealed, missing, seal_of
from noetl.store.memory.audit import MemoryAudit
from noetl.store.memory.blobs import MemoryBlobs as MemoryBlobs
from noetl.store.memory.mailbox import MemoryMailbox
from noetl.store.memory.namespaces import MemoryNamespaces
from noetl.store.memory.notifications import MemoryNotifications
from noetl.store.memory.outbox import MemoryOutbox
from noetl.store.memory.schedules import MemorySchedules
from noetl.store.memory.triggers import MemoryTriggers
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from noetl.ports.queries import ExecutionAttribute
    from noetl_ir.plan_sources import SourcedPlan

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
"""Where `hook` is called: nothing done yet, about to take effect, done but not yet acknowledged."""


def open_store(url: str, *, hook: Hook | None = None) -> Store:
    """A store of its own, whatever the URL says behind `memory:`."""
    return MemoryStore(hook=hook)


def open_blobs(url: str, *, hook: Hook | None = None) -> Blobs:
    """Blobs of their own, whatever the URL says behind `memory:`."""
    return MemoryBlobs()


def open_outputs(url: str) -> Outputs:
    """Outputs of their own, whatever the URL says behind `memory:`."""
    from noetl.store.memory.output import MemoryOutputs

    return MemoryOutputs()


def wall_time() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


class MemoryStore:
    """A `Store` of lists and dictionaries; `now` gives the times of requests."""

    dropped: str | None = None

    def __init__(self, *, hook: Hook | None = None, now: Callable[[], int] = wall_time) -> None:
        self._lock = threading.RLock()
        self._rows: dict[str, ExecutionRow] = {}
        self._attributes: dict[str, tuple[ExecutionAttribute, ...]] = {}
        self._logs: dict[str, list[Record]] = {}
        self._ids: dict[str, dict[str, int]] = {}
        self._plans: dict[str, bytes] = {}
        self._paths: dict[str, list[str]] = {}
        self._registered: set[str] = set()
        self._inbox: list[InboxRow] = []
        self._once: dict[str, int] = {}
        self._signalled: dict[str, int] = {}
        self._claims_key = os.urandom(32)
        self._seals: dict[str, bytes] = {}
        self._sources: dict[str, bytes] = {}
        self._starts: dict[str, tuple[str, str]] = {}
        self._owned: set[str] = set()
        self._places: dict[tuple[str, str], PlaceRow] = {}
        self._gone: list[str] = []
        self.audit = MemoryAudit(partial(self._changing, "audit"), self._looking)
        self.mailbox = MemoryMailbox(
            self._leave_signal,
            self._is_open,
            self._sent,
            now,
            partial(self._changing, "mail"),
            self._looking,
            self.audit.record_deed,
        )
        self.outbox = MemoryOutbox(partial(self._changing, "outbox"), self._looking)
        self.notifying = MemoryNotifications(
            partial(self._changing, "notification"), self._looking, self.outbox, self.audit.record_deed
        )
        self.triggering = MemoryTriggers(partial(self._changing, "trigger"), self._looking, self.audit.record_deed)
        self.scheduling = MemorySchedules(partial(self._changing, "schedule"), self._looking, self.audit.record_deed)
        self.namespaces = MemoryNamespaces(
            partial(self._changing, "namespace"), self._looking, self.audit.record_deed, self._all_rows, now
        )
        self._hook = hook
        self._now = now
        self._closed = False

    @property
    def purges(self) -> Purges:
        """The store itself: what is purged here leaves nothing to sweep."""
        return self

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: "Sequence[ExecutionAttribute]" = (),
    ) -> None:
        with self._lock:
            self._reach("create.before_write")
            if key is not None:
                mine = row.execution_id, key.request
                if (there := self._starts.get(key.key, mine))[0] != row.execution_id:
                    raise Taken(*there)
            known = self._rows.get(row.execution_id)
            if known is None:
                fresh = missing(0, 0, records, lambda _: None)
                self._reach("create.before_commit")
                if fresh:
                    self.namespaces.check_start(row)
                self._rows[row.execution_id] = row
                if attributes:
                    self._attributes[row.execution_id] = tuple(attributes)
                self._logs[row.execution_id], self._ids[row.execution_id] = [], {}
                self._extend(row.execution_id, fresh)
                if key is not None:
                    self._starts[key.key] = mine
                # One that is restored has no events yet, and comes to no end.
                if row.ended is not None and records:
                    self._execution_ended(row)
                if row.parent_execution_id is None:
                    self.audit.record_deed("rerun" if row.rerun_of else "start", row.execution_id)
            elif (known.playbook, known.plan_digest, known.parent_execution_id) != (
                row.playbook,
                row.plan_digest,
                row.parent_execution_id,
            ):
                raise Conflict(f"execution {row.execution_id!r} is there already, and is another one")
            elif self._missing(row.execution_id, 0, records):
                raise Conflict(f"execution {row.execution_id!r} is there already, without these events")
            self._reach("create.after_commit")

    def claims_key(self) -> bytes:
        return self._claims_key

    def started_with(self, key: str) -> tuple[str, str] | None:
        with self._lock:
            self._reach()
            return self._starts.get(key)

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
        with self._lock:
            self._append((Append(execution_id, expected, records, status, ended, read),))
            return len(self._logs[execution_id])

    def append_all(self, appends: Sequence[Append]) -> None:
        with self._lock:
            self._append(appends)

    def _append(self, appends: Sequence[Append]) -> None:
        self._reach("append.before_write")
        for append in appends:
            if append.execution_id not in self._logs:
                raise StoreFailure(f"there is no execution {append.execution_id!r} in this store")
        # All are looked at before any is written, so that a Conflict of one leaves all others as they were.
        fresh = [self._missing(append.execution_id, append.expected, append.records) for append in appends]
        for append in appends:
            is_final = append.ended is not None and append.read is not None
            if is_final and self._signalled.get(append.execution_id, 0) > (append.read or 0):
                raise Unread(f"execution {append.execution_id!r} has a signal that it has not read")
        self._reach("append.before_commit")
        for append, records in zip(appends, fresh, strict=True):
            if records:
                self._extend(append.execution_id, records)
                row = self._rows[append.execution_id]
                error = append.error or row.error if append.ended is not None else None
                after = self._rows[append.execution_id] = row._replace(
                    status=append.status, ended=append.ended, error=error, plan_digest=append.plan or row.plan_digest
                )
                if row.ended is None and append.ended is not None:
                    self._execution_ended(after)
                if append.attributes is not None:
                    self._attributes[append.execution_id] = append.attributes
        self._reach("append.after_commit")

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        with self._lock:
            self._reach()
            # Only taken here under the lock: a log only grows at its end, so reading it on needs none, and a slow
            # reader holds nobody up.
            log = self._logs.get(execution_id, [])
        if after > len(log):
            raise Conflict(f"the log of {execution_id!r} ends at position {len(log)}, not at {after}")
        while after < len(log):
            yield log[after]
            after += 1

    def execution(self, execution_id: str) -> ExecutionRow | None:
        with self._lock:
            self._reach()
            return self._rows.get(execution_id)

    def executions(self, wanted: Wanted = ALL) -> tuple[ExecutionRow, ...]:
        with self._lock:
            self._reach()
            return tuple(islice(self._found(wanted), wanted.limit or None))

    def _found(self, wanted: Wanted) -> Iterator[ExecutionRow]:
        # Sorted, then reversed: of equal times the one that was made last comes first, as in the SQL stores.
        rows = sorted(self._rows.values(), key=lambda row: row.started)[::-1]
        if wanted.before:
            names = [row.execution_id for row in rows]
            rows = rows[names.index(wanted.before) + 1 :] if wanted.before in names else []
        from noetl.clients.conditions import condition_of
        from noetl.store.memory.finding import is_found

        condition = condition_of(wanted)
        for row in rows:
            if is_found(condition, row, self._by_name(row.execution_id), self._versions_of):
                yield row

    def _versions_of(self, row: ExecutionRow) -> list[int]:
        digests = self._paths.get(row.playbook, [])
        return [number for number, digest in enumerate(digests, 1) if digest == row.plan_digest]

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        from noetl.store.memory.finding import tally_of

        with self._lock:
            self._reach()
            return tally_of(((row, self._by_name(row.execution_id)) for row in self._found(wanted)), group)

    def _by_name(self, execution_id: str) -> "dict[str, ExecutionAttribute]":
        return {each.name: each for each in self._attributes.get(execution_id, ())}

    def attributes(self, execution_ids: Sequence[str]) -> "dict[str, tuple[ExecutionAttribute, ...]]":
        with self._lock:
            self._reach()
            found = {name: self._attributes.get(name, ()) for name in execution_ids}
            return {name: tuple(sorted(rows)) for name, rows in found.items() if rows}

    def counts(self) -> dict[str, int]:
        with self._lock:
            self._reach()
            return Counter(row.status for row in self._rows.values())

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        with self._lock:
            self._reach("put_plan.before_write")
            self._keep(digest, data, sources, lambda: self._reach("put_plan.before_commit"))
            versions = self._paths.setdefault(path, [])
            self._registered |= {path} if registered else set()
            # To go back to an older plan makes a version: it is the newest then.
            is_version = versions[-1:] == [digest] or registered or path not in self._registered
            if is_version and versions[-1:] != [digest]:
                versions.append(digest)
                self.audit.record_deed("register", f"{path}@{len(versions)}")
            self._reach("put_plan.after_commit")
            return len(versions) if is_version else 0

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        with self._lock:
            self._reach()
            self._keep(digest, data, sources)
            if not self._paths.setdefault(path, []):
                self._paths[path].append(digest)
                self.audit.record_deed("register", f"{path}@1")

    def _keep(
        self, digest: str, data: bytes, sources: "Sequence[SourcedPlan]", commit: Callable[[], None] = lambda: None
    ) -> None:
        plans = [(digest, data), *[(plan.digest, plan.data) for plan in sources]]
        for name, found in plans:
            if self._plans.get(name, found) != found:
                raise Conflict(f"a plan with digest {name} is there already, with other bytes")
        commit()
        self._plans.update(plans)
        for plan in sources:
            self._sources.setdefault(plan.digest, plan.source)

    def plans(self, wanted: Versions = EVERY) -> tuple[PlanRow, ...]:
        with self._lock:
            self._reach()
            rows = [
                PlanRow(path, number, digests[number - 1])
                for path, digests in sorted(self._paths.items())
                for number in range(len(digests), len(digests) - 1 if wanted.newest else 0, -1)
                if wanted.shows(path)
            ]
        path, version = wanted.after or ("", 0)
        behind = (row for row in rows if row.path > path or (row.path == path and row.version < version))
        return tuple(islice(behind, wanted.limit or None))

    def plan_bytes(self, digest: str) -> bytes | None:
        with self._lock:
            self._reach()
            return self._plans.get(digest)

    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        with self._lock:
            self._reach()
            versions = self._paths.get(path, [])
            number = len(versions) if version is None else version
            if not 1 <= number <= len(versions):
                return None
            digest = versions[number - 1]
            return digest, self._plans[digest]

    def without_source(self, digests: Sequence[str]) -> list[str]:
        with self._lock:
            self._reach()
            return [digest for digest in digests if digest not in self._sources]

    def put_source(self, digest: str, text: bytes) -> None:
        with self._lock:
            self._reach()
            if digest in self._plans:
                self._sources.setdefault(digest, text)

    def source(self, digest: str) -> bytes | None:
        with self._lock:
            self._reach()
            return self._sources.get(digest)

    def vouch(self, digest: str, verifier: str) -> None:
        with self._lock:
            self._reach()
            self._seals[digest] = seal_of(self._claims_key, digest, verifier)

    def vouches(self, digest: str, verifier: str) -> bool:
        with self._lock:
            self._reach()
            return is_sealed(self._seals.get(digest), self._claims_key, digest, verifier)

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        with self._lock:
            self._reach("post.before_write")
            if execution_id not in self._rows:
                raise StoreFailure(f"there is no execution {execution_id!r} in this store")
            if (there := self._once.get(once)) is not None:
                return there
            if verb == "signal" and self._rows[execution_id].ended is not None:
                raise Over(f"execution {execution_id!r} is over")
            self._reach("post.before_commit")
            row = self._leave(execution_id, verb, body, once)
            self.audit.record_deed(verb, execution_id)
            self._reach("post.after_commit")
            return row

    def _leave(self, execution_id: str, verb: str, body: Json, once: str) -> int:
        row = len(self._inbox) + 1
        if verb == "signal":
            self._signalled[execution_id] = row
        if once:
            self._once[once] = row
        self._inbox.append(InboxRow(row, execution_id, verb, body, self._now()))
        return row

    def _sent(self, once: str) -> Json:
        row = self._once.get(once)
        return None if row is None else self._inbox[row - 1].body

    def _leave_signal(self, execution_id: str, body: Json, once: str) -> int:
        return self._leave(execution_id, "signal", body, once)

    def posted(self) -> int:
        with self._lock:
            self._reach()
            return len(self._inbox)

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        with self._lock:
            self._reach()
            return tuple(row for row in self._inbox[after:] if row.execution_id == execution_id in self._rows)

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        with self._lock:
            self._reach()
            return tuple(row for row in self._inbox[after:] if row.execution_id in self._rows)

    def places(self) -> tuple[PlaceRow, ...]:
        with self._lock:
            self._reach()
            rows = sorted(self._places.values(), key=lambda row: row.number)
            return tuple([row for row in rows if self._is_open(row.execution_id)])

    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        with self._lock:
            self._reach("places.before_write")
            number = max((row.number for row in self._places.values()), default=0)
            for row in work(self.places()):
                number += not row.number
                self._places[row.key, row.execution_id] = row if row.number else row._replace(number=number)
            self._reach("places.after_commit")

    def purge(self, execution_ids: Collection[str]) -> None:
        """`Purges.purge`."""
        with self._lock:
            self._reach("purge.before_write")
            there = {name for name in execution_ids if name in self._rows}
            for name in there:
                if self._is_open(name):
                    raise Unpurgeable(f"execution {name!r} is not over")
                if self.mailbox.correspondence(name).rows:
                    raise Unpurgeable(f"a signal of the mailbox is on its way to execution {name!r}")
            for row in self._rows.values():
                caller = row.parent_execution_id
                if caller in there and row.execution_id not in there:
                    raise Unpurgeable(f"execution {caller!r} has a child that would stay, {row.execution_id!r}")
            self._reach("purge.before_commit")
            for name in there:
                if self._rows[name].parent_execution_id is None:
                    self.audit.record_deed("purge", name)
                self.outbox.execution_purged(name)
                self.mailbox.settle_mail(name, self.mailbox.correspondence(name).calls, ())
                for table in (self._rows, self._attributes, self._logs, self._ids, self._signalled):
                    table.pop(name, None)
            # A row of the inbox keeps its place, as the number of the next one follows from it.
            self._inbox = [row._replace(body=None) if row.execution_id in there else row for row in self._inbox]
            self._once = {
                once: row for once, row in self._once.items() if self._inbox[row - 1].execution_id not in there
            }
            self._starts = {key: start for key, start in self._starts.items() if start[0] not in there}
            self._places = {at: row for at, row in self._places.items() if row.execution_id not in there}
            self._gone += sorted(there)
            self._reach("purge.after_commit")

    def purged(self, execution_id: str = "") -> tuple[str, ...]:
        """`Purges.purged`."""
        with self._lock:
            return tuple([name for name in self._gone if execution_id in ("", name)])

    def sweep(self, execution_id: str, limit: int) -> bool:
        """`Purges.sweep`."""
        return True

    def forget(self, execution_id: str) -> None:
        """`Purges.forget`."""
        with self._lock:
            self._gone = [name for name in self._gone if name != execution_id]

    def _all_rows(self) -> Iterator[ExecutionRow]:
        return iter(self._rows.values())

    def _execution_ended(self, row: ExecutionRow) -> None:
        """Keep what an end leads to, within the change that makes it."""
        self.triggering.execution_ended(row)
        self.outbox.execution_ended(row)

    @contextmanager
    def _changing(self, operation: str) -> Iterator[None]:
        """A change of a part of the store."""
        with self._lock:
            self._reach(f"{operation}.before_write")
            self._reach(f"{operation}.before_commit")
            yield
            self._reach(f"{operation}.after_commit")

    @contextmanager
    def _looking(self) -> Iterator[None]:
        with self._lock:
            self._reach()
            yield

    def _is_open(self, execution_id: str) -> bool:
        row = self._rows.get(execution_id)
        return row is not None and row.ended is None

    def own(self, execution_id: str) -> AbstractContextManager[None]:
        """Among the users of this object."""
        return self._hold(execution_id)

    def own_new(self, execution_id: str) -> AbstractContextManager[None]:
        return self.own(execution_id)

    def is_owned(self, execution_id: str) -> bool:
        return execution_id in self._owned

    def owned(self, names: Collection[str]) -> set[str]:
        return self._owned.intersection(names)

    def check_room(self, *, suspected: bool) -> None:
        """There always is some."""

    def hung(self, execution_id: str) -> str:
        """Nobody is known to."""
        return ""

    def taken_over(self) -> set[str]:
        """Who stands still here stands still with all others."""
        return set()

    def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    @contextmanager
    def _hold(self, execution_id: str) -> Iterator[None]:
        with self._lock:
            if execution_id in self._owned:
                raise Owned(f"execution {execution_id!r} is owned by this process already")
            self._owned.add(execution_id)
        try:
            yield
        finally:
            self._owned.discard(execution_id)

    def _missing(
        self, execution_id: str, expected: int, records: Sequence[tuple[str, bytes]]
    ) -> list[tuple[str, bytes]]:
        log, ids = self._logs[execution_id], self._ids[execution_id]

        def stored(event_id: str) -> tuple[int, bytes] | None:
            position = ids.get(event_id)
            return None if position is None else (position, log[position - 1].body)

        return missing(expected, len(log), records, stored)

    def _extend(self, execution_id: str, fresh: Sequence[tuple[str, bytes]]) -> None:
        log, ids = self._logs[execution_id], self._ids[execution_id]
        for event_id, body in fresh:
            log.append(Record(len(log) + 1, event_id, body))
            ids[event_id] = len(log)

    def _reach(self, point: str | None = None) -> None:
        if self._closed:
            raise StoreFailure("the store is closed")
        if point is not None and self._hook is not None:
            self._hook(point)
