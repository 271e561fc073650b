"""Requests from outside are rows of an inbox; the log says up to which row they were answered."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.running import compiled
from noetl.app.clock import SteadyClock, WallClock
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.task_environment import TaskEnvironments
from noetl.bus.memory import MemoryBus
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.replay import replay
from noetl.engine.starting import Request
from noetl.server.control import ControlPlane
from noetl.server.workers.tracker import DEFAULT_POOL, LocalWorkers
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json
from noetl_ir.orders import Answer, Order, Said

TEXT = """
workflow:
  - {step: start, tool: [{name: a, kind: shell, command: "sleep 0.3"}, {name: b, kind: noop}]}
"""


def started(runtime: Runtime, program: Program, *verbs: str) -> str:
    """Start `e1`; somebody posts the verbs while its first task runs."""
    posted: list[int] = []

    def observe(execution: object, plan: object, event: object) -> None:
        if not posted and getattr(event, "event_type", "") == "task.started":
            posted.extend(runtime.store.post("e1", verb, None) for verb in verbs)

    with driver_of(runtime, "e1", observe) as driver:  # type: ignore[arg-type]
        return driver.embedded.start(program, "e1", Request({}))


def resumed(runtime: Runtime, program: Program) -> str:
    """Take `e1` up again."""
    with driver_of(runtime, "e1", lambda *_: None) as driver:
        return driver.embedded.resume(program, "e1")


def test_a_request_that_changes_nothing_is_answered_too(tmp_path: Path) -> None:
    """Else the second `pause` would be read again by the next owner, and would pause what was just resumed."""
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        assert started(runtime, program, "pause", "pause") == "paused"
        assert resumed(runtime, program) == "completed"
        rows = [event.data.get("row") for _, event in runtime.events("e1") if event.event_type == "playbook.paused"]
        assert rows == [1, 2]


def test_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        assert started(runtime, program, "pause", "resume", "resume", "cancel", "resume") == "cancelled"
        names = [event.event_type for _, event in runtime.events("e1")]
        assert [name for name in names if name.startswith("playbook.")][2:] == [
            "playbook.paused", "playbook.resumed", "playbook.resumed", "playbook.cancelled", "playbook.processed"
        ]  # fmt: skip
        assert resumed(runtime, program) == "cancelled"


def test_a_request_to_move_is_answered_in_its_turn(tmp_path: Path) -> None:
    """The log says up to which row all was read: were a later one answered first, a crash would lose the request."""
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        assert started(runtime, program, "pause", "migrate", "resume", "migrate", "pause") == "paused"
        rows = [(event.event_type, event.data["row"]) for _, event in runtime.events("e1") if "row" in event.data]
        assert rows == [
            ("playbook.paused", 1), ("migration.refused", 2), ("playbook.resumed", 3), ("migration.refused", 4),
            ("playbook.paused", 5),
        ]  # fmt: skip
        assert replay(program, "e1", [event for _, event in runtime.events("e1")]).wrong is None


class Slow:
    """A redactor that knows no secrets yet, and then one; `asked` counts how often it was asked."""

    def __init__(self) -> None:
        self.is_here = False
        self.asked = 0

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        self.asked += 1
        return self.is_here

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        assert self.is_here
        return json.loads(json.dumps(brought).replace("secret", "hidden"))  # type: ignore[no-any-return]

    def forget(self, execution_id: str) -> None:
        """Nothing is being fetched."""


class Refusing(Slow):
    """A redactor that can make no marker."""

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        return True

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        raise Fault("credential.missing", "no secret can be used")


WAITS = """
workflow:
  - {step: start, tool: [{name: a, kind: wait, events: [go]}, {name: b, kind: wait, events: [go]}]}
"""


@contextmanager
def controlled(runtime: Runtime, secrets: Slow) -> Iterator[tuple[ControlPlane, Callable[[], None]]]:
    """A control plane with a redactor, and a function that goes on until nothing moves."""
    program = runtime.programs.add_plan(compiled(WAITS))
    steady = SteadyClock()
    bus: MemoryBus[Order, Said, Answer] = MemoryBus()
    control = ControlPlane(
        bus, store=runtime.store, blobs=runtime.blobs, clock=WallClock(), steady=steady,
        tracker=LocalWorkers(DEFAULT_POOL), find=lambda caller, path: program, load=lambda digest: program,
        observe=lambda *_: None, secrets=secrets,
    )  # fmt: skip
    environments = TaskEnvironments(
        lambda digest, needs: program, lambda needs: runtime.blobs, root=".", secrets_path="/nonexistent",
        chance=lambda: 0.5, log=lambda call, text: None,
    )  # fmt: skip
    worker = Worker(
        bus, pool=DEFAULT_POOL, slots=8, launcher=AsyncLauncher(environments.env_of, steady),
        program_of=environments.program_of, context_of=environments.context_of, clock=WallClock(), steady=steady,
    )  # fmt: skip

    def go_on() -> None:
        time.sleep(0.06)  # the inbox is looked at every 50 ms
        while control.step() or worker.step():
            pass

    control.own_and_start(program, "e1", Request({}))
    go_on()
    yield control, go_on
    control.close()


def test_what_was_asked_waits_in_its_order_until_secrets_can_be_hidden(tmp_path: Path) -> None:
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        secrets = Slow()
        with controlled(runtime, secrets) as (control, go_on):
            for verb, body in [("signal", {"name": "go", "data": "a secret"}), ("pause", None), ("resume", None)]:
                runtime.store.post("e1", verb, body)
            go_on()
            runtime.store.post("e1", "signal", {"name": "go", "data": "another secret"})
            go_on()
            names = [event.event_type for _, event in runtime.events("e1")]
            assert "signal.received" not in names and "playbook.paused" not in names and secrets.asked >= 2
            assert control.next_due() is None, "nothing is asked again and again meanwhile"
            secrets.is_here = True
            go_on()
        log = [event for _, event in runtime.events("e1")]
        asked = ("signal.received", "playbook.paused", "playbook.resumed")
        found = [(event.event_type, event.data.get("data")) for event in log if event.event_type in asked]
        assert found == [
            ("signal.received", "a hidden"), ("playbook.paused", None), ("playbook.resumed", None),
            ("signal.received", "another hidden"),
        ]  # fmt: skip
        assert log[-1].event_type == "playbook.processed"


def test_a_signal_in_which_nothing_can_be_hidden_is_in_no_log_and_not_lost(tmp_path: Path) -> None:
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        with controlled(runtime, Refusing()) as (_, go_on):
            for data in ("a secret", "another secret"):
                runtime.store.post("e1", "signal", {"name": "go", "data": data})
            go_on()
        assert not any("secret" in repr(event) for _, event in runtime.events("e1"))
        row = runtime.store.execution("e1")
        assert row is not None and row.status == "failed"
        program = runtime.programs.load(row.plan_digest)
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.resume(program, "e1", retry_fault=True) == "completed"
        log = [event for _, event in runtime.events("e1")]
        found = [event.data["data"] for event in log if event.event_type == "signal.received"]
        assert found == ["a secret", "another secret"], "this playbook names no secret"
