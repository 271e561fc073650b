"""Follow an execution that another process drives: hear when its log has more, and show it as `run` shows its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing

from noetl.app.ending import ending_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import catch_up, program_of
from noetl.cli.ending import tell_ending
from noetl.cli.progress import PlainProgress
from noetl.cli.remote import ask_server
from noetl.cli.stores import command_with, existing_runtime, is_remote
from noetl.cli.text import Stopped, escaped
from noetl.engine.execution import Execution
from noetl.store.http import Connection, ServerUnreachable
from noetl_cli import lazy_click as click
from noetl_ir.events import Event

LOST_AFTER = 60.0
"""Seconds that a server which was heard before is asked again; another one may have its address by then."""

_AGAIN = 0.5
_PAUSE = 0.1


def follow_to_its_end(url: str, execution_id: str, *, as_json: bool) -> int:
    """Tell on standard error what happens until the execution is over, then how it ended; returns the exit code."""
    progress = PlainProgress(sys.stderr)
    with existing_runtime(url) as runtime:
        program = program_of(runtime, execution_id)
        execution = Execution(execution_id, program)

        def take() -> int:
            new: list[Event] = []
            catch_up(runtime, program, execution, lambda execution, program, event: new.append(event))
            for event in new:  # beside the state after all of them, as in `run`
                progress.observe(execution, program, event)
            return execution.position

        follow_log(runtime, url, execution_id, take)
        progress.close()
        return tell_ending(ending_of(runtime, program, execution, execution.status), url, as_json=as_json)


def follow_log(runtime: Runtime, url: str, execution_id: str, take: Callable[[], int]) -> None:
    """Call `take`, which reads what is new in the log and says how far it came, until the execution is over.

    A server says when there is more by the events that it sends; a store beside us is looked at. Raises StoreFailure,
    and Stopped when the server is away for too long.
    """
    if is_remote(url):
        _Follower(url, execution_id, take).hear()
        return
    over = False
    while not over:
        row = runtime.store.execution(execution_id)
        over = row is None or row.ended is not None  # asked before the log is read, so that its last events are seen
        take()
        if not over:
            time.sleep(_PAUSE)


def follow_output(runtime: Runtime, url: str, execution_id: str, take: Callable[[], None]) -> None:
    """Call `take`, which reads what tasks have printed, until the execution is over. Raises as `follow_log`."""
    # What is in the log already is not asked for again.
    told = ask_server(url, "GET", f"/executions/{execution_id}").get("events") if is_remote(url) else 0
    position = told if isinstance(told, int) else 0

    def taken() -> int:
        take()
        return position

    if is_remote(url):
        _Follower(url, execution_id, taken, output=True).hear()
    else:
        follow_log(runtime, url, execution_id, taken)


class _Follower:
    """Follows an execution by a server, and by the next one when it goes away; with `output` what its tasks print."""

    def __init__(self, url: str, execution_id: str, take: Callable[[], int], *, output: bool = False) -> None:
        self._url = url
        self._execution_id = execution_id
        self._take = take
        self._output = output
        self._heard = time.monotonic()

    def hear(self) -> None:
        """Until the execution is over."""
        is_told = False
        while True:
            before = self._heard
            try:
                while (end := self._end()) == "again":
                    pass
                if end == "end":
                    return
                problem = f"{self._url} ended what it sent"
            except ServerUnreachable as error:
                problem = str(error)
            # A server that answers and goes away again is told of again: the note before was about another time.
            is_told = is_told and self._heard == before
            if time.monotonic() - self._heard > LOST_AFTER:
                again = command_with(self._url, "logs" if self._output else "events", self._execution_id, "--follow")
                raise Stopped(f"{problem}\nthe execution may go on; follow it again with: {again}")
            if not is_told:
                is_told = True
                click.echo(f"note: {escaped(problem)}; trying again", err=True)
            time.sleep(_AGAIN)

    def _end(self) -> str:
        """How a stream ends: `end` with the execution, `again` as it is old, or empty as the connection is lost.

        What the server sends is only the notifier: who reads fetches the log, many events at a time.
        """
        # Read once before the stream begins: what was written since the connection was lost is not sent by the new
        # one unless it is asked for.
        seen = self._take()
        query = {"after": str(seen), **({"output": "true"} if self._output else {})}
        with closing(Connection(self._url)) as connection:
            for line in connection.lines(f"/executions/{self._execution_id}/events", query):
                self._heard = time.monotonic()
                name, _, value = line.partition(": ")
                # One reading takes all that is new, so most of the ids that follow say what is known already, and
                # cost nothing.
                if name == "id" and value.isdecimal() and int(value) > seen:
                    seen = int(value) if self._output else self._take()
                elif name == "event" and value == "output":
                    self._take()
                elif name == "event" and value in ("again", "end"):
                    return value
        return ""
