"""Ask an execution to stop or pause: through its inbox while a process drives it, else by doing it right here."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import program_of
from noetl.cli.acting import by_user, record_alone
from noetl.cli.progress import Silent
from noetl.cli.stores import command_with, existing_runtime, owning_root, row_of
from noetl.cli.text import Problem, escaped, json_text
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing
from noetl.ports import ExecutionRow, Over, Owned
from noetl.server.children import NotFound, root_of
from noetl.server.execution import Ask, ask_of
from noetl_cli import lazy_click as click
from noetl_ir.events import Event
from noetl_ir.expr import Json

SECONDS = 10.0
"""How long to wait for the process that drives the execution."""

PAUSE = 0.05
"""Seconds between two looks for that."""

_HEARD = {"cancel": "playbook.cancelled", "pause": "playbook.paused", "resume": "playbook.resumed"}
_DONE = {"cancel": "cancelled", "pause": "paused", "resume": "running"}


def ask(execution: str, verb: str, url: str, *, as_json: bool) -> int:
    """Cancel or pause; returns the exit code: 0 it stands so, 1 not, and why."""
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        asks = row.ended is None and row.status != _DONE[verb]
        is_heard = False
        if asks:
            row, is_heard = _asked(runtime, row, verb)
        is_driven = runtime.store.is_owned(root_of(runtime.store, row))
    # Of a cancel the phases behind main follow; what goes on may have ended before anybody looks.
    follows = verb == "cancel" and is_heard and row.ended is None
    good = follows or row.status == _DONE[verb] or (asks and verb == "resume" and row.ended is not None)
    reason = None if good else _reason(row, verb, url)
    if as_json:
        click.echo(json_text({"execution_id": row.execution_id, "status": row.status, "reason": reason}))
    elif reason is not None:
        raise Problem(reason)
    else:
        left = ": what follows its main part is left to do" if follows else ""
        click.echo(f"{_DONE[verb]}: {escaped(row.playbook)}, execution {row.execution_id}{left}")
        if row.status == "paused" or (follows and not is_driven):
            click.echo(f"resume with: {escaped(command_with(url, 'resume', row.execution_id))}")
    return 0 if good else 1


def rerun_of(row: ExecutionRow, url: str) -> str:
    """The rerun of an execution that failed or was cancelled, to be said behind that it has ended; else nothing."""
    if row.status not in ("failed", "cancelled", "blocked") or row.parent_execution_id is not None:
        return ""
    return f"; {escaped(command_with(url, 'rerun', row.execution_id))} begins again where it stood"


def ask_shortly(verb: str, body: Json = None) -> Callable[[Runtime, ExecutionRow], str]:
    """Asks an execution, and does not wait until it is heard: one that a process drives by its inbox, another here."""

    def asked(runtime: Runtime, row: ExecutionRow) -> str:
        if not runtime.store.is_owned(root_of(runtime.store, row)):
            with suppress(Owned):  # somebody took it up since the look
                if not apply_here(runtime, row, Ask(verb, None, body)):
                    raise Problem("it is over")
                return ""
        post_shortly(runtime, row, verb, body)
        return ""

    return asked


def post_shortly(runtime: Runtime, row: ExecutionRow, verb: str, body: Json) -> None:
    """Leave a request to whoever drives an execution. Raises Problem where it is over."""
    with by_user():
        try:
            runtime.store.post(row.execution_id, verb, body)
        except Over:
            raise Problem("it is over") from None


def _reason(row: ExecutionRow, verb: str, url: str) -> str:
    """Why an execution does not stand as was asked."""
    if row.ended is not None:
        again = rerun_of(row, url) if verb == "resume" else ""
        return f"execution {row.execution_id} has ended ({row.status}): there is nothing to {verb}{again}"
    return f"still {row.status}: its owner has not acted within {SECONDS:g} s; the request stays"


def _asked(runtime: Runtime, row: ExecutionRow, verb: str) -> tuple[ExecutionRow, bool]:
    """The row once the request took effect, or as it is when the time is over; and whether it was heard.

    It is made once, here or by the inbox: a second cancel is one of the phase behind main that follows from the first.
    """
    root = root_of(runtime.store, row)
    position = max((position for position, _ in runtime.events(row.execution_id)), default=0)
    posted: int | None = None
    is_heard = False
    end = time.monotonic() + SECONDS
    while row.ended is None and row.status != _DONE[verb] and not is_heard and time.monotonic() < end:
        if posted is not None:
            time.sleep(PAUSE)
            is_heard = any(_is_of(event, verb, posted) for _, event in runtime.events(row.execution_id, position))
        elif runtime.store.is_owned(root):
            with by_user():
                posted = runtime.store.post(row.execution_id, verb, None)
        else:
            # Somebody may take it up between the look and the ownership: then it is asked by its inbox, in the next
            # turn of the loop.
            with suppress(Owned):
                apply_here(runtime, row, Ask(verb))
                is_heard = True
        row = runtime.store.execution(row.execution_id) or row
    return row, is_heard


def _is_of(event: Event, verb: str, posted: int) -> bool:
    """Whether an event says that a request was heard.

    A server does not tell the row of what it was asked: there `posted` is 0, and any event of that verb counts.
    """
    return event.data.get("row") == posted if posted else event.event_type == _HEARD[verb]


def apply_here(runtime: Runtime, row: ExecutionRow, request: Ask) -> bool:
    """Own the execution and let it decide; no task is started. What was asked before, and nobody has read, goes first;
    False where that has ended it. Raises Owned.
    """
    program = program_of(runtime, row.execution_id)
    try:
        # The root is owned too: whoever drives the caller drives this one, and would not see that it is taken.
        with owning_root(runtime, row), driver_of(runtime, row.execution_id, Silent().observe) as driver:
            owned = driver.control.open(row.execution_id, program)
            # A process that died may have left them, and a signal must not pass one that came before it.
            for unread in runtime.store.inbox(row.execution_id, owned.execution.inbox_row):
                driver.control.ask(row.execution_id, ask_of(unread))
            if owned.execution.is_over:
                return False
            record_alone(runtime.store, request.verb, row.execution_id)
            driver.control.ask(row.execution_id, request)
            return True
    except (IllegalFiring, Missing, NotFound) as problem:
        raise Problem(f"the log is no run of the plan: {problem}") from None
