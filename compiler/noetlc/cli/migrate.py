"""migrate: legacy playbooks rewritten as canonical source."""

import sys

import click

from noetl_cli import BROKEN, STANDARD_INPUT
from noetl_cli.excerpts import Palette
from noetl_ir.records import NamedTuple
from noetlc.cli.files import Unusable, expanded, over_cores, put, put_diff, read, shown_name
from noetlc.cli.findings import palette_of
from noetlc.cli.migration_report import (
    MigratedFile,
    json_report,
    markdown_report,
    review_of_row,
    text_of_row,
    text_report,
)
from noetlc.diag.text import rendered
from noetlc.migrate.dialect import CANONICAL, dialect_of_file
from noetlc.migrate.migration import glanced, migrated
from noetlc.source.decoding import decode


class _Work(NamedTuple):
    """A file, and in what colours its problems are shown."""

    name: str
    palette: Palette


class _Seen(NamedTuple):
    """The line that a check tells of a file, "" for nothing, and whether it fails for it."""

    text: str
    would_change: bool
    refused: bool


@click.command("migrate", short_help="Rewrite older dialects as canonical source.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--check", is_flag=True, help="Say which files would change, and fail when one would.")
@click.option("--diff", is_flag=True, help="Print what would change.")
@click.option("--write", is_flag=True, help="Rewrite the files in place.")
@click.option("--to", type=click.Choice(["canonical"]), default="canonical", help="The form to write.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), help="Report in this form.")
def migrate_paths(paths: tuple[str, ...], check: bool, diff: bool, write: bool, to: str, form: str | None) -> int:
    """Rewrite older dialects as canonical source.

    PATH is a file, a folder (its .yaml and .yml files), a glob, or - for standard input. Of one file the new source
    is printed, of several a report; --format asks for a report in any case.

    What no pass touched stays as it is, with comments, order of keys and quotes. Each change has a class: exact,
    safe (the old engines disagreed), or review (look at it). A new text that does not compile to the same plan is
    never written, with one exception: names that nothing declares are written as keys of the payload, workload.NAME,
    each a change of the class review. With --check the changes are listed only in a report.

    Exit codes: 0 done, 1 a file cannot be migrated, or would change under --check.
    """
    del to  # there is one form
    if check + diff + write > 1:
        raise click.UsageError("--check, --diff and --write exclude each other")
    names = expanded(paths)
    if not names:
        raise click.UsageError("there is no playbook under these paths")
    palette = palette_of(sys.stdout)
    if check and form is None:
        return _check(names, palette)
    # All files first, then all writing: an exception in one of them leaves all as they were.
    rows = list(over_cores(_migrated, [_Work(name, palette) for name in names]))
    source = form is None and not check and not diff and (len(names) == 1 if not write else names == [STANDARD_INPUT])
    if write:
        rows = [_written(row, palette) for row in rows]
    if diff and form is None:
        _show_diffs(rows)
    elif source:
        _show_source(rows[0])
    else:
        click.echo({"json": json_report, "markdown": markdown_report}.get(form or "", text_report)(rows), nl=False)
    if any(row.broken for row in rows):
        return BROKEN
    return 1 if any(row.problems or (check and row.changes) for row in rows) else 0


COMMAND = migrate_paths


def _check(names: list[str], palette: Palette) -> int:
    """Say which files would change. Their changes are not worked out: CI asks this on every push."""
    seen = list(over_cores(_seen, [_Work(name, palette) for name in names]))
    click.echo("".join(each.text for each in seen), nl=False)
    changing, refused = sum(each.would_change for each in seen), sum(each.refused for each in seen)
    told = f", {refused} cannot be migrated" if refused else ""
    click.echo(f"{changing} of {len(names)} file{'' if len(names) == 1 else 's'} would change{told}", err=True)
    return 1 if changing or refused else 0


def _seen(work: _Work) -> _Seen:
    name = shown_name(work.name)
    try:
        data = read(work.name)
    except Unusable as problem:
        return _Seen(f"{name}: cannot be migrated\n{_unusable_text(name, problem, work.palette)}", False, True)
    glance = glanced(name, data)
    if glance.problems:
        problems = "".join(rendered(problem, glance.source, work.palette) for problem in glance.problems)
        return _Seen(f"{name}: cannot be migrated\n{problems}", False, True)
    if not glance.places:
        return _Seen("", False, False)
    count, line = len(glance.places), glance.places[0].line
    where = f"in line {line}" if count == 1 else f"in {count} places, from line {line} on"
    return _Seen(f"{name}: would change {where}\n", True, False)


def _unusable_text(name: str, problem: Unusable, palette: Palette) -> str:
    return rendered(problem.finding(), decode(name, b"")[0], palette)


def _migrated(work: _Work) -> MigratedFile:
    try:
        data = read(work.name)
    except Unusable as problem:
        text = _unusable_text(shown_name(work.name), problem, work.palette)
        return MigratedFile(work.name, "", (), (problem.finding(),), (text,), b"", None, False)
    made = migrated(shown_name(work.name), data)
    texts = tuple(rendered(problem, made.source, work.palette) for problem in made.problems)
    # Asked of files with changes only: it reads the file again.
    dialect = dialect_of_file(work.name, data) if made.changes or made.problems else CANONICAL
    return MigratedFile(work.name, dialect, made.changes, made.problems, texts, data, made.after, made.is_broken)


def _written(row: MigratedFile, palette: Palette) -> MigratedFile:
    """Write what changed, whole or not at all; a file that cannot be written is refused."""
    # An unchanged file keeps its time, by which build tools know it.
    if row.after is None or row.after == row.before or row.name == STANDARD_INPUT:
        return row
    try:
        put(row.name, row.after)
    except Unusable as problem:
        text = _unusable_text(shown_name(row.name), problem, palette)
        return row._replace(problems=(problem.finding(),), texts=(text,))
    return row


def _show_source(row: MigratedFile) -> None:
    """The new source on standard output, what changed on standard error."""
    if row.after is not None:
        put(STANDARD_INPUT, row.after)
    if row.changes or row.problems:
        click.echo(text_of_row(row), err=True, nl=False)


def _show_diffs(rows: list[MigratedFile]) -> None:
    for row in rows:
        if row.after is None:
            click.echo(text_of_row(row), err=True, nl=False)
        else:
            put_diff(row.name, row.before, row.after)
            click.echo(review_of_row(row), err=True, nl=False)
