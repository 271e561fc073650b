"""The command line of the runtime: the commands in `cli/<command>.py` (`noetl_cli`).

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 an error of ours, 4 blocked or cancelled, 5 stopped and
can be resumed.
A command's module becomes a name in here once it is imported, `list` too: nothing here uses that builtin.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial

from noetl.host import process_secrets
from noetl_cli import CommandLine, tell, write_out

COMMANDS: dict[str, str] = {
    "run": "Run a plan or a playbook.",
    "test": "Test playbooks, without the world.",
    "resume": "Go on with an execution that stopped.",
    "rerun": "Begin again where an execution failed.",
    "migrate-run": "Move an execution to another plan.",
    "status": "Show how an execution stands.",
    "list": "List executions.",
    "events": "Print the log of an execution.",
    "logs": "Print what tasks printed.",
    "trace": "Print the trace of an execution, or send it to a collector.",
    "replay": "Check a log and print the state that it leads to.",
    "result": "Print the result of an execution or step.",
    "cancel": "End an execution before it is done.",
    "pause": "Let an execution start nothing new.",
    "signal": "Send a signal to an execution that waits for one.",
    "signals": "List signals that are kept under keys, and who waits under one.",
    "purge": "Remove executions that are over.",
    "archive": "Write executions to bundles.",
    "restore": "Bring executions back from bundles.",
    "collect": "Remove values that nothing names.",
    "store": "Check a store, give room back, copy it.",
    "audit": "List who did what.",
    "credential": "Keep the credentials that playbooks name.",
    "server": "Serve the API and drive executions.",
    "gateway": "One address for several groups of servers.",
    "ui": "Show the executions of a store in the browser.",
    "worker": "Run tasks for servers on a bus.",
    "workers": "List the workers of a server, and let them leave.",
    "bus": "Say who may do what on a bus.",
    "playbooks": "List the playbooks of a catalogue.",
    "register": "Give a playbook to a server's catalogue.",
    "start": "Have a server run a playbook.",
    "schedules": "Start playbooks at times of a calendar.",
    "triggers": "Start playbooks when something happens.",
    "namespaces": "Limit what teams start, and share the workers between them.",
    "notifications": "Tell people and programs of ends.",
    "dead-letters": "List what could not be told outside, and try it again.",
    "token": "Say who may do what with a server.",
    "completion": "Let your shell complete commands, options and files.",
}
"""Command → its one line in `--help`, in the order shown; the same text as the command's short help."""


def _tell_problem(error: Exception, words: Sequence[str]) -> int | None:
    """Tell of a problem, also to a program that asked for JSON: one document, instead of the one that there is not."""
    from noetl.cli.text import Problem, json_text

    if isinstance(error, UnicodeEncodeError) and (word := next(filter(_is_no_text, words), None)) is not None:
        error = Problem(f"`{word}` is no UTF-8: only names of files may be in another encoding")
    if not isinstance(error, Problem):
        return None
    tell(error.show)
    # Whoever reads the output by a program gets a document in any case, and need not tell no output from a broken
    # one.
    if "--json" in words:
        write_out(json_text({"error": {"message": error.message}}) + "\n")
    return error.exit_code


def _is_no_text(word: str) -> bool:
    """Whether a word of the command line has bytes that are no UTF-8; it may name a file, and nothing else."""
    return any("\ud800" <= char <= "\udfff" for char in word)


LINE = CommandLine(
    "noetl", "Run NoETL playbooks durably, and look at their executions.", __name__, COMMANDS,
    tell=_tell_problem, masked=process_secrets.masked,
)  # fmt: skip
group = LINE.group


def _other_package() -> str:
    """Why nothing may run beside the other distribution that has a package `noetl`; empty where there is none.

    Each overwrites files of the other, so that what runs would be neither of the two.
    """
    for folder in sys.path:
        if os.path.basename(folder) not in ("site-packages", "dist-packages") or not os.path.isdir(folder):
            continue
        for name in os.listdir(folder):
            if name.startswith("noetl-") and name.endswith(".dist-info"):
                version = name.removeprefix("noetl-").removesuffix(".dist-info")
                return (
                    f"the package noetl {version} of PyPI is installed in {folder}, too; it and this program overwrite "
                    "each other's files: install noetlc in an environment of its own"
                )
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit code. Raises nothing."""
    if argv is not None:
        return _told_missing(LINE.run(argv))
    if other := _other_package():
        tell(partial(print, f"error: {other}", file=sys.stderr))
        return 2
    # Only where the command line is the process's own: a test, or a program that calls `main`, keeps its environment.
    process_secrets.learn_process(sys.argv[1:], os.environ)
    return _told_missing(LINE.run_process())


def _told_missing(status: int) -> int:
    """The exit code of a command: 1 where it did what it could with a part of what there is, as `ls` does."""
    store = sys.modules.get("noetl.store.http")
    if store is None or not (names := store.take_missing()):
        return status
    what = f"group {names[0]} does" if len(names) == 1 else f"groups {', '.join(names)} do"
    tell(partial(print, f"error: {what} not answer: what is there is missing here", file=sys.stderr))
    return status or 1
