"""Watchers of executions: what goes wrong with them is said, and ends nothing."""

import io
from typing import Any

import pytest

from harness.running import compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.cli.live import Live
from noetl.engine.starting import Request
from noetl.server.bulkhead import Watchers
from noetl.worker.scripted import read_script

CHAIN = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: two}]}}
  - {step: two, tool: {kind: noop, result: 7}}
"""


def _no_compiler(path: object) -> bytes:
    raise AssertionError(path)


def test_an_execution_goes_on_though_who_watches_it_breaks() -> None:
    said, seen = list[str](), list[str]()

    def observe(execution: Any, program: Any, event: Any) -> None:
        seen.append(event.event_type)
        raise KeyError("a value of the run")

    with open_runtime("memory:///x", Settings(script=read_script({})), _no_compiler) as runtime:
        program = runtime.programs.add_plan(compiled(CHAIN))
        with driver_of(runtime, "e1", observe) as driver:
            driver.control._watchers = Watchers(observe, said.append)
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "completed"
    assert "step.done" in seen and seen.count("step.done") == 2, "and is told all"
    (line,) = said  # once for each place in the code
    assert "execution e1 goes on" in line and "KeyError" in line and "a value of the run" not in line


def test_a_terminal_says_that_it_cannot_show_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*_: object) -> Any:
        raise KeyError("4")

    monkeypatch.setattr("noetl.cli.live.rows_of", rows)
    monkeypatch.setattr("noetl.cli.live.SECONDS", 0.0)
    shown = io.StringIO()
    live = Live(shown)
    with open_runtime("memory:///x", Settings(script=read_script({})), _no_compiler) as runtime:
        program = runtime.programs.add_plan(compiled(CHAIN))
        with driver_of(runtime, "e1", live.observe) as driver:
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "completed"
            live.tick()
    live.close()
    assert "what goes on now cannot be shown (KeyError): please report" in shown.getvalue()
