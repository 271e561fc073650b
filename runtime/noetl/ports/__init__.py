"""The ports of the runtime: what server and worker need from the outside (store, bus, clocks, tools), as protocols.

Adapters implement these; only `noetl.app` knows which adapter stands behind which port. The contract suites
in `tests/contracts` say what every adapter must do.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from noetl.ports.catalogue import EVERY, PlanRow, Versions
from noetl.ports.idempotency import StartKey
from noetl.ports.mailbox import Mailbox
from noetl.ports.needs import HERE, Needs
from noetl.ports.places import PlaceRow
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.ports.purges import Purges
    from noetl.ports.queries import Condition, ExecutionAttribute
    from noetl_ir.plan_sources import SourcedPlan


class Conflict(Exception):
    """The log did not end where the writer expected, or an event id is there with another body."""


class Taken(Conflict):
    """Another execution was started with the same key. Holds its id, and the hash of the request that started it."""

    # The hash of the first request, so that whoever came second sees whether it asked for the same: then it is no
    # mistake.
    def __init__(self, execution_id: str, request: str) -> None:
        super().__init__(f"the key started execution {execution_id} already")
        self.execution_id = execution_id
        self.request = request


class StoreFailure(Exception):
    """The store could not do what was asked. The text says why, in plain words; the log says what is on disk.

    Whoever was writing stops: a commit that failed may still be found whole after a crash, so only reading
    the log again tells. Repeating the append is harmless either way.
    """


# Told apart, as a failure is tried again with longer and longer pauses, which for a refusal would last for ever.
class StoreRefused(StoreFailure):
    """The store will not do it, however often it is asked."""


# Checked in the transaction of the end: between a look at the inbox and the append a signal could come, and be lost.
class Unread(StoreRefused):
    """An execution is to end, and a signal came that it has not read. Nothing of the append is stored."""


class Over(StoreFailure):
    """An execution that has ended takes no signal any more."""


class Unpurgeable(StoreRefused):
    """An execution is not over, a child of it would be left without it, or a signal of the mailbox is on its way to it.
    Nothing is purged.
    """


class MailboxFull(StoreFailure):
    """As many signals are kept under a key as may be. Nothing is stored."""


class Damaged(StoreFailure):
    """The log of one execution is not what was written: an event was changed, or is missing. All others are whole.

    `what` says it without naming the store.
    """

    def __init__(self, store: str, what: str) -> None:
        super().__init__(f"{store}: {what}")
        self.what = what


class NoRoom(StoreFailure):
    """There is no room for what was to be written; there may be some later. `reason` says why, and names nothing."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class Owned(Exception):
    """Another live process owns the execution; the text names it where it is known."""


class Busy(Exception):
    """A server has more requests waiting than it takes; whoever asks tries again later."""


class Record(NamedTuple):
    """One event as the store keeps it. `event_id` is unique in its execution; `position` counts from 1."""

    position: int
    event_id: str
    body: bytes


STATUSES = ("running", "paused", "blocked", "failed", "cancelled", "completed")
"""The statuses of executions in a store."""


class ExecutionRow(NamedTuple):
    """The row of an execution in lists; kept in the same transaction as the events it sums up.

    `status` is one of `running paused completed failed cancelled blocked`; times are microseconds since the
    epoch; `rerun_of` is the execution whose log its own begins with; `error` the code of its failure.
    """

    execution_id: str
    playbook: str
    plan_digest: str
    status: str
    parent_execution_id: str | None
    started: int
    ended: int | None
    rerun_of: str | None = None
    error: str | None = None


# The position is what keeps two writers apart: ownership alone does not, as a process that stood still does not know
# that it has lost it.
class Append(NamedTuple):
    """Events that go behind position `expected` of a log, and how its execution stands once they are there.

    With `ended`, its inbox was read up to the row `read`: the execution does not end while a signal behind that is
    there; None ends it in any case. `error` is the code of its failure; `attributes` are all that it is found by then,
    `plan` the digest of the plan that it runs from then on, None where they stay.
    """

    execution_id: str
    expected: int
    records: Sequence[tuple[str, bytes]]
    status: str
    ended: int | None
    read: int | None = None
    error: str | None = None
    attributes: "tuple[ExecutionAttribute, ...] | None" = None
    plan: str | None = None


