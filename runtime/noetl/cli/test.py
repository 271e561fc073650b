"""test: run the tests of playbooks (`*.test.yaml`), on a virtual clock and without the world; make some."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noetl.cli.stores import existing_runtime, json_option, path_option, row_of, store_option
from noetl.cli.text import Problem, amount, escaped, json_text
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from noetl.app.suites.coverage import Coverage
    from noetl.cli.testing import RunOptions, Tested, UnreadSuite

FAILED = 1


class _Wanted(NamedTuple):
    """The wishes of the command line about what is told of the cases."""

    junit: str | None
    fail_under: int | None
    picture: str | None
    as_json: bool


@click.command("test", short_help="Test playbooks, without the world.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-k", "only", default="", metavar="TEXT", help="Only cases whose name holds this text.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes at once; by default one for each core.")
@click.option("--junit", metavar="FILE", help="Write the outcome as JUnit XML, too.")
@click.option("--coverage", is_flag=True, help="Tell which parts of the playbooks that can be reached were.")
@click.option("--fail-under", type=click.IntRange(0, 100), metavar="N", help="Fail where fewer percent were reached.")
@click.option("--picture", metavar="OUT", help="Draw the playbook with what was reached, as `noetlc graph -o OUT`.")
@click.option("--watch", is_flag=True, help="Run again whenever a file changes, until Ctrl-C.")
@click.option("--generate", "playbook", metavar="PLAYBOOK", help="Make the fewest cases that reach all of it.")
@click.option("--record", "execution", metavar="ID", help="Make a case of an execution that has ended.")
@click.option("-o", "--output", metavar="OUT", help="The file for cases that are made; by default standard output.")
@path_option
@store_option
@json_option
@click.option("--quiet", is_flag=True, help="Tell of what fails, and of nothing else.")
def test(
    paths: tuple[str, ...],
    only: str,
    jobs: int | None,
    junit: str | None,
    coverage: bool,
    fail_under: int | None,
    picture: str | None,
    watch: bool,
    playbook: str | None,
    execution: str | None,
    output: str | None,
    folders: tuple[Path, ...],
    url: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the tests in files and folders; by default those of this folder.

    A file of tests, NAME.test.yaml, stands beside its playbook NAME.yaml. Each of its cases is a run in memory, on a
    virtual clock, in a folder of its own: outcomes stand in for what has effects, python, sqlite and duckdb run.

    --generate and --record write a file of tests instead, with what the runs did: hold it against what they should do.

    Exit codes: 0 all cases do what is expected, 1 some do not or cannot be read, or too little is covered, 2 wrong
    usage.
    """
    if as_json and (watch or playbook is not None or execution is not None):
        raise click.UsageError("--json is one document about cases that are run: it goes with none of these options")
    if playbook is not None:
        return _generate(playbook, folders, output)
    if execution is not None:
        return _record(execution, url, output)
    from noetl.cli.testing import RunOptions
    from noetl.tools.python.pool import cores_here

    covering = coverage or fail_under is not None or picture is not None
    asked = RunOptions(folders, only, jobs or cores_here(), quiet, covering)
    wanted = paths or (".",)
    while True:
        # Looked at before the run: what changes while it goes on is a change, too.
        before = _times(wanted, folders) if watch else {}
        code, found = _once(wanted, asked, _Wanted(junit, fail_under, picture, as_json))
        if not watch:
            return code
        _wait_for_a_change(before, wanted, folders, [each.suite.playbook for each in found])
        click.echo("")


def _once(paths: tuple[str, ...], asked: RunOptions, wanted: _Wanted) -> tuple[int, list[Tested]]:
    from noetl.app.suites.coverage import coverage_of, merged_coverage
    from noetl.cli.test_report import tell_coverage, tell_suite
    from noetl.cli.testing import UnreadSuite, files_in, tested

    begun = time.monotonic()
    told: list[Tested] = []
    unread: list[UnreadSuite] = []
    for file in files_in(paths):
        found = tested(file, asked)
        if isinstance(found, UnreadSuite):
            unread.append(found)
            continue
        told.append(found)
        if not wanted.as_json:
            tell_suite(found.suite, found.verdicts, quiet=asked.quiet)
    # In a file that cannot be read there may be such a case; what is wrong with the file is told.
    if asked.only and not unread and not any(each.verdicts for each in told):
        raise Problem(f"no case has a name with `{asked.only}` in it")
    pairs = [(each.suite, each.verdicts) for each in told]
    if wanted.junit is not None:
        from noetl.app.suites.junit import junit_of

        _write(wanted.junit, junit_of(pairs))
    rows = merged_coverage([coverage_of(*pair) for pair in pairs]) if asked.coverage else None
    seconds = time.monotonic() - begun
    if wanted.as_json:
        from noetl.app.suites.document import document_of

        click.echo(json_text(document_of(pairs, unread, rows, seconds)))
    else:
        _tell_sum(told, len(unread), seconds)
        for row in rows or ():
            tell_coverage(row)
    code = 0 if not unread and all(each.ok for each in told) else FAILED
    if rows is not None:
        code = max(code, _fallen_short(rows, wanted.fail_under))
        if wanted.picture is not None:
            _draw(rows, asked.folders, wanted.picture)
    return code, told


