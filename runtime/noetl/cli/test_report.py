"""The outcome of tests for people: a line for each case, and of what fails the lines it is about and the path taken."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

from noetl.app.suites.coverage import Coverage
from noetl.app.suites.judging import Failure
from noetl.app.suites.path import lines_of
from noetl.app.suites.verdict import CaseVerdict
from noetl.worker.secret_forms import forms_of_all
from noetl_cli import lazy_click as click
from noetl_cli.excerpts import ANSI, PLAIN, Lines, Palette, edge, excerpt, place_of, printable
from noetl_cli.masked_lines import MaskedLines
from noetl_ir.span import NOWHERE, Span
from noetl_ir.suite import Suite

_BREAK = re.compile("\r\n|[\n\r]")


class FileLines:
    """A file as excerpts read it; one that cannot be read has no lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            with open(name, encoding="utf-8-sig", errors="replace", newline="") as file:
                self._lines = _BREAK.split(file.read())
        except OSError:
            self._lines = []

    def line_text(self, line: int) -> str:
        """Line `line` (from 1) without its break; "" outside the file."""
        return self._lines[line - 1] if 1 <= line <= len(self._lines) else ""


def tell_suite(suite: Suite, verdicts: Sequence[CaseVerdict], *, quiet: bool) -> None:
    """Print how the cases of a suite went, on standard output."""
    palette = ANSI if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else PLAIN
    # What is expected may hold a secret in another form, as a result has it.
    tests = MaskedLines(FileLines(suite.file), (*suite.secrets, *forms_of_all(suite.secrets)))
    playbook = FileLines(suite.playbook)
    for verdict in verdicts:
        case = suite.cases[verdict.number]
        place = place_of(tests.name, case.span)
        if verdict.ok:
            if not quiet:
                click.echo(f"{palette.note}ok{palette.reset}    {place} {printable(case.name)}")
            continue
        click.echo(
            f"{palette.error}FAILED{palette.reset} {palette.strong}{place}{palette.reset} {printable(case.name)}"
        )
        told: set[Span] = set()
        for failure in verdict.failures:
            # What several failures are about is shown with the first of them.
            shown = failure._replace(at=NOWHERE) if failure.at in told else failure
            told.add(failure.at)
            click.echo("\n".join(_failure(shown, tests, playbook, palette)))
        if verdict.path.steps:
            click.echo(f"  = path: {printable(playbook.name)}")
            for line in lines_of(verdict.path):
                click.echo(f"      {printable(line)}")
        click.echo("")


def tell_coverage(coverage: Coverage) -> None:
    """Print how much of a playbook was reached, and what was not."""
    name = printable(coverage.playbook)
    of = f"{len(coverage.reached)} of {len(coverage.parts)} parts"
    click.echo(f"coverage of {name}: {of} ({coverage.percent:.1f} %)")
    click.echo(f"  {', '.join(f'{_plural(kind)} {reached} of {count}' for kind, reached, count in coverage.counts())}")
    missing = coverage.missing()
    if missing:
        click.echo("  not reached")
    for part in missing:
        perhaps = "; perhaps nothing can" if part.open else ""
        click.echo(f"    {place_of(coverage.playbook, part.span)}: {part.kind} {printable(part.name)}{perhaps}")
    if coverage.never:
        click.echo(f"  left out, since no run can reach it: {coverage.never}")


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith("ch") else f"{kind}s"


def _failure(failure: Failure, tests: Lines, playbook: Lines, palette: Palette) -> Iterator[str]:
    gutter = len(str(max(failure.span.end_line, failure.at.end_line)))
    yield f"{place_of(tests.name, failure.span)}: {printable(failure.message)}"
    yield from excerpt(failure.span, tests, gutter, palette.error, palette)
    for detail in failure.details:
        yield f"{edge(gutter, '=', palette)} {printable(detail)}"
    if failure.at.line:
        yield f"{edge(gutter, '=', palette)} {place_of(playbook.name, failure.at)}: in the playbook"
        yield from excerpt(failure.at, playbook, gutter, palette.faint, palette)
