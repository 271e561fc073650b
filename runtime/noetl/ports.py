"""The ports of the runtime: what the shells need from the outside, as small protocols.

Adapters implement these; only `noetl.app` knows which adapter stands behind which port. The contract suites in
`tests/contracts` say what every adapter must do.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome


class Conflict(Exception):
    """The log did not end where the writer expected, or an event id is there with another body."""


class StoreFailure(Exception):
    """The store could not do what was asked; nothing of it took effect. The text says why, in plain words."""


class Owned(Exception):
    """Another live process owns the execution."""


class Record(NamedTuple):
    """One event as the store keeps it: its id, unique in its execution, and its bytes. `position` counts from 1."""

    position: int
    event_id: str
    body: bytes


class ExecutionRow(NamedTuple):
    """What lists show of an execution; kept in the same transaction as the events it sums up.

    `status` is one of `running paused completed failed cancelled blocked`; times are microseconds since the epoch.
    """

    execution_id: str
    playbook: str
    plan_digest: str
    status: str
    parent_execution_id: str | None
    started: int
    ended: int | None


class InboxRow(NamedTuple):
    """A request from outside to the owner of an execution: `verb` is `cancel`, `pause`, `resume` or `signal`."""

    row: int
    execution_id: str
    verb: str
    body: Json


class Store(Protocol):
    """The event log, append-only and idempotent on (execution_id, event_id), with the rows that go with it."""

    def create(self, row: ExecutionRow) -> None: ...

    def append(
        self, execution_id: str, expected: int, records: Sequence[tuple[str, bytes]], *, status: str, ended: int | None
    ) -> int:
        """Append at position `expected` + 1 in one durable transaction; returns the new last position.

        An equal repeat of an event that is there is skipped. Raises Conflict, StoreFailure.
        """
        ...

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]: ...

    def execution(self, execution_id: str) -> ExecutionRow | None: ...

    def executions(self) -> tuple[ExecutionRow, ...]:
        """All executions, newest first."""
        ...

    def put_plan(self, digest: str, path: str, data: bytes) -> None: ...

    def plan(self, digest: str) -> bytes | None: ...

    def plan_at(self, path: str) -> tuple[str, bytes] | None:
        """The digest and bytes of the plan stored last under a playbook path."""
        ...

    def post(self, execution_id: str, verb: str, body: Json) -> int: ...

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]: ...

    def own(self, execution_id: str) -> AbstractContextManager[None]:
        """Hold the one ownership of an execution; raises Owned while another live process has it."""
        ...

    def close(self) -> None: ...


class Blobs(Protocol):
    """Values kept outside the log. `put` is durable when it returns."""

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """Store bytes; returns their reference (`noetl_ir.outcome.reference`)."""
        ...

    def get(self, reference: Mapping[str, Json]) -> bytes:
        """The bytes of a reference, checked against its checksum; raises KeyError when they are gone or altered."""
        ...


class Clock(Protocol):
    """Time in microseconds since the epoch."""

    def now(self) -> int: ...


class Call(NamedTuple):
    """One attempt at a task, fully rendered. `timeout` in seconds, None for none; `fields` may hold secret values.

    `action_id` is the same for all attempts of a task run (LANGUAGE §8).
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


class Env(Protocol):
    """What a tool may use of its surroundings."""

    def credential(self, name: str) -> dict[str, Json]:
        """The fields of a keychain entry, else of the credential store; raises KeyError with a clear text."""
        ...

    def root(self) -> str:
        """The folder that relative paths of tools stay inside."""
        ...

    def log(self, text: str) -> None:
        """Write a line to the task's log (never to the event log)."""
        ...


class Tool(Protocol):
    """The implementation of a kind: one module per kind, `noetl/tools/<kind>.py`, exporting `run`."""

    async def __call__(self, call: Call, env: Env) -> Outcome: ...
