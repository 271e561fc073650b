"""lint: everything there is to say about playbooks, without compiling them."""

from noetl_cli import STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetlc.cli.files import expanded, only_playbooks
from noetlc.cli.findings import FAIL_ON
from noetlc.cli.gate import FORMATS, GateOptions, LintRun


@click.command("lint", short_help="Check playbooks and report what is wrong.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="full", help="How to report.")
@click.option("-o", "--output", metavar="FILE", default=STANDARD_INPUT, help="Where to report; - is standard output.")
@click.option("--select", multiple=True, metavar="CODES", help="Report only these: codes, beginnings, names, or ALL.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave these out.")
@click.option("--fail-on", type=click.Choice(list(FAIL_ON)), help="The least severity that fails (error).")
@click.option("--strict", is_flag=True, help="Warnings and notes fail too.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings that this file knows.")
@click.option("--write-baseline", metavar="FILE", help="Write a baseline of what is found, and succeed.")
@click.option("--fix", is_flag=True, help="Apply the fixes that cannot change the meaning by accident.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: apply the others too.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and change nothing.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
@click.option("--config", metavar="FILE", help="The configuration of all files, instead of the nearest above each.")
@click.option("--skip-others", is_flag=True, help="Pass by files that are no playbooks, also where they are named.")
@click.option("--cache/--no-cache", "cached", default=True, help="Remember what was found in unchanged files.")
@click.option("--cache-dir", metavar="FOLDER", help="Where to remember it.")
def lint_paths(paths: tuple[str, ...], skip_others: bool, **options: object) -> int:
    """Check playbooks and report what is wrong.

    PATH is a file, a folder or a glob (the playbooks among its .yaml and .yml files), or - for standard input.

    Calls of playbooks are followed into the files that are checked together, and into the folders of --path; with
    these a child that is nowhere is a finding, too.

    A comment `# noetl: ignore[CODE] reason` takes a finding back in its line, alone in a line in the next one.
    noetlc.toml or [tool.noetlc] in pyproject.toml, the nearest above a file, has the keys select, ignore,
    per-file-ignores, strict, fail-on, baseline and cache-dir.
    """
    asked = GateOptions(**options)  # type: ignore[arg-type]
    _refuse_misuse(asked, paths)
    named = only_playbooks(paths) if skip_others else paths
    # Nothing is left where all were passed by: a hook that gives what a commit changed has nothing to be told of.
    return LintRun(asked, expanded(named)).status() if named else 0


COMMAND = lint_paths


def _refuse_misuse(asked: GateOptions, paths: tuple[str, ...]) -> None:
    """Refuse options that contradict each other, or mean nothing together."""
    for option in ("output", "baseline", "write_baseline", "config", "cache_dir"):
        if getattr(asked, option) == "":
            raise click.UsageError(f"--{option.replace('_', '-')} needs a name")
    mends = asked.fix or asked.diff
    if asked.unsafe and not mends:
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    if asked.write_baseline is not None and mends:
        raise click.UsageError("--write-baseline and --fix or --diff exclude each other")
    if asked.write_baseline is not None and asked.baseline is not None:
        raise click.UsageError("--write-baseline and --baseline exclude each other")
    if asked.diff and (asked.form != "full" or asked.output != STANDARD_INPUT):
        raise click.UsageError("--diff prints a diff, and takes neither --format nor --output")
    if not asked.cached and asked.cache_dir is not None:
        raise click.UsageError("--no-cache and --cache-dir exclude each other")
    if asked.fix and STANDARD_INPUT in paths and len(paths) > 1:
        raise click.UsageError("--fix writes what it makes of standard input to standard output: give no other file")
