"""lint: everything there is to say about playbooks, without compiling them."""

from collections.abc import Iterator
from typing import NamedTuple

import click

from noetl_ir.expr import Json
from noetlc.cli.cores import over_cores
from noetlc.cli.files import expanded, read_playbook, shown
from noetlc.cli.findings import (
    Counts,
    counts_of,
    fail_on_option,
    palette_of,
    strict_option,
    text_of,
    threshold_of,
)
from noetlc.diag.json import diagnostic_json
from noetlc.diag.text import Palette
from noetlc.pipeline import check_source
from noetlc.rules import slug_of


class Checked(NamedTuple):
    """What is known of one file: its findings as text, or as JSON rows, and their counts."""

    text: str
    rows: list[dict[str, Json]]
    counts: Counts


@click.command("lint", short_help="Check playbooks and report what is wrong.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to report.")
@strict_option
@fail_on_option
def lint_paths(paths: tuple[str, ...], form: str, strict: bool, fail_on: str) -> int:
    """Check playbooks and report what is wrong.

    PATH is a file, a folder or a glob (the playbooks among its .yaml and .yml files), or - for standard input.
    """
    names = expanded(paths)
    counts, rows = Counts(), list[dict[str, Json]]()
    for checked in _checked(names, form):
        counts = counts.plus(checked.counts)
        rows += checked.rows
        if checked.text:
            click.echo(checked.text)
    if form == "json":
        import json

        click.echo(json.dumps(rows, indent=1))
    else:
        click.echo(f"{counts} in {len(names)} file{'s' if len(names) != 1 else ''}", err=True)
    return 1 if counts.reach(threshold_of(fail_on, strict=strict)) else 0


COMMAND = lint_paths


def _checked(names: list[str], form: str) -> Iterator[Checked]:
    """Each file's findings in the order of the names, over the cores there are when there are many files."""
    import sys

    palette = palette_of(sys.stdout)
    yield from over_cores(_check, [(name, form, palette) for name in names])


def _check(work: tuple[str, str, Palette]) -> Checked:
    name, form, palette = work
    compiled = check_source(shown(name), read_playbook(name))
    counts = counts_of(compiled)
    if form == "json":
        rows = [diagnostic_json(each, compiled.source.name, slug_of(each.code)) for each in compiled.diagnostics]
        return Checked("", rows, counts)
    return Checked(text_of(compiled, palette), [], counts)
