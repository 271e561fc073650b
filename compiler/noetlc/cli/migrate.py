"""migrate: legacy playbooks rewritten as canonical source."""

import sys
from typing import NamedTuple

import click

from noetlc.cli.cores import over_cores
from noetlc.cli.files import STANDARD_INPUT, expanded, put, read, shown
from noetlc.cli.migration_report import Row, json_report, markdown_report, text_of_row, text_report
from noetlc.diag.text import ANSI, PLAIN, Palette, rendered
from noetlc.migrate.migration import Migration, checked, migrated

BROKEN = 3


class _Work(NamedTuple):
    """A file, whether its new text is made, and in what colours its problems are shown."""

    name: str
    check: bool
    palette: Palette


@click.command("migrate", short_help="Rewrite older dialects as canonical source.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--check", is_flag=True, help="Write nothing; fail when a file would change.")
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
    never written.

    Exit codes: 0 done, 1 a file cannot be migrated, or would change under --check.
    """
    del to  # there is one form
    if check + diff + write > 1:
        raise click.UsageError("--check, --diff and --write exclude each other")
    names = expanded(paths)
    if not names:
        raise click.UsageError("there is no playbook under these paths")
    palette = ANSI if sys.stdout.isatty() else PLAIN
    rows = list(over_cores(_migrated, [_Work(name, check, palette) for name in names]))
    source = form is None and not check and not diff and (len(names) == 1 if not write else names == [STANDARD_INPUT])
    if write:
        _write(rows)
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


def _migrated(work: _Work) -> Row:
    data = read(work.name)
    made: Migration = checked(shown(work.name), data) if work.check else migrated(shown(work.name), data)
    texts = tuple(rendered(problem, made.source, work.palette) for problem in made.problems)
    return Row(work.name, made.changes, made.problems, texts, data, made.after, made.is_broken)


def _write(rows: list[Row]) -> None:
    """Write what changed, each file whole or not at all."""
    for row in rows:
        if row.after is not None and row.after != row.before and row.name != STANDARD_INPUT:
            put(row.name, row.after)


def _show_source(row: Row) -> None:
    """The new source on standard output, what changed on standard error."""
    if row.after is not None:
        put(STANDARD_INPUT, row.after)
    if row.changes or row.problems:
        click.echo(text_of_row(row), err=True, nl=False)


def _show_diffs(rows: list[Row]) -> None:
    from difflib import unified_diff

    for row in rows:
        if row.after is None:
            click.echo(text_of_row(row), err=True, nl=False)
            continue
        old, new = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (row.before, row.after))
        name = shown(row.name)
        for line in unified_diff(old, new, f"a/{name}", f"b/{name}"):
            end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
            put(STANDARD_INPUT, (line + end).encode())