class Wanted(NamedTuple):
    """A filter of executions; an empty field filters nothing.

    - `status`; `parent`: the id of the caller; `open`: not over; `top`: called by none.
    - `text`: in the path, or at the beginning of the id; the case of ASCII letters does not matter.
    - `before`: only the rows behind that of this id; `limit`: at most so many rows, 0 for all.
    - `started_before`: microseconds since the epoch, 0 for any time; `rerun_of`: the execution that it is a rerun of.
    - `query`: whatever else is asked of them; all of it has to hold.
    """

    status: str = ""
    parent: str = ""
    open: bool = False
    before: str = ""
    limit: int = 0
    top: bool = False
    text: str = ""
    started_before: int = 0
    rerun_of: str = ""
    query: "Condition | None" = None


ALL = Wanted()


# A table of requests and no call to the owner: it may be another process, or none at this moment, and what is asked has
# to outlive both.
class InboxRow(NamedTuple):
    """A request from outside to the owner of an execution: `verb` is `cancel`, `pause`, `resume`, `signal`
    or `migrate`.

    Rows are never marked as read or removed: the event that a row led to names it, so the log tells how far the inbox
    was read. `at` is when the row was written (microseconds since the epoch, the store's clock); 0: not known.
    """

    row: int
    execution_id: str
    verb: str
    body: Json
    at: int = 0


