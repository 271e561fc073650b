"""graph: a playbook as a picture, with findings, proofs or an execution painted on it."""

import sys
from collections.abc import Callable
from os.path import splitext
from typing import TYPE_CHECKING, NamedTuple

import click

from noetlc.cli.files import STANDARD_INPUT, put, read_playbook, shown
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.diag.diagnostic import Severity

if TYPE_CHECKING:  # each command line needs a few of them
    from noetl_ir.plan import Plan
    from noetlc.ast.playbook import Playbook
    from noetlc.emit.pictures.execution import Log
    from noetlc.emit.pictures.picture import Picture
    from noetlc.pipeline import Compiled

LEVELS = ("steps", "tasks", "net", "states")
FORMATS = ("mermaid", "dot", "svg", "png", "html", "pnml", "json")
SUFFIXES: dict[str, str] = {".mmd": "mermaid", ".gv": "dot", ".htm": "html", **{f".{form}": form for form in FORMATS}}
ALONE = frozenset({"svg", "png", "pnml"})
"""Formats with one picture a file."""

BOXES = {"svg": 80, "png": 80}
"""How many boxes are drawn where `--boxes` does not say it; other formats fold by their own limits, or not."""


class Asked(NamedTuple):
    """What the command line asks for."""

    level: str
    form: str
    findings: tuple[str, ...]
    analysis: bool
    log: "Log | None"
    boxes: int | None
    limit: int


