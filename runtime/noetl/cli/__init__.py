"""The command line of the runtime: a lazy group of the commands in `cli/<command>.py`.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 an error of ours, 4 blocked or cancelled, 5 stopped and
can be resumed.
A command is a module that exports `COMMAND`, a `click.Command`, and a row in `COMMANDS`. It returns its exit
code (None means 0). `--help` shows the table and imports no command: start-up time is paid on every run.
A command's module becomes a name in here once it is imported, `list` too: nothing here uses that builtin.
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TextIO

import click

from noetl import deployment
from noetl_ir.collecting import begin_command, end_command
from noetl_ir.registry import load

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


class LazyGroup(click.Group):
    """A group that imports a command only when it is run or asked for its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None where the table has none."""
        if cmd_name not in COMMANDS:
            return None
        return load(__name__, cmd_name.replace("-", "_"), "COMMAND", click.Command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, without asking the commands."""
        if COMMANDS:
            with formatter.section("Commands"):
                formatter.write_dl([*COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="noetlc", prog_name="noetl")
def group() -> None:
    """Run NoETL playbooks durably, and look at their executions."""


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
        status = _status(words)
        sys.stdout.flush()  # a closed pipe shows here and not at the interpreter's exit
    except click.ClickException as error:
        _tell(error.show)
        status = error.exit_code
        if "--json" in words and not isinstance(error, click.UsageError):
            _tell_program(error.message)
    except (KeyboardInterrupt, click.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        _give_up_output(sys.stdout)
        status = BROKEN_PIPE
    except Exception as error:
        _tell(partial(_report, error))
        status = INTERNAL
    _tell(sys.stderr.flush)
    return status


def _status(argv: Sequence[str]) -> int:
    try:
        with group.make_context("noetl", [*argv]) as ctx:
            return int(group.invoke(ctx) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code


def _report(error: Exception) -> None:
    """One line on standard error; the traceback too, where the user asks for it."""
    if os.environ.get("NOETL_TRACEBACK") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and _is_output_lost():
        click.echo(f"error: standard output cannot be written: {error.strerror}", err=True)
        return
    if isinstance(error, OSError | MemoryError):
        reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        click.echo(f"error: the system refused what this needs: {reason}", err=True)
        return
    about = " ".join(f"{type(error).__name__}: {deployment.masked(str(error))}".split())
    click.echo(f"internal error: {about} (please report)", err=True)


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
