"""The part that both command lines, `noetlc` and `noetl`, share: lazy groups of commands, exit codes, and streams.

A command is a module of the `cli` package of either. It exports `COMMAND`, made with `lazy_click.command`, and has a
row in the table of commands there. It returns its exit code (None means 0). `--help` shows the table and imports no
command: start-up time is paid on every run, so click itself is imported only where a line is not plain
(`noetl_cli.lazy_click`).

Exit codes that both have: 0 well, 1 not so, 2 wrong usage, 3 an error of ours, and 128 with the number of a signal.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

from noetl_cli.lazy_click import echo, is_abort, lazy_group, refusal, status_of
from noetl_ir.collecting import begin_command, end_command
from noetl_ir.registry import load

if TYPE_CHECKING:
    from noetl_cli.lazy_click import Group

STANDARD_INPUT = "-"
"""The name of standard input among files, and of standard output."""

BROKEN = 3
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + the signal, as shells have it


def _told_nothing(error: Exception, argv: Sequence[str]) -> int | None:
    return None


OWN_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "noetlc": ("compile", "lint", "diff", "migrate", "graph", "analyze", "explain", "lsp", "schema", "dump", "where"),
    "noetl": (
        "run", "test", "resume", "rerun", "migrate-run", "status", "list", "events", "logs", "trace", "replay",
        "result", "cancel", "pause", "signal", "signals", "purge", "archive", "restore", "collect", "store", "audit",
        "credential", "server", "gateway", "ui", "worker", "workers", "bus", "playbooks", "register", "start",
        "schedules", "triggers", "namespaces", "notifications", "dead-letters", "token",
    ),
}  # fmt: skip
"""The commands that one of the two programs has and the other one has not: neither imports the other."""


class CommandLine:
    """A program `name` whose commands are modules of a `package`; `commands` has the one line of each in `--help`.

    `tell` tells of an error that the package has a class for, and gives its exit code, None for any other. `masked`
    gives a text without what nobody may see.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        package: str,
        commands: Mapping[str, str],
        *,
        tell: Callable[[Exception, Sequence[str]], int | None] = _told_nothing,
        masked: Callable[[str], str] = str,
    ) -> None:
        self.commands = commands
        self._name = name
        self._summary = summary
        self._package = package
        self._tell = tell
        self._masked = masked

    def group(self) -> "Group":
        """All commands, as click has them."""
        beside = {command: other for other, its in OWN_COMMANDS.items() for command in its if other != self._name}
        return lazy_group(self._name, self._summary, self.commands, self.command, beside)

    def command(self, name: str) -> object:
        """The command of a name, its module imported."""
        return load(self._package, name.replace("-", "_"), "COMMAND", object)

    def run_process(self) -> int:
        """Run the command line of this process, and return its exit code. Raises nothing."""
        begin_command()
        status = self.run(sys.argv[1:])
        end_command()
        return status

    def _completed(self) -> int | None:
        """The exit code where a shell asks what can come next, else None."""
        if f"_{self._name.upper()}_COMPLETE" not in os.environ:
            return None
        from noetl_cli.completion import complete_for_shell

        return complete_for_shell(self._name, self.group)

    def run(self, argv: Sequence[str]) -> int:
        """Run a command line, and return its exit code. Raises nothing."""
        _prepare_streams()
        try:
            status = self._completed()
            if status is None:
                status = status_of(argv, os.environ, self.commands, self.command, self.group)
            sys.stdout.flush()  # a closed pipe shows here and not at the interpreter's exit
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BrokenPipeError:
            _give_up_output(sys.stdout)
            status = BROKEN_PIPE
        except Exception as error:
            status = self._failed(error, argv)
        # Also after success: what is still in the buffer would fail at the interpreter's exit, where the exit code is
        # lost.
        tell(sys.stderr.flush)
        return status

    def _failed(self, error: Exception, argv: Sequence[str]) -> int:
        """Tell what went wrong; the exit code for it."""
        if is_abort(error):
            return INTERRUPTED
        # The program's own errors first: it knows which of them are the user's.
        if (status := self._tell(error, argv)) is not None:
            return status
        if (refused := refusal(error, argv, self.group)) is not None:
            tell(refused.show)
            return refused.exit_code
        tell(partial(self._report, error))
        return BROKEN

    def _report(self, error: Exception) -> None:
        """One line on standard error; the traceback too, where the user asks for it."""
        if os.environ.get("NOETL_TRACEBACK") == "1":
            import traceback

            traceback.print_exception(error)
        # A full disk behind standard output raises the same error as one elsewhere; only to try again tells them
        # apart.
        if isinstance(error, OSError) and _is_output_lost():
            echo(f"error: standard output cannot be written: {error.strerror}", err=True)
            return
        if isinstance(error, OSError | MemoryError):
            reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
            echo(f"error: the system refused what this needs: {reason}", err=True)
            return
        # One line, and masked: the text of an exception may quote a value that holds a secret.
        about = " ".join(f"{type(error).__name__}: {self._masked(str(error))}".split())
        echo(f"internal error: {about} (please report)", err=True)


def tell(say: Callable[[], None]) -> None:
    """Say something on standard error. That nobody can read it must not become the exit code (Python's 120)."""
    try:
        say()
        sys.stderr.flush()
    except OSError:
        _give_up_output(sys.stderr)


def write_out(text: str) -> None:
    """Write a text to standard output, whether or not anybody takes it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        _give_up_output(sys.stdout)


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
    # The stream keeps what it could not write and tries again at exit; behind its number there is now something that
    # takes it.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_output_lost() -> bool:
    """Whether standard output cannot be written, on a full disk for example; it is given up then."""
    try:
        sys.stdout.write("\n")  # what was refused once is not tried again by itself
        sys.stdout.flush()
    except OSError:
        _give_up_output(sys.stdout)
        return True
    return False
