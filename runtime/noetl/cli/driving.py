"""Drive an execution from this process: own it, watch it, stop on a signal, and say how it can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noetl.app.composition import Driver, driver_of
from noetl.app.embedded import Embedded
from noetl.app.ending import ending_of
from noetl.app.runtime import Runtime
from noetl.cli.ending import tell_ending
from noetl.cli.progress import Progress
from noetl.cli.stores import command_with, refused_by_quota
from noetl.cli.text import Problem, Stopped
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.ports import Conflict, NoRoom, Owned, StoreFailure
from noetl.server.children import NotFound
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from types import FrameType


class DriveOptions(NamedTuple):
    """The wishes of the user for a run. `url` is the store's."""

    execution_id: str
    url: str
    as_json: bool


def drive(
    runtime: Runtime, program: Program, asked: DriveOptions, go: Callable[[Embedded], str], progress: Progress
) -> int:
    """Own the execution and let `go` drive it to its end or to a stop; tell how it ended. Returns the exit code."""
    execution_id = asked.execution_id
    try:
        with driver_of(runtime, execution_id, progress.observe) as driver:
            with _stopped_by_signals(driver) as signals:
                status = go(driver.embedded)
            progress.close()
            execution = driver.execution
            if status == "interrupted" and not signals:
                progress.say("nothing more can happen: the script has no outcome or signal for what is waited for")
    except Owned as problem:
        raise Stopped(f"{problem}; only one process at a time can drive it") from None
    except (StoreFailure, Conflict) as problem:
        # A run whose first events never reached the disk cannot be resumed, and to say so would send the user after
        # nothing.
        if not _is_there(runtime, execution_id):
            if (full := refused_by_quota(problem)) is not None:
                raise full from None
            refused = Stopped if isinstance(problem, NoRoom) else Problem
            raise refused(f"{problem}\nnothing was started") from None
        again = command_with(asked.url, "resume", execution_id)
        raise Stopped(f"{problem}\nthe run stopped; what is on disk stays. Resume with: {again}") from None
    except KeyboardInterrupt:
        again = command_with(asked.url, "resume", execution_id)
        raise Stopped(f"stopped at once. Resume with: {again}") from None
    except (IllegalFiring, Missing, NotFound) as problem:
        raise Problem(f"the log is no run of the plan: {problem}") from None
    finally:
        progress.close()
    if runtime.settings.tracing is not None and runtime.settings.script is None:
        from noetl.cli.tracing import tell_traces

        tell_traces(runtime, execution_id)
    return tell_ending(ending_of(runtime, program, execution, status), asked.url, as_json=asked.as_json)


def _is_there(runtime: Runtime, execution_id: str) -> bool:
    """Whether there is anything to resume; a store that does not even tell that may have it."""
    try:
        return runtime.store.execution(execution_id) is not None
    except StoreFailure:
        return True


@contextmanager
def _stopped_by_signals(driver: Driver) -> Iterator[list[int]]:
    """The first SIGINT or SIGTERM stops after the current round, the next one at once. Gives those that came.

    Once it has stopped, more of them change nothing: what is left to do is short, and ends the tools' processes.
    """
    import signal

    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for name in watched:
            # The second signal raises KeyboardInterrupt wherever the program is: the first one only asked, and may
            # not be heard in a long call.
            signal.signal(name, signal.default_int_handler)
        driver.embedded.interrupt()
        wake = getattr(driver.launcher, "wake", None)
        # A script's launcher waits for nothing real, and has nothing to be woken from.
        if wake is not None:
            wake()

    watched = (signal.SIGINT, signal.SIGTERM)
    before = [(name, signal.signal(name, stop)) for name in watched]
    try:
        yield came
    finally:
        for name, handler in before:
            # An impatient third signal would cut off the end of tools' processes, which would then go on without
            # anybody.
            signal.signal(name, signal.SIG_IGN if came else handler)
