"""Runs that are killed: a real process with a SQLite store that kills itself at a named fault point or is killed.

The process runs `python -m harness.killing PATH POINT TURN` with the plan on standard input; it starts the execution
`ID`, or goes on with it when it is there. Its last line is the status. `POINT` is a fault point of the store or of
the blobs, empty for none, and `TURN` counts how often it is reached.

There, `http` is a stand-in that writes a line to `calls` for each call, `ACTION_ID ATTEMPT`, before it does anything.
`http://x/flaky` fails at its first attempt, `/big` gives 200,000 characters, `/slow` takes 0.3 s, `/ages` a
minute, all others their name.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.invariants import check
from noetl.app.composition import driver_of
from noetl.app.embedded import Embedded
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Env, ToolCall
from noetl.server.found_by import attributes_of
from noetl.worker import launcher
from noetl_ir.events import Event
from noetl_ir.outcome import Outcome, error, ok

TESTS = Path(__file__).resolve().parent.parent
ID = "3706290150400000005"
"""The execution of every run here, of 2026-01-01."""


class Left(NamedTuple):
    """The content of a database after the runs in it."""

    log: list[Event]
    execution: Execution
    program: Program


def process(folder: Path, plan: bytes, point: str = "", turn: int = 0) -> "subprocess.Popen[bytes]":
    """Start or go on with `ID` in the folder's database, in a process of its own."""
    command = [sys.executable, "-m", "harness.killing", str(folder), point, str(turn)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])},
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write(plan)
    child.stdin.close()
    return child


def run_killed(folder: Path, plan: bytes, point: str, turn: int) -> bool:
    """Run until it is killed at the point; whether it was."""
    with process(folder, plan, point, turn) as child:
        assert child.stdout is not None and child.stderr is not None
        said, complained = child.stdout.read(), child.stderr.read()
    assert child.returncode in (0, -signal.SIGKILL), (said, complained.decode())
    return child.returncode != 0


def finish(folder: Path, plan: bytes) -> str:
    """Go on until it is over; the status."""
    with process(folder, plan) as child:
        assert child.stdout is not None and child.stderr is not None
        said, complained = child.stdout.read(), child.stderr.read()
    assert child.returncode == 0, complained.decode()
    return said.split()[-1].decode()


def left_in(folder: Path) -> Left:
    """The log in the database, checked."""
    with open_runtime(_url(folder), Settings(), _no_compiler) as runtime:
        program = runtime.program_of(ID)
        log = [event for _, event in runtime.events(ID)]
        found_by = runtime.store.attributes([ID]).get(ID, ())
    folded = Execution(ID, program)
    for event in log:
        evolve(program, folded, event)
    check(program, log, folded)
    assert found_by == attributes_of(program, folded)
    return Left(log, folded, program)


def statuses(folder: Path) -> dict[str, str]:
    """The status of every execution in the database, by playbook."""
    with open_runtime(_url(folder), Settings(), _no_compiler) as runtime:
        return {row.playbook: row.status for row in runtime.store.executions()}


def calls_in(folder: Path) -> list[tuple[str, int]]:
    """Every call of the stand-in, as (action id, attempt), in order."""
    file = folder / "calls"
    lines = file.read_text("ascii").splitlines() if file.exists() else []
    return [(action, int(attempt)) for action, attempt in (line.split() for line in lines)]


def attempts(log: Sequence[Event]) -> dict[tuple[str, int, int, int], int]:
    """How many claims each attempt had, by run, task, visit and attempt."""
    started: dict[tuple[str, int, int, int], int] = {}
    for event in log:
        if event.event_type == "task.started":
            place = (event.run, event.task, event.visit, event.attempt)
            started[place] = started.get(place, 0) + 1
    return started


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'x.db'}"


def _no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(f"asked to compile {path}")


async def _stand_in(call: ToolCall, env: Env) -> Outcome:
    import asyncio

    handle = os.open(os.path.join(env.root(), "calls"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{call.action_id} {call.attempt}\n".encode())
    os.close(handle)
    name = str(call.fields["url"]).rpartition("/")[2]
    await asyncio.sleep({"slow": 0.3, "ages": 60}.get(name, 0.002))
    if name == "flaky" and call.attempt == 1:
        return error("flaky", "the first attempt fails")
    return ok("x" * 200_000 if name == "big" else name)


def _main(folder: Path, point: str, turn: int) -> None:
    plan = sys.stdin.buffer.read()
    launcher._TOOLS["http"] = _stand_in
    seen = 0

    def hook(reached: str) -> None:
        nonlocal seen
        seen += reached == point
        if reached == point and seen == turn:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_runtime(_url(folder), Settings(root=folder), _no_compiler) as runtime:
        runtime.store._hook = hook  # type: ignore[attr-defined]
        runtime.blobs._hook = hook  # type: ignore[attr-defined]
        program = runtime.programs.add_plan(plan)
        with driver_of(runtime, ID, lambda *_: None) as driver:
            print(_drive(driver.embedded, program, new=runtime.store.execution(ID) is None), flush=True)


def _drive(embedded: Embedded, program: Program, *, new: bool) -> str:
    return embedded.start(program, ID, Request({})) if new else embedded.resume(program, ID)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
