"""Follow an execution that another process drives: hear when its log has more, and show it as `run` shows its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from noetl.app.ending import ending_of
from noetl.app.looking import catch_up, program_of
from noetl.app.runtime import Runtime
from noetl.cli.ending import tell
from noetl.cli.progress import Lines
from noetl.cli.stores import existing, is_remote
from noetl.engine.execution import Execution
from noetl.store.http import Connection, Unreachable
from noetl_ir.events import Event

_PAUSE = 0.1


def follow_to_its_end(url: str, execution_id: str, *, as_json: bool) -> int:
    """Tell on standard error what happens until the execution is over, then how it ended; returns the exit code."""
    progress = Lines(sys.stderr)
    with existing(url) as runtime:
        program = program_of(runtime, execution_id)
        execution = Execution(execution_id, program)
        new: list[Event] = []
        for _ in news(runtime, url, execution_id, lambda: execution.position):
            new.clear()
            catch_up(runtime, program, execution, lambda execution, program, event: new.append(event))
            for event in new:  # beside the state after all of them, as in `run`
                progress.observe(execution, program, event)
        progress.close()
        return tell(ending_of(runtime, program, execution, execution.status), url, as_json=as_json)


def news(runtime: Runtime, url: str, execution_id: str, seen: Callable[[], int]) -> Iterator[None]:
    """Gives when the log may have more than `seen()` events, at first at once, at last when the execution is over.

    A server says so by the events that it sends; a store beside us is looked at. Raises StoreFailure.
    """
    return _heard(url, execution_id, seen) if is_remote(url) else _looked(runtime, execution_id)


def _looked(runtime: Runtime, execution_id: str) -> Iterator[None]:
    while True:
        row = runtime.store.execution(execution_id)
        yield  # asked before the log is read, so that its last events are seen
        if row is None or row.ended is not None:
            return
        time.sleep(_PAUSE)


def _heard(url: str, execution_id: str, seen: Callable[[], int]) -> Iterator[None]:
    """What the server sends is only the bell: who reads fetches the log, many events at a time."""
    yield
    with closing(Connection(url)) as connection:
        for line in connection.lines(f"/executions/{execution_id}/events", {"after": str(seen())}):
            name, _, value = line.partition(": ")
            if name == "id" and value.isdecimal() and int(value) > seen():
                yield
            elif (name, value) == ("event", "end"):
                return
    raise Unreachable(f"{url} ended before the execution did; it goes on with the next server")