@click.command("graph", short_help="Draw a playbook, with findings or an execution on it.")
@click.argument("file", metavar="FILE")
@click.option("--level", type=click.Choice(LEVELS), help="What to draw: steps, unless the format is pnml.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default what OUT ends in, else mermaid.")
@click.option("--finding", "findings", multiple=True, metavar="CODE", help="Paint findings, or the run of a proof.")
@click.option("--analysis", is_flag=True, help="Paint how often each step can run, and what is refuted.")
@click.option("--run", "execution", metavar="ID", help="Paint an execution; `last` is the newest.")
@click.option("--store", metavar="URL", help="Where the execution is kept, as for `noetl events`.")
@click.option("--events", metavar="LOG", help="Paint the execution whose log `noetl events ID --json` wrote.")
@click.option(
    "--boxes", type=click.IntRange(0), metavar="N", help="Fold parts until N boxes are left; 0 folds nothing."
)
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="States to draw.")
@click.option("--document", type=click.IntRange(1), metavar="N", help="The N-th playbook of the file alone.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
@click.option("-o", "--output", metavar="OUT", default=STANDARD_INPUT, help="The file to write.")
def graph_playbook(
    file: str,
    level: str | None,
    form: str | None,
    findings: tuple[str, ...],
    analysis: bool,
    execution: str | None,
    store: str | None,
    events: str | None,
    boxes: int | None,
    limit: int,
    document: int | None,
    folders: tuple[str, ...],
    output: str,
) -> int:
    """Draw a playbook: its steps, its tasks, its net, or the states that the net can reach.

    Arcs that only a failure takes are dashed. SVG and PNG have at most 80 boxes: parts with one way in and one way out
    are folded (--boxes). An HTML page has all of them, folds and unfolds, and shows the source.

    CODE is the code or name of a finding, `all`, a proof (stuck, cycle, dead, bounds), or a question as
    `noetlc analyze --query` has it; its run is painted step by step.
    """
    form = form or SUFFIXES.get(splitext(output)[1].lower(), "mermaid")
    level = level or ("net" if form == "pnml" else "steps")
    if form == "pnml" and level != "net":
        raise click.UsageError("PNML is a format for nets: leave --level out")
    if form == "png" and output == STANDARD_INPUT and sys.stdout.isatty():
        raise click.UsageError("a PNG is no text: name a file, as -o picture.png")
    if execution is not None and events is not None:
        raise click.UsageError("--run and --events are two ways to name one execution")
    asked = Asked(level, form, findings, analysis, _log(execution, store, events), boxes, limit)
    data = read_playbook(file)
    compiled = _compiled(file, data, folders)
    if compiled.count_of(Severity.ERROR):
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        return 1
    rows = _documents(compiled, document, form)
    if any(_code(name) is not None for name in findings):
        compiled = _checked(compiled, file, data)
    put(output, _written(compiled, rows, asked))
    return 0


COMMAND = graph_playbook

PROOFS = {
    "stuck": "nothing can get stuck",
    "cycle": "every cycle has an exit",
    "dead": "every part can run",
    "bounds": "tokens are bounded",
}
"""Short names of the questions of soundness."""


def _compiled(file: str, data: bytes, folders: tuple[str, ...]) -> "Compiled":
    from noetlc.cli.catalogue import Folders
    from noetlc.pipeline import compile_source

    return compile_source(shown(file), data, Folders(folders))


def _checked(compiled: "Compiled", file: str, data: bytes) -> "Compiled":
    """With what the rules on nets find, too, which costs more than a picture."""
    from noetlc.pipeline import check_source

    found = dict.fromkeys((*compiled.diagnostics, *check_source(shown(file), data).diagnostics))
    return compiled._replace(diagnostics=tuple(sorted(found, key=lambda one: one.order)))


def _documents(compiled: "Compiled", number: int | None, form: str) -> "list[tuple[Playbook, Plan | None]]":
    rows = [(one.playbook, one.plan) for one in compiled.documents if one.playbook is not None]
    if number is not None:
        if number > len(rows):
            raise click.UsageError(f"the file has {len(rows)} playbooks and no {number}th")
        return [rows[number - 1]]
    if form in ALONE and len(rows) > 1:
        raise click.UsageError(f"the file has {len(rows)} playbooks, and {form} holds one: choose it, as --document 1")
    return rows


def _written(compiled: "Compiled", rows: "list[tuple[Playbook, Plan | None]]", asked: Asked) -> bytes:
    if asked.form == "pnml":
        from noetlc.emit.pnml import emitted as pnml

        return pnml(_needed(rows[0][1])).encode("utf-8")
    pictures = [_picture(compiled, playbook, plan, asked) for playbook, plan in rows]
    return FORM[asked.form](pictures, compiled, asked)


def _picture(compiled: "Compiled", playbook: "Playbook", plan: "Plan | None", asked: Asked) -> "Picture":
    """The picture of one playbook with everything painted on it, parts folded where the format needs it."""
    picture = _bare(playbook, plan, asked)
    for name in asked.findings:
        picture = _with_finding(picture, compiled, plan, name)
    if asked.analysis:
        from noetlc.analysis.report import report_of
        from noetlc.analysis.verdict import Status
        from noetlc.emit.pictures.story import with_extents, with_verdict

        report = report_of(_needed(plan))
        picture = with_extents(picture, report.extents)
        for verdict in report.verdicts:
            bare = verdict._replace(story=None)  # the runs would lie over each other
            picture = with_verdict(picture, _needed(plan), bare)
        if all(verdict.status is Status.PROVED for verdict in report.verdicts):
            picture = picture.saying("Sound.")
    if asked.log is not None:
        from noetl_ir.plan_format import digest_of, write_plan
        from noetlc.emit.pictures.execution import with_execution

        picture = with_execution(picture, _needed(plan), asked.log, digest_of(write_plan(_needed(plan))))
    most = asked.boxes if asked.boxes is not None else BOXES.get(asked.form, 0)
    if not most or asked.form == "html" or len(picture.nodes) <= most:
        return picture
    from noetlc.emit.pictures.regions import folded

    return folded(picture, most)


def _bare(playbook: "Playbook", plan: "Plan | None", asked: Asked) -> "Picture":
    if asked.level == "net":
        from noetlc.emit.pictures.net import net_of

        return net_of(_needed(plan))
    if asked.level == "states":
        from noetlc.emit.pictures.states import states_of

        return states_of(_needed(plan), asked.limit)
    from noetlc.emit.pictures.steps import steps_of, tasks_of

    return tasks_of(playbook) if asked.level == "tasks" else steps_of(playbook)


def _with_finding(picture: "Picture", compiled: "Compiled", plan: "Plan | None", name: str) -> "Picture":
    from noetlc.emit.pictures.story import with_findings, with_verdict

    code = _code(name)
    if code is not None:
        found = [one for one in compiled.diagnostics if code in ("", one.code)]
        return with_findings(picture, found) if found else picture.saying(f"No finding {name}.")
    from noetlc.analysis.queries import QueryError
    from noetlc.analysis.report import report_of

    question = PROOFS.get(name, name)
    try:
        report = report_of(_needed(plan), [] if name in PROOFS else [name])
    except QueryError as problem:
        raise click.UsageError(
            f"--finding {name}: no code or name of a finding, no proof, and no question: {problem}"
        ) from None
    for verdict in report.verdicts:
        if verdict.question == question:
            return with_verdict(picture, _needed(plan), verdict)
    return picture


def _code(name: str) -> str | None:
    """The code of a finding by code or name, "" for all; None where there is no such finding."""
    from noetlc.rules import every_code

    if name == "all":
        return ""
    words = (name.upper(), name.lower().replace("_", "-"))
    return next((code for code, entry in every_code().items() if code == words[0] or entry.slug == words[1]), None)


def _needed(plan: "Plan | None") -> "Plan":
    assert plan is not None, "a playbook without errors has a plan"
    return plan


def _log(execution: str | None, store: str | None, events: str | None) -> "Log | None":
    if execution is None and events is None:
        return None
    from noetlc.cli.execution_log import read_log

    return read_log(execution, store, events)


Form = Callable[["list[Picture]", "Compiled", Asked], bytes]


def _mermaid(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    from noetlc.emit.pictures.mermaid import emitted

    return "\n".join([emitted(picture) for picture in pictures]).encode("utf-8")


def _dot(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    from noetlc.emit.pictures.dot import emitted

    return "\n".join([emitted(picture) for picture in pictures]).encode("utf-8")


def _json(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    import json

    from noetlc.emit.pictures.json import document_of

    documents = [document_of(picture) for picture in pictures]
    return (json.dumps(documents[0] if len(documents) == 1 else documents, indent=1) + "\n").encode("ascii")


def _svg(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    from noetlc.emit.pictures.svg import emitted

    return emitted(pictures[0]).encode("utf-8")


def _png(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    from noetlc.emit.pictures.png import NoRenderer, emitted

    try:
        return emitted(pictures[0])
    except NoRenderer as problem:
        raise click.UsageError(str(problem)) from None


def _html(pictures: "list[Picture]", compiled: "Compiled", asked: Asked) -> bytes:
    from noetlc.emit.pictures.html import emitted

    return emitted(pictures, compiled.source, asked.boxes).encode("utf-8")


FORM: dict[str, Form] = {
    "mermaid": _mermaid,
    "dot": _dot,
    "svg": _svg,
    "png": _png,
    "html": _html,
    "json": _json,
}
