"""test: run the tests of playbooks (`*.test.yaml`), on a virtual clock and without the world."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetl.cli.stores import path_option
from noetl.cli.text import Problem, amount, escaped
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from noetl.app.suites.verdict import Verdict
    from noetl_ir.suite import Suite

SUFFIXES = (".test.yaml", ".test.yml")
FAILED = 1


class TestOptions(NamedTuple):
    """The wishes of the command line."""

    folders: tuple[Path, ...]
    only: str
    jobs: int
    quiet: bool


class Tested(NamedTuple):
    """A suite and the verdicts on those of its cases that were run, in their order."""

    suite: Suite
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Whether all of them do what is expected."""
        return all(each.ok for each in self.verdicts)


@click.command("test", short_help="Test playbooks, without the world.")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-k", "only", default="", metavar="TEXT", help="Only cases whose name holds this text.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes at once; by default one for each core.")
@click.option("--junit", metavar="FILE", help="Write the outcome as JUnit XML, too.")
@path_option
@click.option("--quiet", is_flag=True, help="Tell of what fails, and of nothing else.")
def test(
    paths: tuple[str, ...], only: str, jobs: int | None, junit: str | None, folders: tuple[Path, ...], quiet: bool
) -> int:
    """Run the tests in files and folders; by default those of this folder.

    A file of tests, NAME.test.yaml, stands beside its playbook NAME.yaml. Each of its cases is a run in memory, on a
    virtual clock, in a folder of its own: outcomes stand in for what has effects, python, sqlite and duckdb run.

    Exit codes: 0 all cases do what is expected, 1 some do not or cannot be read, 2 wrong usage.
    """
    asked = TestOptions(folders, only, jobs or _cores(), quiet)
    begun = time.monotonic()
    found = [_tested(file, asked) for file in files_in(paths or (".",))]
    told = [each for each in found if each is not None]
    if only and not any(each.verdicts for each in told):
        raise Problem(f"no case has a name with `{only}` in it")
    if junit is not None:
        from noetl.app.suites.junit import junit_of

        _write(junit, junit_of([(each.suite, each.verdicts) for each in told]))
    _tell_sum(found, time.monotonic() - begun)
    return 0 if all(each is not None and each.ok for each in found) else FAILED


def files_in(paths: tuple[str, ...]) -> Iterator[str]:
    """The files of tests that paths name: files as they are, folders by what they hold. Raises UsageError."""
    seen: set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            names = sorted(os.path.join(at, name) for at, inner, here in os.walk(path, onerror=None)
                           if _prune(inner) for name in here if name.endswith(SUFFIXES))  # fmt: skip
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


def _prune(folders: list[str]) -> bool:
    """Leave out hidden folders of a walk."""
    folders[:] = sorted(name for name in folders if not name.startswith("."))
    return True


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tested(file: str, asked: TestOptions) -> Tested | None:
    """The suite of a file, run; None where it, or its playbook, cannot be read, which is told."""
    from pathlib import Path

    from noetl.app.programs import program_of
    from noetl.app.suites.pool import shared_out
    from noetl.app.suites.verdict import as_json, judged, of_json
    from noetl.clients.compiler import CompileError, suite_bytes
    from noetl_ir.suite import read_suite

    try:
        data, said = suite_bytes(Path(file), asked.folders)
    except CompileError as problem:
        _tell(str(problem))
        return None
    if said and not asked.quiet:
        _tell(said)
    suite = read_suite(data)
    program = program_of(suite.plan)
    beside = Path(file).parent
    chosen = [number for number, case in enumerate(suite.cases) if asked.only in case.name]
    # A copy of the process costs some milliseconds, as much as a few cases.
    processes = min(asked.jobs, len(chosen) // _WORTH or 1)
    records = dict(
        shared_out(chosen, processes, lambda number: as_json(judged(suite, program, number, beside, asked.folders)))
    )
    verdicts = [of_json(records[number]) if number in records else _lost(suite, number) for number in chosen]
    if len(chosen) == len(suite.cases):
        verdicts = _with_idle(suite, verdicts)
    tested = Tested(suite, tuple(verdicts))
    from noetl.cli.test_report import tell_suite

    tell_suite(tested.suite, tested.verdicts, quiet=asked.quiet)
    return tested


_WORTH = 8
"""Cases for which another process is worth its start."""


def _lost(suite: Suite, number: int) -> Verdict:
    from noetl.app.suites.judging import Failure
    from noetl.app.suites.verdict import Verdict

    failure = Failure("the process that ran the case ended before it was done", suite.cases[number].span)
    return Verdict(number, (failure,), (), (), frozenset(), frozenset(), 0.0)


def _with_idle(suite: Suite, verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts with a failure for each outcome that was not used."""
    from noetl.app.suites.judging import Failure
    from noetl.app.suites.verdict import idle_outcomes

    found = list(verdicts)
    for case, place, uses, times in idle_outcomes(suite, verdicts):
        number = next(at for at, verdict in enumerate(found) if suite.cases[verdict.number] is case)
        often = f"was used only {uses} of {times} times" if uses else "was never used"
        failure = Failure(f"the outcome {often}: no attempt came to it, or an entry above fits first", place)
        found[number] = found[number]._replace(failures=(*found[number].failures, failure))
    return found


def _write(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as problem:
        raise Problem(f"{file} cannot be written: {problem.strerror}") from None


def _tell(text: str) -> None:
    click.echo("\n".join(escaped(line) for line in text.splitlines()), err=True)


def _tell_sum(found: list[Tested | None], seconds: float) -> None:
    verdicts = [verdict for each in found if each is not None for verdict in each.verdicts]
    failed, unread = sum(not each.ok for each in verdicts), sum(each is None for each in found)
    parts = [f"{amount(failed, 'case')} failed"] if failed else []
    parts += [f"{amount(len(verdicts) - failed, 'case')} passed"]
    parts += [f"{amount(unread, 'file')} cannot be read"] if unread else []
    click.echo(f"{', '.join(parts)} in {seconds:.2f} s")


COMMAND = test
