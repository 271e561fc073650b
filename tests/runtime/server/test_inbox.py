"""Requests from outside are rows of an inbox; the log says up to which row they were answered."""

from pathlib import Path

from harness.running import compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.program import Program
from noetl.engine.starting import Request

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
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: b"") as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        assert started(runtime, program, "pause", "pause") == "paused"
        assert resumed(runtime, program) == "completed"
        rows = [event.data.get("row") for _, event in runtime.events("e1") if event.event_type == "playbook.paused"]
        assert rows == [1, 2]


def test_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    with open_runtime(f"sqlite:///{tmp_path / 'x.db'}", Settings(root=tmp_path), lambda path: b"") as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        assert started(runtime, program, "pause", "resume", "resume", "cancel", "resume") == "cancelled"
        names = [event.event_type for _, event in runtime.events("e1")]
        assert [name for name in names if name.startswith("playbook.")][2:] == [
            "playbook.paused", "playbook.resumed", "playbook.resumed", "playbook.cancelled", "playbook.processed"
        ]  # fmt: skip
        assert resumed(runtime, program) == "cancelled"
