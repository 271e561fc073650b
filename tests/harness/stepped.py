"""`noetl` with a clock that stands until a test moves it, and tools that a script stands in for.

`python -m harness.stepped WORDS…` is a server or worker process in the folder of a `Stage`. Times of the log are those
of its clock; leases, and whatever else waits between processes, go by the monotonic clock as ever.
"""

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from noetl.app import composition, idle
from noetl.app.clock import SteadyClock, WallClock
from noetl.app.task_environment import TaskEnvironments
from noetl.cli import main
from noetl.engine.program import Program
from noetl.ports import Clock, Env, ToolCall
from noetl.ports.needs import Needs
from noetl.server import inbox
from noetl.worker import launcher
from noetl.worker.output import OutputWriter
from noetl.worker.scripted import ScriptedLauncher, VirtualClock, read_script
from noetl.worker.session import SessionContext
from noetl_ir.orders import RunPipeline
from noetl_ir.outcome import Outcome

CLOCK = "clock"
LOOKS_EVERY = 0.01
"""Seconds that a process sleeps at most, so that it soon sees that time has moved."""

_roots: dict[str, str] = {}
"""The outermost caller of each execution that an order came for."""


class Stage:
    """A folder with a clock, at 0, and the scripts of executions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.move_to(0)

    def move_to(self, time: int) -> None:
        """Let it be that time, in microseconds."""
        file = self._folder / f"{CLOCK}.part"
        file.write_text(str(time))
        os.replace(file, self._folder / CLOCK)

    def play(self, execution_id: str, script: str) -> None:
        """Have a script stand in for the tools of an execution and of those that it calls."""
        (self._folder / f"{execution_id}.script").write_text(script)


class StagedLauncher(launcher.AsyncLauncher):
    """A launcher with a scripted one for each script; where there is no entry, pure tools run."""

    def __init__(self, env_of: Callable[[ToolCall], Env], clock: Clock, output: OutputWriter | None = None) -> None:
        super().__init__(env_of, clock, output)
        self._pure = launcher.AsyncLauncher(env_of, clock)
        self._scripted: dict[str, ScriptedLauncher] = {}
        self._times: dict[str, VirtualClock] = {}
        self._running: dict[int, ScriptedLauncher] = {}

    def immediate(self, call: ToolCall) -> Outcome | None:
        """`Launcher.immediate`."""
        return self._by_script(call).immediate(call)

    def launch(self, ticket: object, call: ToolCall) -> None:
        """`Launcher.launch`."""
        found = self._running[id(ticket)] = self._by_script(call)
        found.launch(ticket, call)

    def finished(self) -> list[tuple[object, Outcome]]:
        """`Launcher.finished`."""
        for time in self._times.values():
            time.move_to(self._clock.now())
        done = [each for scripted in self._scripted.values() for each in scripted.finished()]
        for ticket, _ in done:
            del self._running[id(ticket)]
        return done

    def stop(self, ticket: object) -> None:
        """`Launcher.stop`."""
        self._running.pop(id(ticket)).stop(ticket)

    def _by_script(self, call: ToolCall) -> ScriptedLauncher:
        name = _roots[call.execution_id]
        if name not in self._scripted:
            script = read_script(yaml.safe_load(Path(f"{name}.script").read_text("utf-8")) or {})
            self._times[name] = VirtualClock()
            self._scripted[name] = ScriptedLauncher(script, self._times[name], self._pure, lambda _: None)
        self._times[name].move_to(self._clock.now())
        return self._scripted[name]


class StagedEnvironments(TaskEnvironments):
    """Notes who called whom."""

    def context_of(self, order: RunPipeline, program: Program, needs: Needs) -> SessionContext:
        """`TaskEnvironments.context_of`."""
        _roots[order.execution_id] = order.trace_id
        return super().context_of(order, program, needs)


if __name__ == "__main__":
    WallClock.now = SteadyClock.now = lambda _: int(Path(CLOCK).read_text())  # type: ignore[method-assign]
    inbox.LOOK_EVERY = 0
    idle.LONGEST_SLEEP = launcher.LONGEST_SLEEP = LOOKS_EVERY
    composition.AsyncLauncher = StagedLauncher  # type: ignore[misc]
    composition.TaskEnvironments = StagedEnvironments  # type: ignore[misc]
    composition.unforeseen = lambda: random.Random(0).random  # as in scripted runs
    sys.exit(main())