def _fallen_short(rows: Sequence[Coverage], least: int | None) -> int:
    """Whether too little of a playbook is covered, as an exit code; tells of which."""
    short = [row for row in rows if least is not None and row.percent < least]
    for row in short:
        click.echo(f"{escaped(row.playbook)}: {row.percent:.1f} % are less than {least} %", err=True)
    return FAILED if short else 0


def _draw(rows: Sequence[Coverage], folders: tuple[Path, ...], target: str) -> None:
    import json

    from noetl.app.suites.coverage import coverage_document
    from noetl.clients.compiler import CompileError, draw_coverage

    if len(rows) != 1:
        raise click.UsageError(f"--picture is of one playbook, and these are tests of {len(rows)}")
    try:
        draw_coverage(rows[0].playbook, folders, target, json.dumps(coverage_document(rows[0])).encode())
    except CompileError as problem:
        raise Problem(str(problem)) from None


def _tell_sum(told: Sequence[Tested], unread: int, seconds: float) -> None:
    verdicts = [verdict for each in told for verdict in each.verdicts]
    failed = sum(not each.ok for each in verdicts)
    parts = [f"{amount(failed, 'case')} failed"] if failed else []
    parts += [f"{amount(len(verdicts) - failed, 'case')} passed"]
    parts += [f"{amount(unread, 'file')} cannot be read"] if unread else []
    click.echo(f"{', '.join(parts)} in {seconds:.2f} s")


def _write(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as problem:
        raise Problem(f"{file} cannot be written: {problem.strerror}") from None


def _put_new(output: str | None, text: str) -> None:
    """Write a file of tests that is not there yet, or standard output."""
    if output is None or output == "-":
        click.echo(text, nl=False)
        return
    # What somebody wrote into it, expectations above all, is nowhere else.
    if os.path.exists(output):
        raise Problem(f"{output} is there already: name another file, or add to it what is printed without -o")
    _write(output, text)


def _generate(playbook: str, folders: tuple[Path, ...], output: str | None) -> int:
    from pathlib import Path

    from noetl.app.suites.generating import generated
    from noetl.app.suites.inventing import with_invented
    from noetl.cli.testing import tell_lines
    from noetl.clients import compiler
    from noetl_ir.suite import read_suite

    try:
        data, _ = compiler.suite_bytes(Path(playbook), folders, "generate")
    except compiler.CompileError as problem:
        tell_lines(str(problem))
        return FAILED
    made = generated(with_invented(read_suite(data)), folders)
    _put_new(output, made.text)
    reach = "reaches" if made.cases == 1 else "reach"
    click.echo(f"{amount(made.cases, 'case')} {reach} {made.reached} of {made.parts} parts of the playbook", err=True)
    return 0


def _record(execution: str, url: str, output: str | None) -> int:
    from noetl.app.suites.recording import recorded_suite
    from noetl.ports import Wanted

    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        if row.ended is None:
            raise Problem(f"execution {row.execution_id} is not over: there is no end yet that a run could be held to")
        text = recorded_suite(runtime, row)
        _put_new(output, text)
        if runtime.store.executions(Wanted(parent=row.execution_id, limit=1)):
            click.echo(
                "note: what the playbooks that it called came to is not recorded: write their outcomes", err=True
            )
    return 0


_LOOK_EVERY = 0.3
"""Seconds between two looks at the files that are watched."""


def _wait_for_a_change(
    before: dict[str, int], paths: tuple[str, ...], folders: tuple[Path, ...], playbooks: Sequence[str]
) -> None:
    # Playbooks that lie elsewhere are known since the run.
    known = {**_times(paths, folders, playbooks), **before}
    while _times(paths, folders, playbooks) == known:
        time.sleep(_LOOK_EVERY)


def _times(paths: tuple[str, ...], folders: tuple[Path, ...], playbooks: Sequence[str] = ()) -> dict[str, int]:
    """When the YAML files beside the tests, the playbooks and the catalogues were written, in nanoseconds."""
    from noetl.cli.testing import files_in

    names = [*files_in(paths), *playbooks]
    for folder in {*(os.path.dirname(name) or "." for name in names), *map(str, folders)}:
        names += [entry.path for entry in os.scandir(folder) if entry.name.endswith((".yaml", ".yml"))]
    times: dict[str, int] = {}
    for name in names:
        try:
            times[name] = os.stat(name).st_mtime_ns
        except OSError:  # it goes at this moment: editors replace files
            times[name] = 0
    return times


COMMAND = test
