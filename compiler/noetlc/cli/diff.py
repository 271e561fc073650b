"""diff: what a change of a playbook changes in what it does."""

import os

import click

from noetl_cli import STANDARD_INPUT
from noetl_ir.plan import Plan
from noetlc.analysis.differences import Difference, differences_of
from noetlc.analysis.facts import Class
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import put, read, shown_name
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.cli.subjects import is_plan, plan_in
from noetlc.diag.diagnostic import Severity
from noetlc.emit import differences as emit
from noetlc.emit.differences import Pair
from noetlc.pipeline import compile_source

FORMATS = {"text": emit.text_of, "json": emit.json_of, "markdown": emit.markdown_of}


@click.command("diff", short_help="Show what a change changes in what a playbook does.")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", help="How to report.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
def diff_plans(old: str, new: str, form: str, folders: tuple[str, ...]) -> int:
    """Show what a change changes in what a playbook does.

    A and B are playbooks, plans, or REV:PATH, a file in a revision of git, as HEAD:jobs/load.yaml. - is standard input.

    Each change has a class: run (what can happen), resume (a run in flight cannot go on), data (what is computed),
    cosmetic (neither). Where behaviour is the same nothing is said: order, comments, spaces and names that nobody
    reads do not count.

    Exit codes: 0 the same behaviour, 1 another, 2 one of them is not to be had or does not compile.
    """
    if old == new == STANDARD_INPUT:
        raise click.UsageError("standard input can be one of the two")
    catalogue = Folders(folders)
    before, after = _plans(old, catalogue), _plans(new, catalogue)
    pairs = list(_pairs(shown_name(old), shown_name(new), before, after))
    put(STANDARD_INPUT, FORMATS[form](pairs).encode("utf-8", "backslashreplace"))
    return 1 if any(pair.acts for pair in pairs) else 0


COMMAND = diff_plans


def _pairs(old: str, new: str, before: list[Plan], after: list[Plan]) -> list[Pair]:
    """The documents of two files side by side: those of one path, and the only ones whatever their path."""
    # A playbook whose path changed is still the same file, and is compared.
    if len(before) == len(after) == 1:
        return [Pair(old, new, differences_of(before[0], after[0]))]
    pairs = []
    left = {plan.path: plan for plan in before}
    for plan in after:
        was = left.pop(plan.path, None)
        if was is None:
            pairs.append(Pair(old, new, (_whole("+", plan),)))
        else:
            pairs.append(Pair(old, new, differences_of(was, plan)))
    return [*pairs, *(Pair(old, new, (_whole("-", plan),)) for plan in left.values())]


def _whole(sign: str, plan: Plan) -> Difference:
    return Difference(Class.RUN, sign, f"playbook `{plan.path}`", plan.steps[plan.entry].span)


def _plans(name: str, catalogue: Folders) -> list[Plan]:
    """The plans that a file holds. What is not to be had or does not compile is wrong usage."""
    data = _content(name)
    if is_plan(data):
        return [plan_in(name, data)]
    compiled = compile_source(shown_name(name), data, catalogue)
    if compiled.count_of(Severity.ERROR) or not compiled.plans:
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        raise click.UsageError(f"{shown_name(name)} does not compile, and cannot be compared")
    return list(compiled.plans)


def _content(name: str) -> bytes:
    """The content of a file, or of one in a revision of git."""
    revision, colon, path = name.partition(":")
    # A file that is there wins over a revision of that name.
    if name == STANDARD_INPUT or os.path.exists(name) or not (revision and colon and path):
        return read(name)
    import subprocess

    # What begins with a dash would be an option to git.
    if revision.startswith("-"):
        raise click.UsageError(f"{name}: {revision!r} is no revision")
    try:
        # `cat-file` gives the bytes as they are; `git show` may convert them for reading.
        done = subprocess.run(["git", "cat-file", "blob", name], capture_output=True, check=False)
    except OSError as error:
        raise click.UsageError(f"{name}: git cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise click.UsageError(f"{name}: {said[-1].removeprefix('fatal: ') if said else 'git has no such file'}")
    return done.stdout
