"""The wall clock of a machine is set by an hour while something waits."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.running import compiled
from harness.serving import Served, served, until
from noetl.app import clock
from noetl.engine.replay import replay
from noetl.engine.starting import Request

HOUR = 3600 * 1_000_000
RETRY = (
    "{policy: {rules: [{when: '{{ outcome.error }}', then: {do: retry, attempts: 2, delay: 1.5}},"
    " {else: {then: {do: break}}}]}}"
)
WAITS = {
    "arc": "- {step: start, tool: {kind: noop}, next: {arcs: [{step: last, spec: {delay: 1.5}}]}}",
    "retry": f"- {{step: start, tool: {{name: t, kind: shell, command: 'exit 3', spec: {RETRY}}},"
    " next: {arcs: [{step: last, when: '{{ event.error }}'}]}}",
    "timer": "- {step: start, tool: {kind: wait, timers: {t: 1.5s}}, next: {arcs: [{step: last}]}}",
    "parked": "- {step: start, tool: {name: t, kind: wait, events: [never], spec: {timeout: 1.5}},"
    " next: {arcs: [{step: last, when: '{{ event.error }}'}]}}",
    "step": "- {step: start, tool: {kind: wait, events: [never]}, spec: {policy: {lifecycle: {timeout_s: 1.5}}},"
    " next: {arcs: [{step: last, when: '{{ event.error }}'}]}}",
}  # fmt: skip
BEGINS = {"arc": "next.selected", "retry": "retry.started"}
"""The event that the wait begins with, where it is not `task.started`."""

Step = Callable[[int], None]


@pytest.fixture
def set_by(monkeypatch: pytest.MonkeyPatch) -> Step:
    """Sets the wall clock of every part of this process by so many microseconds."""
    ahead = [0]
    monkeypatch.setattr(clock.WallClock, "now", lambda _: time.time_ns() // 1000 + ahead[0])

    def by(step: int) -> None:
        ahead[0] += step

    return by


def begun(server: Served, body: str) -> None:
    program = server.runtime.programs.add_plan(
        compiled(f"\nworkflow:\n{body}\n- {{step: last, tool: {{kind: noop}}}}\n")
    )
    server.service.do(lambda control: control.own_and_start(program, "e1", Request({}))).result(10)


def stands(server: Served) -> str:
    row = server.runtime.store.execution("e1")
    return "" if row is None else row.status


@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["forward", "back"])
@pytest.mark.parametrize("kind", WAITS)
def test_what_waits_waits_as_long_as_it_was_to(tmp_path: Path, kind: str, step: int, set_by: Step) -> None:
    with served(tmp_path) as server:
        began = time.monotonic()
        begun(server, WAITS[kind])
        until(
            lambda: any(
                event.event_type == BEGINS.get(kind, "task.started") for _, event in server.runtime.events("e1")
            )
        )
        time.sleep(0.3)
        set_by(step)
        until(lambda: stands(server) == "completed")
        took = time.monotonic() - began
        assert took > 1.4, f"{took} s"  # with the clock set back it would be an hour
        log = [event for _, event in server.runtime.events("e1")]
        verdict = replay(server.runtime.program_of("e1"), "e1", iter(log))
        assert verdict.wrong is None, verdict.wrong


def test_after_a_restart_the_due_time_in_the_log_holds(tmp_path: Path, set_by: Step) -> None:
    with served(tmp_path) as server:
        begun(server, "- {step: start, tool: {kind: wait, timers: {t: 1h}}, next: {arcs: [{step: last}]}}")
        until(lambda: any(event.event_type == "task.started" for _, event in server.runtime.events("e1")))
        set_by(HOUR)
        time.sleep(0.5)
        assert stands(server) == "running"
    with served(tmp_path) as server:
        until(lambda: stands(server) == "completed")


@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["forward", "back"])
def test_how_long_an_attempt_took_is_what_it_took(tmp_path: Path, step: int, set_by: Step) -> None:
    with served(tmp_path) as server:
        begun(server, "- {step: start, tool: {name: t, kind: shell, command: 'sleep 1'}, next: {arcs: [{step: last}]}}")
        until(lambda: any(event.event_type == "task.started" for _, event in server.runtime.events("e1")))
        time.sleep(0.2)
        set_by(step)
        until(lambda: stands(server) == "completed")
        (done, *_) = [event for _, event in server.runtime.events("e1") if event.event_type == "task.done"]
        outcome = done.data["outcome"]
        assert isinstance(outcome, dict) and isinstance(meta := outcome["meta"], dict)
        # By the clock that was set it would be an hour.
        assert isinstance(took := meta["duration"], float) and 0.9 < took < 1_800
