"""A finding about a playbook: what, how bad, where, and what to write instead."""

from enum import IntEnum

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class Severity(IntEnum):
    """How bad a finding is. Only an error stops a compile."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Related(NamedTuple):
    """A second place that a finding is about, and its part in it."""

    span: Span
    message: str


class Fix(NamedTuple):
    """Replace the text of `span` by `text`, and with it what `rest` says, further down. `safe` when the meaning cannot
    change by accident. Findings that only one change mends together share one fix.
    """

    span: Span
    text: str
    title: str
    safe: bool = True
    rest: tuple[tuple[Span, str], ...] = ()

    @property
    def edits(self) -> tuple[tuple[Span, str], ...]:
        """All that is replaced, in the order of the file."""
        return ((self.span, self.text), *self.rest)


class Diagnostic(NamedTuple):
    """One finding. `code` is stable and never reused (HOUSE §4.7); `help` says what to write instead; `run` are the
    transitions of a run that leads there, of the plan of its document.
    """

    code: str
    severity: Severity
    message: str
    span: Span
    help: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    run: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, int, str, str]:
        """The key by which the findings of a file are sorted."""
        # The message last, so that two findings of one code at one place have an order that no run of the program
        # changes.
        return (self.span.line, self.span.column, self.code, self.message)


class Code(NamedTuple):
    """One entry of a table of codes. `why`, `example`, `instead` and `ignore`, when it may be ignored, are what
    `noetlc explain` prints.
    """

    slug: str
    severity: Severity
    title: str
    why: str
    example: str
    instead: str
    ignore: str = ""

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """The parts of its page, each with its heading."""
        bodies = (self.why, self.example, self.instead, self.ignore or _NEVER)
        return tuple([(heading, body.strip("\n")) for heading, body in zip(_HEADINGS, bodies, strict=True)])


_HEADINGS = ("Why it matters", "Example", "Instead", "When to ignore")
# A comment takes a finding out of `lint` alone: what decides whether a plan is made must not depend on one.
_NEVER = "Never: it is an error, and `noetlc compile` reads no comments."
