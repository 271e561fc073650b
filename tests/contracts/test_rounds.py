"""Mishaps of one execution in a round are felt by no other, whichever store has their turns in one transaction."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from harness.running import compiled
from noetl.app.clock import SteadyClock, WallClock
from noetl.app.programs import program_of
from noetl.app.task_environment import TaskEnvironments
from noetl.bus.memory import MemoryBus
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Append, Conflict, Store, StoreFailure, StoreRefused
from noetl.server.control import ControlPlane
from noetl.server.execution import OwnedExecution
from noetl.server.journal import BEFORE_EFFECTS, EVERY_ROUND, Batching
from noetl.server.workers.tracker import DEFAULT_POOL, LocalWorkers
from noetl.store.memory import MemoryBlobs
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker
from noetl_ir.orders import Answer, Order, Said

NAMES = [f"r{number}" for number in range(8)]
WRONG = "r3"
STEPS = 12
TEXT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t, path: t/t}
workflow:
""" + "".join(
    f"  - {{step: {'start' if n == 0 else f's{n}'}, tool: {{kind: noop, result: {n}}}"
    + (f", next: {{arcs: [{{step: s{n + 1}}}]}}" if n + 1 < STEPS else "")
    + "}\n"
    for n in range(STEPS)
)
Open = Callable[..., Store]


class Watched:
    """A store whose appends are counted, and of which one execution's may be kept away."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.transactions = 0
        self.is_wrong: Callable[[Append], bool] = lambda append: False

    def append_all(self, appends: Sequence[Append]) -> None:
        """`Store.append_all`."""
        self.transactions += 1
        if any(map(self.is_wrong, appends)):
            raise StoreRefused("it has what cannot be stored")
        self._store.append_all(appends)

    def append(self, execution_id: str, expected: int, records: Any, **more: Any) -> int:
        """`Store.append`."""
        self.transactions += 1
        if self.is_wrong(Append(execution_id, expected, records, **more)):
            raise StoreRefused("it has what cannot be stored")
        return self._store.append(execution_id, expected, records, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Driven:
    """Eight executions that are driven in one process."""

    def __init__(self, store: Store, batching: Batching) -> None:
        self.store = Watched(store)
        self.program: Program = program_of(compiled(TEXT))
        self.said: list[str] = []
        steady = SteadyClock()
        bus: MemoryBus[Order, Said, Answer] = MemoryBus()
        blobs = MemoryBlobs()
        self.control = ControlPlane(
            bus, store=self.store, blobs=blobs, clock=WallClock(), steady=steady, tracker=LocalWorkers(DEFAULT_POOL),
            find=lambda caller, path: self.program, load=lambda digest: self.program, observe=lambda *_: None,
            say=self.said.append, batching=batching,
        )  # fmt: skip
        environments = TaskEnvironments(
            lambda digest, needs: self.program,
            lambda needs: blobs,
            root=".",
            secrets_path="/nonexistent",
            chance=lambda: 0.5,
            log=lambda call, text: None,
        )
        self.worker = Worker(
            bus, pool=DEFAULT_POOL, slots=8, launcher=AsyncLauncher(environments.env_of, steady),
            program_of=environments.program_of, context_of=environments.context_of, clock=WallClock(), steady=steady,
        )  # fmt: skip
        self.conflicts: list[str] = []
        for name in NAMES:
            self.control.own_and_start(self.program, name, Request({}))

    def go(self, rounds: int) -> None:
        """So many rounds, or until nothing moves."""
        for _ in range(rounds):
            try:
                did = self.control.step()
            except Conflict as problem:
                self.conflicts.append(str(problem))
                did = True
            if not (self.worker.step() or did):
                self.control.settle()
                break

    def statuses(self) -> dict[str, str]:
        """How each execution is listed."""
        rows = {name: self.store.execution(name) for name in NAMES}
        return {name: row.status for name, row in rows.items() if row}


@pytest.fixture(params=[EVERY_ROUND, BEFORE_EFFECTS], ids=["rounds", "before effects"])
def driven(request: pytest.FixtureRequest, open_store: Open) -> Iterator[Driven]:
    """Executions that have begun."""
    found = Driven(open_store(), request.param)
    yield found
    found.control.close()


OTHERS = {name: "completed" for name in NAMES if name != WRONG}


def test_a_round_is_one_transaction(driven: Driven) -> None:
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "completed"}
    assert driven.store.transactions <= 4 * STEPS, "eight executions cost as many as one does"


def test_a_log_that_somebody_else_extended_is_given_up_alone(driven: Driven, open_store: Open) -> None:
    driven.go(4)
    other, end = open_store(), sum(1 for _ in driven.store.read(WRONG))
    other.append(WRONG, end, [("another", b"")], status="running", ended=None)
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "running"}
    assert len(driven.conflicts) == 1 and WRONG not in driven.control.executions
    assert sum(1 for _ in driven.store.read(WRONG)) == end + 1


def test_what_is_never_stored_ends_its_own_execution_alone(driven: Driven) -> None:
    driven.go(4)
    driven.store.is_wrong = lambda append: (
        append.execution_id == WRONG and not any(b"engine.fault" in body for _, body in append.records)
    )
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "failed"}
    assert not driven.conflicts and any(WRONG in text for text in driven.said)


def test_one_whose_end_cannot_be_stored_either_is_given_up_alone(driven: Driven) -> None:
    driven.go(4)
    driven.store.is_wrong = lambda append: append.execution_id == WRONG
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "running"}
    assert WRONG not in driven.control.executions


def test_a_turn_that_raises_ends_its_own_execution_alone(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    take, turns = OwnedExecution.take, list[str]()

    def poisoned(self: OwnedExecution, *args: Any) -> Any:
        if self.execution.execution_id == WRONG and args[0]:
            turns.append(WRONG)
            if len(turns) == 3:
                raise ZeroDivisionError("a mistake of the engine")
        return take(self, *args)

    monkeypatch.setattr(OwnedExecution, "take", poisoned)
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "failed"}


def test_a_turn_that_is_too_large_for_a_round_has_a_transaction_of_its_own(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def look(append: Append) -> bool:
        seen.append(append.execution_id)
        return False

    monkeypatch.setattr("noetl.server.journal._MOST_BYTES", 1)
    driven.store.is_wrong = look
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "completed"}
    assert driven.store.transactions == len(seen), "each append is alone"


def test_a_store_that_fails_is_no_fault_of_an_execution(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    driven.go(4)

    def fail(*_: Any, **__: Any) -> Any:
        raise StoreFailure("the disk had a moment")

    with monkeypatch.context() as patch:
        patch.setattr(driven.store, "append_all", fail)
        patch.setattr(driven.store, "append", fail)
        with pytest.raises(StoreFailure, match="a moment"):
            driven.go(10_000)
            driven.control.settle()
    assert set(driven.statuses().values()) == {"running"}
    driven.worker.drop_all()
    driven.control.drop()  # as a service does: all of it is read again
    for name in NAMES:
        driven.control.take_up(name, driven.program)
    driven.go(10_000)
    assert driven.statuses() == OTHERS | {WRONG: "completed"}
