"""The check of a store: whether all that it keeps is there, is what was written, and belongs to something.

Logs are read to their ends, each event by its checksum; values that they name, and those that these name, by theirs;
plans by their digests. Asked to, it replays each log against its plan. Nothing is changed.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress

from noetl.app.collecting import AFTER
from noetl.app.documents import verdict_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution
from noetl.engine.identities import milliseconds_of
from noetl.host.confined_files import file_name_of
from noetl.ports import Collectable, ExecutionRow, Owned, StoreFailure, Wanted
from noetl.ports.maintenance import Maintained
from noetl.ports.purges import Removable
from noetl_ir.codec import CodecError
from noetl_ir.events import read_event
from noetl_ir.plan_format import PlanError, digest_of
from noetl_ir.records import NamedTuple

LAST = "playbook.processed"
"""The last event of an execution that is over."""

_PAGE = 500
_KEY = re.compile(rb"([^\x00-\x20\"'/\\]{1,100})/([0-9a-f]{64})")


class StoreFault(NamedTuple):
    """A fault: of an execution by its id, of the database where that is empty."""

    execution_id: str
    what: str


class StoreCount(NamedTuple):
    """How much was looked at: executions, their events, and values outside of logs."""

    executions: int = 0
    events: int = 0
    values: int = 0


class StoreCheck:
    """A check of a store. `count` grows as it goes on; with `replays` each log is held against its plan, too."""

    def __init__(self, runtime: Runtime, *, replays: bool = False) -> None:
        self._runtime = runtime
        self._replays = replays
        self._plans: dict[str, str] = {}
        self.count = StoreCount()

    def faults(self) -> Iterator[StoreFault]:
        """The faults, as they are found: first those of the database, then by execution, the newest first."""
        store, wanted = self._runtime.store, Wanted(limit=_PAGE)
        if isinstance(store, Maintained):
            for text in store.maintenance.integrity():
                yield StoreFault("", text)
        while page := store.executions(wanted):
            for row in page:
                for text in self._wrong(row):
                    yield StoreFault(row.execution_id, text)
            wanted = wanted._replace(before=page[-1].execution_id)

    def _wrong(self, row: ExecutionRow) -> Iterator[str]:
        named, last, there = set[str](), b"", self._values_of(row)
        try:
            for record in self._runtime.store.read(row.execution_id):
                last = record.body
                named |= _named(record.body, file_name_of(row.execution_id))
                self.count = self.count._replace(events=self.count.events + 1)
            if row.ended is not None and (not last or read_event(last).event_type != LAST):
                yield f"it is {row.status}, and its log does not say that it is over"
        except (StoreFailure, CodecError) as problem:
            yield str(problem)
        yield from self._lost(row, named, there)
        if wrong := self._plan_of(row.plan_digest):
            yield wrong
        elif self._replays:
            yield from self._illegal(row)
        self.count = self.count._replace(executions=self.count.executions + 1)

    def _values_of(self, row: ExecutionRow) -> set[str] | None:
        """The values of an execution; None where nobody can list them."""
        blobs = self._runtime.blobs
        return blobs.names(file_name_of(row.execution_id)) if isinstance(blobs, Collectable) else None

    def _lost(self, row: ExecutionRow, named: set[str], there: set[str] | None) -> Iterator[str]:
        """The values that are gone or altered, of those that are named by the log or by one that it names."""
        blobs, folder, seen = self._runtime.blobs, file_name_of(row.execution_id), set[str]()
        if there is None or not isinstance(blobs, Collectable):
            return
        while fresh := named - seen:
            seen |= fresh
            for name in sorted(fresh):
                self.count = self.count._replace(values=self.count.values + 1)
                if name not in there:
                    yield f"a value that its log names is gone: {name}"
                    continue
                data = blobs.content(folder, name)
                if hashlib.sha256(data).hexdigest() != name:
                    yield f"a value that its log names was altered: {name}"
                named = named | _named(data, folder)

    def _plan_of(self, digest: str) -> str:
        """The fault of a plan; empty for none. Each is looked at once."""
        if digest not in self._plans:
            data = self._runtime.store.plan_bytes(digest)
            try:
                is_whole = data is not None and digest_of(data) == digest
            except PlanError:
                is_whole = False
            wrong = f"its plan {digest} is gone" if data is None else f"its plan {digest} was altered"
            self._plans[digest] = "" if is_whole else wrong
        return self._plans[digest]

    def _illegal(self, row: ExecutionRow) -> Iterator[str]:
        try:
            _, verdict = verdict_of(self._runtime, row)
        except (UnreadableExecution, StoreFailure) as problem:
            yield str(problem)
            return
        if verdict.wrong is not None:
            yield f"its log is no run of its plan: event {verdict.wrong[0]}: {verdict.wrong[1]}"


def _named(data: bytes, folder: str) -> set[str]:
    """The values of a folder that some bytes name."""
    mine = folder.encode()
    return {name.decode() for under, name in _KEY.findall(data) if under.endswith(mine)}


class NeverBegan(NamedTuple):
    """How many executions that never began had values, and how many bytes these had."""

    executions: int = 0
    size: int = 0


def remove_never_begun(runtime: Runtime, now: int) -> NeverBegan:
    """Remove the values of executions that never began, as those of a rerun whose process died before its log was on
    disk. One whose id is not yet an hour old may begin still, and an id that tells no age is left alone. `now` is in
    microseconds. Raises StoreFailure.
    """
    found = NeverBegan()
    for name in leftovers(runtime):
        drawn = milliseconds_of(name)
        if drawn is None or now - drawn * 1_000 < AFTER or not isinstance(runtime.blobs, Removable):
            continue
        # A restore stores values before the log that names them, and owns the execution meanwhile.
        with suppress(Owned), runtime.store.own(name):
            if runtime.store.execution(name) is None:
                found = NeverBegan(found.executions + 1, found.size + runtime.blobs.remove(name))
    return found


def leftovers(runtime: Runtime) -> tuple[str, ...]:
    """Folders of values whose execution the store does not know; another store may."""
    blobs, folder, found = runtime.blobs, "", list[str]()
    if not isinstance(blobs, Collectable):
        return ()
    known = set(runtime.store.purges.purged())
    while page := blobs.uncollected(folder, _PAGE):
        folder = page[-1]
        found += [name for name in page if name not in known and runtime.store.execution(name) is None]
    return tuple(found)
