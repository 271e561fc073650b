"""What the API asks of the server behind it. Every method may be called from any thread, and blocks; a start gives what
is waited for without one."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from noetl.catalogue import Versions
from noetl.ports import Record, StartKey, Wanted
from noetl.server.service import Standing
from noetl_ir.commands import Presence
from noetl_ir.expr import Json
from noetl_ir.rows import NamedTuple


class Unknown(Exception):
    """Nothing has the name or number that was asked for. The text says what is not there."""


class Refused(Exception):
    """It was understood and cannot be done. The text says why."""


class Faulty(Exception):
    """A playbook or plan that does not compile or load. The text has the findings."""


class Start(NamedTuple):
    """Which plan to run: by `digest`, or the newest under `path`, or its version there; and with what.

    All starts with one `key` are one; without a key each is its own.
    """

    digest: str
    path: str
    version: int | None
    payload: dict[str, Json]
    key: StartKey | None = None


class Begun(NamedTuple):
    """The execution that a start gave; `fresh` where it did not give it before."""

    execution_id: str
    fresh: bool = True


class Prepared(NamedTuple):
    """A start that can be made. `lacking` is what of its secrets cannot be had, once that is known, a sentence each;
    `begin` gives the new execution, once its first events are on disk; `warnings` is what is strange about the request.
    """

    lacking: Future[tuple[str, ...]]
    begin: Callable[[], Future[Begun]]
    warnings: tuple[str, ...] = ()


class Desk(Protocol):
    """The operations of the API. Raises Unknown, Refused, Faulty, StoreFailure, Busy."""

    def standing(self) -> Standing: ...

    def counts(self) -> dict[str, int]:
        """How many executions stand how."""
        ...

    def executions(self, wanted: Wanted) -> list[dict[str, Json]]: ...

    def row(self, execution_id: str) -> dict[str, Json]:
        """What lists show of an execution."""
        ...

    def execution(self, execution_id: str) -> dict[str, Json]:
        """How it stands, what it does now and waits for."""
        ...

    def ctx(self, execution_id: str) -> dict[str, Json]: ...

    def result(self, execution_id: str, step: str) -> Json:
        """The result of a step's latest success, of the last step when `step` is empty; references followed."""
        ...

    def replay(self, execution_id: str) -> dict[str, Json]:
        """Whether its log is a legal run of its plan, and the state it leads to."""
        ...

    def events(self, execution_id: str, after: int, limit: int) -> list[dict[str, Json]]:
        """Envelopes behind a position."""
        ...

    def log(self, execution_id: str, after: int, limit: int) -> Sequence[Record]:
        """The same as stored, for those who fold them."""
        ...

    def is_over(self, execution_id: str) -> bool: ...

    def ask(self, execution_id: str, verb: str, body: Json) -> None:
        """Cancel, pause, resume or signal."""
        ...

    def retry_fault(self, execution_id: str) -> None:
        """Go on with an execution that a mistake of the engine ended. Raises Unknown, Refused."""
        ...

    def prepare(self, start: Start) -> Prepared:
        """All that a start needs, but for the start itself."""
        ...

    def register(self, data: bytes, name: str) -> dict[str, Json]:
        """Keep a plan, or compile a playbook and keep its plan; the row of the catalogue."""
        ...

    def playbooks(self, wanted: Versions) -> list[dict[str, Json]]:
        """The catalogue, by path, the newest version first."""
        ...

    def plan(self, digest: str) -> bytes: ...

    def plan_at(self, path: str, version: int | None) -> tuple[str, bytes]:
        """The digest and bytes of a version of a path, the newest when none is given."""
        ...

    def blob(self, reference: Mapping[str, Json]) -> bytes: ...

    def check_open(self, execution_id: str) -> None:
        """Raises Unknown, and Refused where the execution is over."""
        ...

    def put_blob(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """Keep a value of an execution that is not over outside of its log; its reference.

        Nothing else comes of it: it is found by its hash, and a report that counts has to name it.
        """
        ...

    def workers(self, after: str, limit: int) -> list[dict[str, Json]]:
        """Those whose names come behind one, by name."""
        ...

    def crew(self) -> Sequence[Presence]:
        """All workers, as they say of themselves."""
        ...

    def drain(self, worker: str) -> None:
        """Have a worker take no more, finish what it has, and end."""
        ...

    def stop(self) -> None:
        """Begin nothing new, let what is in flight finish, then end."""
        ...

    def listen(self, execution_id: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, from any thread, after events of an execution were written; returns what ends it."""
        ...