class Store(Protocol):
    """The event log, append-only and idempotent on (execution_id, event_id), with the rows that go with it.

    Everything that returns is on disk. Everything but `own` and `is_owned` raises StoreFailure when it
    cannot.
    """

    # A process that was killed may leave half a line or a journal: what was never acknowledged is dropped, and said
    # once.
    dropped: str | None
    """What the process before left unfinished, and was dropped on opening, in words; None for nothing."""

    @property
    def mailbox(self) -> Mailbox: ...

    @property
    def purges(self) -> "Purges": ...

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: "Sequence[ExecutionAttribute]" = (),
    ) -> None:
        """Add an execution, with its first events, the key of its start, and what it is found by, in the same
        transaction.

        One that is there with the same playbook, plan and parent stays as it is; its events must be there
        too. Raises Conflict, and Taken where another execution has the key: then nothing is added.
        """
        ...

    # In the store, so that a server that takes an execution over knows the orders of the one before.
    def claims_key(self) -> bytes:
        """The random key (32 bytes) by which all servers of the store know their orders (`Macs`); made once."""
        ...

    def started_with(self, key: str) -> tuple[str, str] | None:
        """The id of the execution that was started with a key, and the hash of that request; None without one."""
        ...

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
        """Append at position `expected` + 1 in one durable transaction; returns the new last position.

        An equal repeat of an event that is there is skipped, and a batch of nothing but repeats changes
        nothing. With `ended` the execution may be nobody's from then on; for `read` see `Append`. Raises Conflict,
        Unread.
        """
        ...

    # A commit waits for the disk. Many executions that move at once share one.
    def append_all(self, appends: Sequence[Append]) -> None:
        """Several appends, each to the log of another execution, in one durable transaction: all of them, or none.

        What `append` says of repeats holds for each. Raises Conflict where one of them has it, and StoreRefused where
        one holds what cannot be kept.
        """
        ...

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        """The events behind position `after`, in order, a page at a time; none for an unknown execution.

        A damaged or missing event is a StoreFailure that names it, also at the end: the row of the execution has the
        number and the checksum of its events. A position behind the end of the log, from which a snapshot newer than
        the log would read on, is a Conflict.
        """
        ...

    def execution(self, execution_id: str) -> ExecutionRow | None: ...
    def executions(self, wanted: Wanted = ALL) -> tuple[ExecutionRow, ...]:
        """Executions, newest first; none behind a row that is not there."""
        ...

    def counts(self) -> dict[str, int]:
        """How many executions there are by status; a status that none has may be absent."""
        ...

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        """How many executions are wanted of each value of a group, `status`, `error`, `playbook` or the name of an
        attribute: those of most first, None for those without one. The `limit` is not looked at.
        """
        ...

    def attributes(self, execution_ids: Sequence[str]) -> "dict[str, tuple[ExecutionAttribute, ...]]":
        """The attributes of executions by name; without those that have none."""
        ...

    # Under one digest there is one plan for ever: a log names its plan by digest alone, and is folded with it years
    # later.
    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        """Keep a plan as the newest version of its playbook path, unless it is that already; returns the version. With
        it are kept the `sources` of it and of plans that it embeds, and these plans: all or nothing.

        Once a version of a path is `registered`, only what is registered is one: another plan is kept, and is none (0).
        Raises Conflict: its digest has other bytes.
        """
        ...

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        """Keep a plan for executions that ran it, with its `sources` as `put_plan` does; it is a version of its
        playbook path where that has none. Raises Conflict.
        """
        ...

    def plans(self, wanted: Versions = EVERY) -> tuple[PlanRow, ...]:
        """The catalogue, by path, the newest version first."""
        ...

    def plan_bytes(self, digest: str) -> bytes | None: ...
    def source(self, digest: str) -> bytes | None: ...
    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        """The digest and bytes of a version of a playbook path, of the newest when none is given."""
        ...

    # Sources that differ in what means nothing, as comments, have one plan: any of them explains it.
    def put_source(self, digest: str, text: bytes) -> None:
        """Keep the source that a plan of the store was compiled from, for people to read; the first one stays."""
        ...

    def without_source(self, digests: Sequence[str]) -> list[str]:
        """The plans among some, known here or not, of which there is no source."""
        ...

    # To verify a plan takes longer than to read it, and each process would do it anew. Sealed with the store's key, as
    # what is in a store is not trusted by itself.
    def vouch(self, digest: str, verifier: str) -> None:
        """Seal that the plan has passed the checks of that name (`noetl.app.verifier`)."""
        ...

    def vouches(self, digest: str, verifier: str) -> bool:
        """Whether the store has a valid seal of a plan for these checks."""
        ...

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        """Leave a request for the owner of an execution; returns its row. A second one with the same name in `once`
        adds nothing. Raises Over for a signal to an execution that has ended, checked in the same transaction.
        """
        ...

    # One number for all executions: an owner of a thousand would else ask a thousand times in each round.
    def posted(self) -> int:
        """The last row of the whole inbox, 0 for none: all that an owner has to poll."""
        ...

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        """The requests to an execution behind row `after`, oldest first."""
        ...

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        """The requests to all executions behind row `after`, oldest first."""
        ...

    def places(self) -> tuple[PlaceRow, ...]:
        """The places of executions that are not over, in the order in which they were asked for."""
        ...

    # The rules of places stand in one function of the server; a store only keeps two changes from meeting. It asks
    # again where another came first, so `work` has no effects.
    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        """Look at these places and change them, in one durable transaction that no other change comes between.

        What `work` returns replaces the place of the same key and execution, or comes behind all others. It may be
        asked more than once.
        """
        ...

    def own(self, execution_id: str) -> AbstractContextManager[None]:
        """Hold the one ownership of an execution while inside; entering raises Owned while another has it.

        It ends with the process, however that ends, and when the process stands still for 8 s and another one wants
        it: from then on appends of the one before are refused with Conflict.
        """
        ...

    # Nobody else can want an execution whose id is not known yet: its lock need not be on disk before its events are.
    def own_new(self, execution_id: str) -> AbstractContextManager[None]:
        """`own` of an execution that nobody knows yet: at the latest `create` makes it this process's."""
        ...

    def is_owned(self, execution_id: str) -> bool:
        """Whether somebody, this process included, owns the execution at this moment."""
        ...

    # Of many at once: a page of executions asks, and each question to a database takes its way.
    def owned(self, names: Collection[str]) -> set[str]:
        """The executions among some that somebody owns."""
        ...

    def hung(self, execution_id: str) -> str:
        """In words, who has the execution and stands still, and for how long; empty where nobody does."""
        ...

    def taken_over(self) -> set[str]:
        """The executions that others took while this process stood still and owned them; asked in every round."""
        ...

    def check_room(self, *, suspected: bool) -> None:
        """Raises NoRoom where there is none: by the figures of the disk, or where `suspected` by writing something."""
        ...

    def close(self) -> None: ...


class Blobs(Protocol):
    """Values kept outside the log. `put` is durable when it returns."""

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """Store bytes; returns their reference (`noetl_ir.outcome.reference`). Raises StoreFailure."""
        ...

    def get(self, reference: Mapping[str, Json]) -> bytes:
        """The bytes of a reference, checked against its checksum; KeyError when they are gone or altered."""
        ...

    def check_room(self, *, suspected: bool) -> None:
        """`Store.check_room` for blobs."""
        ...

    def close(self) -> None: ...


