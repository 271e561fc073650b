"""A mistake of ours as a value: one part of the compiler failed, and the others go on.

The number of a bug follows from the kind of what was raised and the last of our functions that it came through, not
from lines or data, so that two reports of one mistake have one number.
"""

from collections.abc import Iterator
from types import TracebackType

from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.diag.selection import INTERNAL

_OURS = ("noetlc", "noetl_ir")
_SHOWN, _NAMING = 4, 3
"""Places that are told, and those that the number follows from."""


class Bug(NamedTuple):
    """A mistake: its number, what was raised, and where in our code, the innermost place first."""

    number: str
    raised: str
    trail: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.raised} (bug {self.number}, please report)"

    def diagnostic(self, parts: str) -> Diagnostic:
        """The finding about a file that these parts could not look at."""
        trail = f"; it was raised in {', '.join(self.trail[:_SHOWN])}" if self.trail else ""
        message = f"an internal error in {parts}: {self}"
        return finding(INTERNAL, message, NOWHERE, help=f"what else was found stands{trail}")


def bug_of(error: Exception) -> Bug:
    """The bug that an exception shows. What only the system can mend is raised again."""
    if isinstance(error, OSError | MemoryError):
        # A full disk or memory is no mistake of ours, and a bug's number would send its reader the wrong way.
        raise error
    from hashlib import blake2b  # there should be none, and importing it costs 4 ms

    frames = list(_frames(error.__traceback__))[1:]  # the first is where it was caught
    # Neither the message nor lines go in: one holds the playbook's names, the others move with every release.
    named = "\n".join([type(error).__name__, *(name for name, _ in frames[-_NAMING:])])
    number = blake2b(named.encode("utf-8", "backslashreplace"), digest_size=4).hexdigest()
    # One line, since a finding is one line wherever it is shown.
    raised = " ".join(f"{type(error).__name__}: {error}".split())
    return Bug(number, raised, tuple([place for _, place in reversed(frames)]))


def _frames(trace: TracebackType | None) -> Iterator[tuple[str, str]]:
    """Our functions that the exception came through, the outermost first: each by name, and with its line."""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _OURS:
            name = f"{module}.{trace.tb_frame.f_code.co_qualname}"
            yield name, f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
