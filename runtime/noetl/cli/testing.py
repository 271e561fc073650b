"""The files of tests that paths name, and running one: the compiler reads it, processes share its cases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from noetl.app.programs import program_of
from noetl.app.suites.hiding import with_hidden_name
from noetl.app.suites.judging import Failure
from noetl.app.suites.path import PathTaken
from noetl.app.suites.pool import shared_out
from noetl.app.suites.verdict import CaseVerdict, as_json, idle_outcomes, idle_signals, judged_case, of_json
from noetl.cli.text import escaped
from noetl_cli import lazy_click as click
from noetl_ir.plan_sources import sourced_plans
from noetl_ir.records import NamedTuple
from noetl_ir.suite import SUFFIXES, Suite, read_suite

_WORTH = 8
"""Cases for which another process is worth its start."""


class RunOptions(NamedTuple):
    """The wishes of the command line about how cases are run; `only` is a text that their names hold."""

    folders: tuple[Path, ...]
    only: str
    jobs: int
    quiet: bool
    coverage: bool


class UnreadSuite(NamedTuple):
    """A file of tests that cannot be read, or whose playbook cannot be; `said` are the compiler's lines about it."""

    file: str
    said: str


class Tested(NamedTuple):
    """A suite and the verdicts on those of its cases that were run, in their order."""

    suite: Suite
    verdicts: tuple[CaseVerdict, ...]

    @property
    def ok(self) -> bool:
        """Whether all of them do what is expected."""
        return all(each.ok for each in self.verdicts)


def files_in(paths: tuple[str, ...]) -> Iterator[str]:
    """The files of tests that paths name: files as they are, folders by what they hold. Raises UsageError."""
    seen: set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            names = sorted(_inside(path))
            if not names:
                raise click.UsageError(f"there is no file of tests (NAME{SUFFIXES[0]}) in {escaped(path)}")
        elif os.path.isfile(path):
            names = [path]
        else:
            raise click.UsageError(f"there is no file {escaped(path)}")
        for name in names:
            if (place := os.path.realpath(name)) not in seen:
                seen.add(place)
                yield os.path.normpath(name)


def _inside(folder: str) -> Iterator[str]:
    for at, inner, here in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (os.path.join(at, name) for name in here if name.endswith(SUFFIXES))


def tested(file: str, asked: RunOptions) -> Tested | UnreadSuite:
    """The suite of a file, run; `UnreadSuite` where it, or its playbook, cannot be read, which is told."""
    # Looked up when it is called, so that a test can have the compiler in its own process.
    from noetl.clients import compiler

    try:
        data, said = compiler.suite_bytes(Path(file), asked.folders, "coverage" if asked.coverage else "")
    except compiler.CompileError as problem:
        tell_lines(str(problem))
        return UnreadSuite(file, str(problem))
    if said and not asked.quiet:
        tell_lines(said)
    suite = read_suite(data)
    program, beside = program_of(suite.plan), Path(file).parent
    program.source = partial(_source, suite.playbook)
    children = [*sourced_plans(program.bytes, suite.sources, program.plan)] if suite.sources else []
    program.sourced = lambda: children
    chosen = [number for number, case in enumerate(suite.cases) if asked.only in case.name]
    # A copy of the process costs some milliseconds, as much as a few cases.
    processes = min(asked.jobs, len(chosen) // _WORTH or 1)
    records = dict(
        shared_out(
            chosen, processes, lambda number: as_json(judged_case(suite, program, number, beside, asked.folders))
        )
    )
    verdicts = [of_json(records[number]) if number in records else _lost(suite, number) for number in chosen]
    # Of some of the cases it is not known whether the others would have used an outcome that they share.
    if len(chosen) == len(suite.cases):
        verdicts = _with_idle(suite, verdicts)
    # Chosen by the names as they are written, and shown as all else is.
    return Tested(suite._replace(cases=tuple(map(with_hidden_name, suite.cases))), tuple(verdicts))


def _source(name: str) -> bytes | None:
    with suppress(OSError), open(name, "rb") as file:
        return file.read()
    return None


def _lost(suite: Suite, number: int) -> CaseVerdict:
    failure = Failure("the process that ran the case ended before it was done", suite.cases[number].span)
    return CaseVerdict(number, (failure,), PathTaken(), (), frozenset(), frozenset(), 0.0)


def _with_idle(suite: Suite, verdicts: list[CaseVerdict]) -> list[CaseVerdict]:
    """The verdicts with a failure for each outcome that was not used, and each signal that no wait got."""
    found = list(verdicts)
    idle = [(case, Failure(text, place)) for case, place, text in idle_signals(suite, verdicts)]
    for case, place, uses, times in idle_outcomes(suite, verdicts):
        often = f"was used only {uses} of {times} times" if uses else "was never used"
        text = f"the outcome {often}: no attempt came to it, or an entry above fits first"
        idle.append((case, Failure(text, place)))
    for case, failure in idle:
        number = next(at for at, verdict in enumerate(found) if suite.cases[verdict.number] is case)
        found[number] = found[number]._replace(failures=(*found[number].failures, failure))
    return found


def tell_lines(text: str) -> None:
    """Print what the compiler said, line by line."""
    click.echo("\n".join(escaped(line) for line in text.splitlines()), err=True)