@runtime_checkable
# Apart from `Blobs`: a store elsewhere (the API of a server) keeps blobs, and is not this process's to look through.
class Collectable(Protocol):
    """Blobs that the collector can look through. A `folder` holds those of one execution; `names` are checksums."""

    def uncollected(self, after: str, limit: int) -> Sequence[str]:
        """At most `limit` folders behind `after`, in order, that something was put into since they were collected."""
        ...

    def names(self, folder: str) -> set[str]:
        """The names of the values in a folder."""
        ...

    def content(self, folder: str, name: str) -> bytes:
        """The bytes of a blob, unchecked; KeyError where it is gone."""
        ...

    def collect(self, folder: str, names: Collection[str]) -> int:
        """Remove blobs and unfinished files, and note that the folder was collected; returns the bytes removed."""
        ...


Hook: TypeAlias = Callable[[str], None]
"""Called at the named fault points of an adapter (its `FAULT_POINTS`); what it raises is raised there."""


class Clock(Protocol):
    """Time in microseconds since the epoch; of a monotonic one since some moment."""

    def now(self) -> int: ...


# Values, and no object of the worker: tools of plugins get one, too, and hold nothing of the pipeline but `needs`.
class ToolCall(NamedTuple):
    """One attempt at a task, fully rendered.

    - `timeout`: seconds, None for none; `fields`: may hold secret values.
    - `action_id`: the same for all attempts of a task run (LANGUAGE §8); empty where the kind has no effects.
    - `run`: counts the step's runs from 1, as in scripts and task output (`ordinal` of the order); `path`: the loop
      indices, outermost first; `visit`: counts arrivals at the task in its run; `iterators`:
      those of the step's loops, innermost first; `claim`: that of its order.
    - `folder`: the folder of the playbook's file relative to the root, empty where it is not known.
    - `holds_secret`: whether a keychain value is in the fields; `origin`: the only origin that its secrets may go to,
      empty for the first request that takes any along.
    - `run_key`, `task_number`: the token key of its run and the number of its task, as events have them; `trace_id`:
      that of its order.
    - `mac`: the code of its output (`noetl_ir.orders.output_code`), empty beside a server.
    - `needs`: the needs of its pipeline. Reading `scope` may raise Absent, so tools read it by way of `Env.met`.
    """

    execution_id: str
    step: str
    task: str
    kind: str
    fields: dict[str, Json]
    args: dict[str, Json]
    knobs: dict[str, Json]
    timeout: Json
    action_id: str
    attempt: int
    scope: Mapping[str, Json]
    run: int = 1
    path: tuple[int, ...] = ()
    visit: int = 1
    folder: str = ""
    iterators: tuple[str, ...] = ()
    holds_secret: bool = False
    origin: str = ""
    needs: Needs = HERE
    claim: int = 0
    mac: str = ""
    run_key: str = ""
    task_number: int = -1
    trace_id: str = ""


_T = TypeVar("_T")

Fence: TypeAlias = Callable[[str], str | None]
"""Says why no connection may be made to an IP address; None when one may."""


# What a tool needs of the world comes through here alone, so that a test can give it another one and nothing is reached
# by import.
class Env(Protocol):
    """The environment that a tool may use."""

    async def credential(self, name: str) -> dict[str, Json]:
        """The fields of a keychain entry, else of the credential store; raises KeyError with a clear text."""
        ...

    async def met(self, compute: Callable[[], _T]) -> _T:
        """The result of a computation that reads the call's `scope`, once the values are here that it reads there."""
        ...

    def traceparent(self) -> str:
        """The header `traceparent` (W3C Trace Context) of what the call sends; empty where nothing is traced."""
        ...

    def root(self) -> str: ...  # the folder that relative paths of tools stay inside

    def fence(self) -> Fence | None:
        """The fence that addresses are held against before they are connected to; None where every one may be."""
        ...

    def may_install(self) -> bool: ...  # whether the operator allows packages to be installed for python tasks

    def holds_secret(self, text: str) -> bool: ...  # whether a known secret of the execution is in it, in any form

    def stored(self, reference: Mapping[str, Json]) -> Json:
        """The result of this execution that a reference stands for; raises KeyError with a clear text, Absent."""
        ...

    def log(self, text: str) -> None:
        """Write a line to the task's output (never to the event log)."""
        ...

    def output(self, stream: str, data: bytes, *, told: bool = False) -> None:
        """Take what a program writes to `stdout` or `stderr`, as it comes; nothing where that has ended. What is `told`
        is shown to whoever watches the run, too.
        """
        ...


class InvalidFields(Exception):
    """The fields of a task ask for what its kind cannot do; the text says what. The outcome is `fields.invalid`."""


class Tool(Protocol):
    """The implementation of a kind: one module per kind, `noetl/tools/<kind>.py`, exporting `run`."""

    async def __call__(self, call: ToolCall, env: Env) -> Outcome: ...
