"""The command line of the runtime: a lazy group of the commands in `cli/<command>.py`.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 an error of ours, 4 blocked or cancelled, 5 stopped and
can be resumed.
A command is a module that exports `COMMAND`, made with `click.command`, and a row in `COMMANDS`. It returns its exit
code (None means 0). `--help` shows the table and imports no command: start-up time is paid on every run, so click
itself is imported only where a line is not plain (`noetl_ir.lazy_click`).
A command's module becomes a name in here once it is imported, `list` too: nothing here uses that builtin.
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

from noetl import deployment
from noetl_ir.collecting import begin_command, end_command
from noetl_ir.lazy_click import echo, is_abort, lazy_group, refusal, status_of
from noetl_ir.registry import load

if TYPE_CHECKING:
    from noetl_ir.lazy_click import Group

COMMANDS: dict[str, str] = {
    "run": "Run a plan or a playbook.",
    "resume": "Go on with an execution that stopped.",
    "status": "Show how an execution stands.",
    "list": "List executions.",
    "events": "Print the log of an execution.",
    "replay": "Check a log and print the state that it leads to.",
    "result": "Print the result of an execution or step.",
    "cancel": "End an execution before it is done.",
    "pause": "Let an execution start nothing new.",
    "signal": "Send a signal to an execution that waits for one.",
    "collect": "Remove values that nothing names.",
    "credential": "Keep the credentials that playbooks name.",
    "server": "Serve the API and drive executions.",
    "worker": "Run tasks for servers on a bus.",
    "workers": "List the workers of a server, and let them leave.",
    "bus": "Say who may do what on a bus.",
    "playbooks": "List the playbooks of a catalogue.",
    "register": "Give a playbook to a server's catalogue.",
    "start": "Have a server run a playbook.",
    "token": "Say who may do what with a server.",
}
"""Command → its one line in `--help`, in the order shown; the same text as the command's short help."""

INTERNAL = 3
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + the signal, as shells have it


def group() -> "Group":
    """All commands, as click has them."""
    return lazy_group("noetl", "Run NoETL playbooks durably, and look at their executions.", COMMANDS, _command)


def _command(name: str) -> object:
    return load(__name__, name.replace("-", "_"), "COMMAND", object)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit code. Raises nothing."""
    if argv is not None:
        return _run(argv)
    deployment.begin(sys.argv[1:], os.environ)
    begin_command()
    status = _run(sys.argv[1:])
    end_command()
    return status


def _run(words: Sequence[str]) -> int:
    _prepare_streams()
    try:
        status = status_of(words, os.environ, COMMANDS, _command, group)
        sys.stdout.flush()  # a closed pipe shows here and not at the interpreter's exit
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        _give_up_output(sys.stdout)
        status = BROKEN_PIPE
    except Exception as error:
        status = _failed(error, words)
    _tell(sys.stderr.flush)
    return status


def _failed(error: Exception, words: Sequence[str]) -> int:
    """Tell what went wrong; the exit code for it."""
    from noetl.cli.text import Problem

    if is_abort(error):
        return INTERRUPTED
    if isinstance(error, Problem):
        _tell(error.show)
        if "--json" in words:
            _tell_program(error.message)
        return error.exit_code
    if (refused := refusal(error, words, group)) is not None:
        _tell(refused.show)
        return refused.exit_code
    _tell(partial(_report, error))
    return INTERNAL


def _report(error: Exception) -> None:
    """One line on standard error; the traceback too, where the user asks for it."""
    if os.environ.get("NOETL_TRACEBACK") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and _is_output_lost():
        echo(f"error: standard output cannot be written: {error.strerror}", err=True)
        return
    if isinstance(error, OSError | MemoryError):
        reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        echo(f"error: the system refused what this needs: {reason}", err=True)
        return
    about = " ".join(f"{type(error).__name__}: {deployment.masked(str(error))}".split())
    echo(f"internal error: {about} (please report)", err=True)


def _prepare_streams() -> None:
    """Open on nothing what the caller closed, and let no character keep a line from being written.

    The number of a closed stream would go to the next file that is opened: a database, say, which then got what is
    meant for people.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:  # as Python leaves it where there was nothing to open
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a playbook may hold text that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")


def _give_up_output(stream: TextIO) -> None:
    """Send what a stream still holds, and all that follows, to nowhere: nobody takes it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell_program(message: str) -> None:
    """One document for who asked for JSON, instead of the one that there is not."""
    from noetl.cli.text import json_text

    try:
        sys.stdout.write(json_text({"error": {"message": message}}) + "\n")
        sys.stdout.flush()
    except OSError:
        _give_up_output(sys.stdout)


def _tell(say: Callable[[], None]) -> None:
    """Say something on standard error. That nobody can read it must not become the exit code (Python's 120)."""
    try:
        say()
        sys.stderr.flush()
    except OSError:
        _give_up_output(sys.stderr)


def _is_output_lost() -> bool:
    """Whether standard output cannot be written, on a full disk for example; it is given up then."""
    try:
        sys.stdout.write("\n")  # what was refused once is not tried again by itself
        sys.stdout.flush()
    except OSError:
        _give_up_output(sys.stdout)
        return True
    return False
