"""compile: playbooks to plans, JSON plans or canonical source."""

import os
import sys
from collections.abc import Sequence

from noetl_cli import BROKEN, STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import expanded, put, read_playbook, shown_name
from noetlc.cli.findings import (
    Counts,
    counts_of,
    fail_on_option,
    palette_of_stderr,
    strict_option,
    text_of,
    threshold_of,
)
from noetlc.diag.diagnostic import Severity
from noetlc.diag.selection import INTERNAL
from noetlc.pipeline import Compiled, compile_source

ENDINGS = {"plan": ".ir", "json": ".ir.json", "canonical": ".canonical.yaml"}


@click.command("compile", short_help="Compile playbooks to plans.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="The file to write, for several inputs the folder, which FOLDER/ makes; - is standard output.",
)
@click.option("--format", "form", type=click.Choice(list(ENDINGS)), default="plan", help="What to write.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
@click.option("--sources", is_flag=True, help="Write what each plan was compiled from beside it: NAME.ir.sources.")
@strict_option
@fail_on_option
def compile_files(
    files: tuple[str, ...],
    output: str | None,
    form: str,
    folders: tuple[str, ...],
    sources: bool,
    strict: bool,
    fail_on: str,
) -> int:
    """Compile playbooks to plans.

    Each FILE (- is standard input) gives a file beside it: its name with .ir, .ir.json or .canonical.yaml. A folder
    or a glob stands for the playbooks among its .yaml and .yml files. The documents of a file with several give
    NAME.0.ir, NAME.1.ir and so on. When any FILE fails nothing is written.

    With --sources, `noetl run NAME.ir` and `noetl register NAME.ir` take along the source of the playbook and of each
    child that is compiled in, so that errors show their lines. The plan is the same.
    """
    names = expanded(files)
    _check_sources(names, output, form, asked=sources)
    to_terminal = (output == STANDARD_INPUT or (output is None and STANDARD_INPUT in names)) and sys.stdout.isatty()
    if form == "plan" and to_terminal:
        raise click.UsageError("a plan is binary and no text for a terminal: write -o FILE, or --format json")
    catalogue = Folders(folders)
    counts, outputs, broken = Counts(), dict[str, bytes](), False
    threshold = min(threshold_of(fail_on, strict=strict), Severity.ERROR)
    for name in names:
        text = read_playbook(name)
        compiled = compile_source(shown_name(name), text, catalogue, at_least=threshold)
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        counts = counts.plus(counts_of(compiled))
        broken |= any(one.code == INTERNAL for one in compiled.diagnostics)
        # After the first file that fails the others are compiled for their findings alone.
        if not counts.reach(threshold):
            target = _target(name, output, form, several=len(names) > 1)
            named = _named(target, _emitted(compiled, form), form)
            for place, data in [*named, *(_sources(compiled, named, text) if sources else [])]:
                # Inputs of one name from two folders would overwrite each other in the folder of outputs.
                if place in outputs and place != STANDARD_INPUT:
                    raise click.UsageError(f"two files would be written to {place!r}")
                outputs[place] = outputs.get(place, b"") + data
    if counts.reach(threshold):
        click.echo(f"{counts}: nothing is written", err=True)
        return BROKEN if broken else 1
    # Written at the end: all or nothing.
    for place, data in outputs.items():
        if place != STANDARD_INPUT and output is not None and os.path.dirname(place) == output.rstrip(_SLASHES):
            _make_folder(output)
        put(place, data)
    return 0


COMMAND = compile_files

_SLASHES = os.sep + (os.altsep or "")
_ENDS = tuple(_SLASHES)


def _make_folder(name: str) -> None:
    """Make the folder of the outputs, where it is not there. Raises UsageError."""
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as problem:
        raise click.UsageError(f"-o: the folder {name!r} cannot be made: {problem.strerror}") from None


def _emitted(compiled: Compiled, form: str) -> list[bytes]:
    """The plans that the documents of a file become."""
    if form == "canonical":
        from noetlc.ast.printing import printed

        books = [one.playbook for one in compiled.documents if one.playbook is not None]
        # One file with all documents, as it was: canonical source is to be read and compiled again.
        return ["---\n".join(map(printed, books)).encode("utf-8", "backslashreplace")]
    if form == "json":
        from noetlc.emit import json

        return [json.emitted(plan) for plan in compiled.plans]
    from noetl_ir.plan_format import write_plan

    return [write_plan(plan) for plan in compiled.plans]


def _check_sources(names: Sequence[str], output: str | None, form: str, *, asked: bool) -> None:
    """Raises UsageError where no file of sources can lie beside what is written."""
    if asked and form == "canonical":
        raise click.UsageError("--sources goes with plans: canonical source is read as it is")
    if asked and STANDARD_INPUT in ((output,) if output is not None else names):
        raise click.UsageError("--sources writes a file beside the plan: give the plan a name with -o FILE")


def _sources(compiled: Compiled, named: list[tuple[str, bytes]], text: bytes) -> list[tuple[str, bytes]]:
    """The sources of the plans of a file, each beside its own."""
    from noetl_ir.plan_format import MAGIC, digest_of, write_plan
    from noetl_ir.plan_sources import ENDING, write_sources

    found = list[tuple[str, bytes]]()
    for (place, data), document in zip(named, compiled.documents, strict=True):
        if document.plan is not None:
            digest = digest_of(data if data.startswith(MAGIC) else write_plan(document.plan))
            found.append((place + ENDING, write_sources({digest: text, **document.embedded})))
    return found


def _target(name: str, output: str | None, form: str, *, several: bool) -> str:
    """The output file of an input, before its documents are told apart."""
    if output is None:
        return STANDARD_INPUT if name == STANDARD_INPUT else os.path.splitext(name)[0] + ENDINGS[form]
    is_folder = os.path.isdir(output) or (output.endswith(_ENDS) and not os.path.exists(output.rstrip(_SLASHES)))
    if output == STANDARD_INPUT or not (several or is_folder):
        return output
    if not is_folder:
        isnt = (
            "a file" if os.path.exists(output.rstrip(_SLASHES)) else f"none: write {output + os.sep!r} to have it made"
        )
        raise click.UsageError(f"-o: several files need a folder, and {output!r} is {isnt}")
    base = "stdin" if name == STANDARD_INPUT else os.path.splitext(os.path.basename(name))[0]
    return os.path.join(output.rstrip(_SLASHES) or output, base + ENDINGS[form])


def _named(target: str, documents: list[bytes], form: str) -> list[tuple[str, bytes]]:
    """The output of each document: the target alone, or numbered where there are several."""
    if len(documents) == 1:
        return [(target, documents[0])]
    if target == STANDARD_INPUT:
        raise click.UsageError("the file has several documents: give them a name with -o")
    ending = ENDINGS[form] if target.endswith(ENDINGS[form]) else os.path.splitext(target)[1]
    stem = target[: len(target) - len(ending)] if ending else target
    return [(f"{stem}.{number}{ending}", data) for number, data in enumerate(documents)]
