"""On going on, due timers and signals are taken in one order: by due time and by when the store had the signal."""

from typing import Any

import pytest

from harness.invariants import check
from harness.running import MEMORY, compiled, run
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.ports import ExecutionRow
from noetl.server.execution import Ask
from noetl.worker.scripted import read_script
from noetl_ir.events import write_event

SECOND = 1_000_000
WAIT = """
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go], timers: {soon: 2, late: 6}}}
"""
TWO = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, tool: {name: w, kind: wait, events: [go], timers: {soon: 2}}}
  - {step: b, tool: {name: v, kind: wait, events: [go, stop], timers: {late: 9}}}
"""
LOOP = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: x, spec: {mode: parallel, complete: {events: [stop]}}}
    tool: {kind: wait, events: [go]}
    next: {arcs: [{step: b}]}
  - {step: b, tool: {name: v, kind: wait, events: [go], timers: {late: 9}}}
"""


def ends(log: list[Any]) -> list[tuple[str, Any]]:
    """The causes that ended the waits, in log order: a signal's data, or the name of a timer."""
    found: list[tuple[str, Any]] = []
    for event in log:
        if event.event_type == "token.claimed":
            found.append(("signal", event.data["outcome"]["result"]["data"]))
        if event.event_type == "timer.fired":
            found.append(("timer", event.data["timer"].split()[-1]))
    return found


def went_on(text: str, signals: list[tuple[float, str]], *, recorded: bool) -> list[tuple[str, Any]]:
    """Pause at 0.5 s, send signals, and go on at 10 s; `recorded`: a process records them as they come."""
    paused = run(text, at={0.5: "pause"})
    assert paused.status == "paused"
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(text))
        store: Any = runtime.store
        records = [(event.event_id, write_event(event)) for event in paused.log]
        store.create(ExecutionRow("e1", "t/t", program.digest, "paused", None, 0, None), records)
        for number, (seconds, name) in enumerate(signals):
            body: Any = {"name": name, "data": number}
            at = round(seconds * SECOND)
            if recorded:
                with driver_of(runtime, "e1", lambda *_: None) as driver:
                    driver.embedded._parts.clock.move_to(at)  # type: ignore[attr-defined]
                    driver.control.open("e1", program)
                    driver.control.ask("e1", Ask("signal", None, body))
            else:
                store._now = lambda at=at: at
                store.post("e1", "signal", body)
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            driver.embedded._parts.clock.move_to(10 * SECOND)  # type: ignore[attr-defined]
            assert driver.embedded.resume(program, "e1") == "completed"
            log = [event for _, event in runtime.events("e1")]
            check(program, log, driver.execution)
            return ends(log)


@pytest.mark.parametrize("recorded", [False, True], ids=["posted", "recorded"])
@pytest.mark.parametrize(
    ("text", "signals", "expected"),
    [
        (WAIT, [(1, "go")], [("signal", 0)]),
        (WAIT, [(2, "go")], [("timer", "soon")]),
        (WAIT, [(3, "go")], [("timer", "soon")]),
        # What came at 3 finds its first wait over by its timer, and goes to the second; at 9 nothing came.
        (TWO, [(3, "go")], [("timer", "soon"), ("signal", 0)]),
        (TWO, [(1, "stop"), (3, "go")], [("signal", 0), ("timer", "soon")]),
        (TWO, [(1, "go"), (3, "go")], [("signal", 0), ("signal", 1)]),
        (TWO, [(1, "go"), (9, "go")], [("signal", 0), ("timer", "late")]),
        # A wait in a loop that is over listens no more, though it has not been stopped yet.
        (LOOP, [(1, "stop"), (3, "go")], [("signal", 1)]),
    ],
)
def test_what_was_due_and_what_came_is_taken_in_one_order(
    text: str, signals: list[tuple[float, str]], expected: list[Any], recorded: bool
) -> None:
    assert went_on(text, signals, recorded=recorded) == expected
