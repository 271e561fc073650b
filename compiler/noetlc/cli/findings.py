"""How the commands show findings and what they make of them."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

from noetl_cli import lazy_click as click
from noetl_cli.excerpts import ANSI, PLAIN, Palette
from noetl_ir.records import NamedTuple
from noetlc.diag.diagnostic import Severity
from noetlc.diag.text import rendered

if TYPE_CHECKING:  # lint of a file that it remembers starts without the compiler
    from noetlc.pipeline import Compiled

FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.NOTE}

strict_option = click.option("--strict", is_flag=True, help="Warnings and notes fail too.")
fail_on_option = click.option(
    "--fail-on", type=click.Choice(list(FAIL_ON)), default="error", help="The least severity that fails."
)


class Counts(NamedTuple):
    """How many findings there are of each severity."""

    errors: int = 0
    warnings: int = 0
    notes: int = 0

    def plus(self, other: "Counts") -> "Counts":
        """Both together."""
        return Counts(*[mine + theirs for mine, theirs in zip(self, other, strict=True)])

    def reach(self, threshold: Severity) -> bool:
        """Whether there is a finding of that severity or worse."""
        return any(self[: Severity.ERROR - threshold + 1])

    def __str__(self) -> str:
        parts = []
        for count, word in zip(self, ("error", "warning", "note"), strict=True):
            if count:
                parts.append(f"{count} {word}{'s' if count > 1 else ''}")
        return ", ".join(parts) or "nothing found"


def counts_of(compiled: "Compiled") -> Counts:
    """The counts of one file."""
    found = [0, 0, 0]
    for finding in compiled.diagnostics:
        found[Severity.ERROR - finding.severity] += 1
    return Counts(*found)


def threshold_of(fail_on: str, *, strict: bool) -> Severity:
    """The least severity that makes a command fail."""
    return Severity.NOTE if strict else FAIL_ON[fail_on]


def palette_of_stderr() -> Palette:
    """The colours of what goes to standard error."""
    return palette_of(sys.stderr)


def palette_of(stream: TextIO) -> Palette:
    """Colours where a person reads who did not refuse them (https://no-color.org), and how wide the terminal is."""
    if not stream.isatty():
        return PLAIN
    palette = PLAIN if os.environ.get("NO_COLOR") else ANSI
    return palette._replace(columns=_columns_of(stream))


def _columns_of(stream: TextIO) -> int:
    """The columns of a terminal, or what COLUMNS says; 0 where neither is known."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdecimal() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def text_of(compiled: "Compiled", palette: Palette) -> str:
    """The findings of one file, rendered one after the other."""
    from noetlc.diag.findings import gathered

    return "\n".join([rendered(finding, compiled.source, palette) for _, finding in gathered(compiled.diagnostics)])
