"""`python -m noetlc.cli.suite -o OUT [--coverage | --generate] [--path CATALOGUE]… FILE`: a file of tests as a suite.

With `--coverage` it has what a run of the playbook can reach; with `--generate` FILE is the playbook itself, and the
cases are runs that reach each part of it.

For `noetl test`, as the runtime has no YAML reader and no compiler of its own: it runs this in a bounded process. No
command of `noetlc`. Findings go to standard error as the compiler prints them; exit codes as everywhere: 0 no errors,
1 errors, 2 wrong usage.
"""

import os
import re
import sys
from collections.abc import Mapping as Mapping_
from collections.abc import Sequence

import click

from noetl_cli.excerpts import Palette
from noetl_cli.lazy_click import Misuse
from noetl_cli.masked_lines import MaskedLines
from noetl_ir.collecting import uncollected
from noetl_ir.plan import Plan
from noetl_ir.plan_format import write_plan
from noetl_ir.span import Span
from noetl_ir.suite import SUFFIXES, Suite, write_suite
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import Unusable, read, shown_name, write
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.diag.text import one_line, rendered
from noetlc.emit.event import EVENTS
from noetlc.pipeline import compile_source
from noetlc.reading.reader import Reader, Tables
from noetlc.source.nodes import Mapping
from noetlc.source.yaml_reader import Reading, read_yaml
from noetlc.suites.document import playbook_in, read_cases
from noetlc.suites.keychain import secret_texts
from noetlc.suites.known import known_of

_ERRORS, _USAGE = 1, 2


def suite_of(file: str, folders: Sequence[str], palette: Palette, *, coverage: bool = False) -> Suite | None:
    """The suite in a file, with what its playbook can reach where `coverage` is asked for; None where something is
    wrong with it or its playbook, which is told.
    """
    reading = read_yaml(shown_name(file), read(file))
    r = Reader(reading.source, Tables(), {})
    if len(reading.documents) != 1 or any(each.severity is Severity.ERROR for each in reading.diagnostics):
        _tell(reading, r, palette)
        if len(reading.documents) > 1:
            click.echo(f"{shown_name(file)}: expected one document, found {len(reading.documents)}", err=True)
        return None
    node = reading.documents[0]
    named = node.get("playbook") if isinstance(node, Mapping) else None
    name = playbook_in(r, node)
    if named is not None and name is None:
        _tell(reading, r, palette)
        return None
    playbook = os.path.join(os.path.dirname(file), name or _beside(file))
    try:
        data = read(playbook)
    except Unusable as problem:
        at = named.span if named is not None else Span(1, 1, 1, 1)
        help = "write `playbook: FILE`, from the folder of this file"
        r.report("NL026", f"its playbook cannot be read: {problem.message}", at, help=help)
        _tell(reading, r, palette)
        return None
    compiled = _compiled(playbook, data, folders, palette)
    if compiled is None:
        return None
    plan, embedded = compiled
    cases = read_cases(r, known_of(plan, tuple(sorted(EVENTS))), node)
    if _tell(reading, r, palette):
        return None
    secrets = secret_texts(reading.source, node)
    shown = shown_name(file), shown_name(playbook)
    suite = Suite(*shown, write_plan(plan), cases, secrets=secrets, sources=embedded)
    return _with_parts(suite, plan) if coverage else suite


def generated_suite(playbook: str, folders: Sequence[str], palette: Palette) -> Suite | None:
    """The suite of cases that reach what a playbook can; None where it does not compile, which is told."""
    from noetlc.suites.witnesses import witnesses_of

    compiled = _compiled(playbook, read(playbook), folders, palette)
    if compiled is None:
        return None
    plan, _ = compiled
    suite = _with_parts(Suite("", shown_name(playbook), write_plan(plan), ()), plan)
    return suite._replace(cases=witnesses_of(plan, suite.parts))


def _with_parts(suite: Suite, plan: Plan) -> Suite:
    from noetlc.suites.coverage import parts_of

    with uncollected():
        parts, never = parts_of(plan)
    return suite._replace(parts=parts, never=never)


def _beside(file: str) -> str:
    """The playbook that a file of tests is beside: `orders.test.yaml` tests `orders.yaml`."""
    name = os.path.basename(file)
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix) + suffix.removeprefix(".test")
    raise click.UsageError(f"{shown_name(file)}: say `playbook: FILE`, as its name is not PLAYBOOK{SUFFIXES[0]}")


def _compiled(
    playbook: str, data: bytes, folders: Sequence[str], palette: Palette
) -> tuple[Plan, Mapping_[str, bytes]] | None:
    """The plan of a playbook, and the sources of those in it; None where it has none, which is told."""
    compiled = compile_source(shown_name(playbook), data, Folders(folders))
    if compiled.count_of(Severity.ERROR):
        click.echo(text_of(compiled, palette), err=True, nl=False)
        return None
    if len(compiled.plans) != 1:
        # Of several nobody could say which one is tested.
        click.echo(f"{shown_name(playbook)}: expected one playbook, found {len(compiled.plans)}", err=True)
        return None
    return compiled.plans[0], next(one.embedded for one in compiled.documents if one.plan is not None)


def _tell(reading: Reading, r: Reader, palette: Palette) -> bool:
    """Print what was found; whether anything of it is an error."""
    found = sorted_findings([*reading.diagnostics, *r.findings])
    told = [each for each in found if each.severity >= Severity.WARNING]
    masked = MaskedLines(
        reading.source, [text for node in reading.documents for text in secret_texts(reading.source, node)]
    )
    # What is no YAML may hold secrets where nobody finds them: its lines are not shown, nor what a message quotes.
    unread = "keychain" in reading.source.text and any(each.severity is Severity.ERROR for each in reading.diagnostics)
    for each in told:
        shown = (
            one_line(_unquoted(each), masked, palette) if unread else rendered(_masked(each, masked), masked, palette)
        )
        click.echo(shown, err=True)
    return any(each.severity is Severity.ERROR for each in told)


def _unquoted(finding: Diagnostic) -> Diagnostic:
    return finding._replace(message=re.sub("`[^`]*`", "`…`", finding.message))


def _masked(finding: Diagnostic, masked: MaskedLines) -> Diagnostic:
    """A finding whose words hold no secret. A fix that would write one is left out."""
    fix = finding.fix
    if fix is not None and masked.masked(fix.text) != fix.text:
        fix = None
    return finding._replace(message=masked.masked(finding.message), help=masked.masked(finding.help), fix=fix)


def main(argv: Sequence[str]) -> int:
    """Write the suite of one file."""
    words = list(argv)
    target, folders, wishes = "", [], set[str]()
    while len(words) > 1:
        option = words.pop(0)
        if option == "-o":
            target = words.pop(0)
        elif option == "--path":
            folders.append(words.pop(0))
        else:
            wishes.add(option)
    palette = palette_of_stderr()
    try:
        if "--generate" in wishes:
            suite = generated_suite(words[0], folders, palette)
        else:
            suite = suite_of(words[0], folders, palette, coverage="--coverage" in wishes)
    except click.ClickException as problem:
        click.echo(f"error: {problem.format_message()}", err=True)
        return _USAGE
    except Misuse as misuse:
        click.echo(f"error: {misuse.message}", err=True)
        return _USAGE
    if suite is None:
        return _ERRORS
    write(target, write_suite(suite))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
