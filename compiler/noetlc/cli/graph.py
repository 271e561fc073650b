"""graph: a playbook, a plan or a net as a picture, with findings, proofs or an execution painted on it."""

import sys
from collections.abc import Callable
from os.path import splitext
from typing import TYPE_CHECKING

import click

from noetl_cli import STANDARD_INPUT
from noetl_ir.records import NamedTuple
from noetlc.cli.files import put

if TYPE_CHECKING:  # each command line needs a few of them
    from noetl_ir.plan import Plan
    from noetl_ir.tallies import LogTally
    from noetlc.analysis.report import AnalysisReport
    from noetlc.cli.subjects import FileSubjects, PictureSubject
    from noetlc.emit.pictures.coverage import Covered
    from noetlc.emit.pictures.picture import Picture

LEVELS = ("steps", "tasks", "net", "states")
FORMATS = ("mermaid", "dot", "svg", "png", "html", "pnml", "json")
SUFFIXES: dict[str, str] = {".mmd": "mermaid", ".gv": "dot", ".htm": "html", **{f".{form}": form for form in FORMATS}}
ALONE = frozenset({"svg", "png", "pnml"})
"""Formats with one picture a file."""

BOXES = {"svg": 80, "png": 80}
"""How many boxes are drawn where `--boxes` does not say it; other formats fold by their own limits, or not."""


class GraphOptions(NamedTuple):
    """The wishes of the command line."""

    level: str
    form: str
    findings: tuple[str, ...]
    analysis: bool
    log: "LogTally | None"
    covered: "Covered | None"
    boxes: int | None
    limit: int


@click.command("graph", short_help="Draw a playbook, with findings or an execution on it.")
@click.argument("file", metavar="FILE|PLAN|NET.pnml")
@click.option("--level", type=click.Choice(LEVELS), help="What to draw: steps; of PNML the net.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default what OUT ends in, else mermaid.")
@click.option("--finding", "findings", multiple=True, metavar="CODE", help="Paint findings, or the run of a proof.")
@click.option("--analysis", is_flag=True, help="Paint how often each step can run, and what is refuted.")
@click.option("--run", "execution", metavar="ID", help="Paint an execution; `last` is the newest.")
@click.option("--store", metavar="URL", help="Where the execution is kept, as for `noetl events`.")
@click.option("--events", metavar="LOG", help="Paint the execution whose log `noetl events ID --json` wrote.")
@click.option("--coverage", metavar="FILE", help="Paint what tests cover, as `noetl test --picture` asks for it.")
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
    coverage: str | None,
    boxes: int | None,
    limit: int,
    document: int | None,
    folders: tuple[str, ...],
    output: str,
) -> int:
    """Draw a playbook or a plan: its steps, its tasks, its net, or the states that the net can reach; or a PNML net.

    Arcs that only a failure takes are dashed. SVG and PNG have at most 80 boxes: parts with one way in and one way out
    are folded (--boxes). An HTML page has all of them, folds and unfolds, and shows the source.

    CODE is the code or name of a finding, `all`, a proof (stuck, cycle, dead, bounds), or a question as
    `noetlc analyze --query` has it; its run is painted step by step.
    """
    from noetlc.cli.catalogue import Folders
    from noetlc.cli.subjects import subjects_in

    form = form or SUFFIXES.get(splitext(output)[1].lower(), "mermaid")
    if form == "pnml" and level not in ("net", None):
        raise click.UsageError("PNML is a format for nets: leave --level out")
    if form == "png" and output == STANDARD_INPUT and sys.stdout.isatty():
        raise click.UsageError("a PNG is no text: name a file, as -o picture.png")
    if execution is not None and events is not None:
        raise click.UsageError("--run and --events are two ways to name one execution")
    log = _log(execution, store, events)
    # Rules are asked only for findings: proofs and runs do without, and a picture is drawn while somebody waits.
    is_checked = any(_code(name) is not None for name in findings)
    found = subjects_in(file, Folders(folders), checked=is_checked)
    if found is None:
        return 1
    rows = _chosen(found.rows, document, form)
    if rows[0].net is not None:
        _refuse_for_nets(level, findings, log)
        if coverage is not None:
            raise click.UsageError("a PNML net has no tests")
    elif log is not None and log.playbook and not any(_is_of(log, row) for row in rows):
        told = " and ".join(f"`{_name_of(row)}`" for row in rows)
        message = (
            f"execution {log.execution} is one of `{log.playbook}`, and this is {told}: nothing of it can be painted"
        )
        raise click.UsageError(message)
    elif rows[0].playbook is None and is_checked:
        raise click.UsageError("findings are about playbooks: of a plan ask for a proof or a question")
    level = level or ("net" if form == "pnml" or rows[0].net is not None else "steps")
    asked = GraphOptions(level, form, findings, analysis, log, _covered(coverage), boxes, limit)
    put(output, _written(found._replace(rows=rows), asked))
    return 0


COMMAND = graph_playbook

PROOFS = {
    "stuck": "nothing can get stuck",
    "cycle": "every cycle has an exit",
    "dead": "every part can run",
    "bounds": "tokens are bounded",
}
"""Short names of the questions of soundness."""


NET_PROOFS = ("bounds", "stuck", "dead", "cycle")
"""The same of the questions about a net that is no plan's, in their order."""


def _is_of(log: "LogTally", subject: "PictureSubject") -> bool:
    return log.playbook == _name_of(subject)


def _name_of(subject: "PictureSubject") -> str:
    """The name by which executions name a playbook."""
    plan = _needed(subject.plan)
    return plan.path or plan.name


def _refuse_for_nets(level: str | None, findings: tuple[str, ...], log: "LogTally | None") -> None:
    """Say what a net in PNML does not have."""
    if level in ("steps", "tasks"):
        raise click.UsageError("a PNML net has no steps: its levels are net and states")
    if log is not None:
        raise click.UsageError("a PNML net has no executions")
    for name in findings:
        if name not in NET_PROOFS:
            raise click.UsageError(f"--finding {name}: of a PNML net the proofs are {', '.join(NET_PROOFS)}")


def _chosen(rows: "list[PictureSubject]", number: int | None, form: str) -> "list[PictureSubject]":
    if number is not None:
        if number > len(rows):
            raise click.UsageError(f"the file has {len(rows)} playbooks and no {number}th")
        return [rows[number - 1]]
    if form in ALONE and len(rows) > 1:
        raise click.UsageError(f"the file has {len(rows)} playbooks, and {form} holds one: choose it, as --document 1")
    return rows


def _written(found: "FileSubjects", asked: GraphOptions) -> bytes:
    if asked.form == "pnml":
        from noetlc.emit.pnml import document, emitted

        net = found.rows[0].net
        return (emitted(_needed(found.rows[0].plan)) if net is None else document(net)).encode("utf-8")
    pictures = [_picture(found, subject, asked) for subject in found.rows]
    return FORM[asked.form](pictures, found, asked)


def _picture(found: "FileSubjects", subject: "PictureSubject", asked: GraphOptions) -> "Picture":
    """The picture of one playbook with everything painted on it, parts folded where the format needs it."""
    picture, plan = _bare(subject, asked), subject.plan
    for name in asked.findings:
        picture = _with_finding(picture, found, subject, name)
    if asked.analysis:
        from noetlc.analysis.verdict import Status
        from noetlc.emit.pictures.story import with_extents, with_verdict

        report = _report(subject, [])
        picture = with_extents(picture, report.extents)
        for verdict in report.verdicts:
            bare = verdict._replace(story=None)  # the runs would lie over each other
            picture = with_verdict(picture, plan, bare)
        if plan is not None and all(verdict.status is Status.PROVED for verdict in report.verdicts):
            picture = picture.saying("Sound.")
    if asked.log is not None:
        from noetl_ir.plan_format import digest_of, write_plan
        from noetlc.emit.pictures.execution import with_execution

        picture = with_execution(picture, _needed(plan), asked.log, digest_of(write_plan(_needed(plan))))
    if asked.covered is not None:
        from noetlc.emit.pictures.coverage import with_coverage

        picture = with_coverage(picture, _needed(plan), asked.covered)
    most = asked.boxes if asked.boxes is not None else BOXES.get(asked.form, 0)
    # The page folds by itself, and can be unfolded.
    if not most or asked.form == "html" or len(picture.nodes) <= most:
        return picture
    from noetlc.emit.pictures.regions import folded_picture

    return folded_picture(picture, most)


def _bare(subject: "PictureSubject", asked: GraphOptions) -> "Picture":
    match asked.level:
        case "net":
            from noetlc.emit.pictures.net import net_of, net_of_petri

            return net_of(_needed(subject.plan)) if subject.net is None else net_of_petri(subject.net)
        case "states":
            from noetlc.emit.pictures.states import states_of, states_of_petri

            if subject.net is not None:
                return states_of_petri(subject.net, asked.limit)
            return states_of(_needed(subject.plan), asked.limit)
    if subject.playbook is None:
        from noetlc.emit.pictures.plan_steps import steps_of_plan, tasks_of_plan

        return (tasks_of_plan if asked.level == "tasks" else steps_of_plan)(_needed(subject.plan))
    from noetlc.emit.pictures.steps import steps_of, tasks_of

    return (tasks_of if asked.level == "tasks" else steps_of)(subject.playbook)


def _with_finding(picture: "Picture", found: "FileSubjects", subject: "PictureSubject", name: str) -> "Picture":
    from noetlc.emit.pictures.story import with_findings, with_verdict

    code = _code(name)
    if code is not None and subject.net is None:
        fitting = [one for one in found.findings if code in ("", one.code)]
        if not fitting:
            # Said in the picture: an empty answer must not look like a picture without the question.
            return picture.saying(f"No finding {name}.")
        return with_findings(picture, _needed(subject.plan), fitting)
    from noetlc.analysis.queries import QueryError

    try:
        report = _report(subject, [] if name in PROOFS else [name])
    except QueryError as problem:
        raise click.UsageError(
            f"--finding {name}: no code or name of a finding, no proof, and no question: {problem}"
        ) from None
    if subject.net is not None:
        return with_verdict(picture, None, report.verdicts[NET_PROOFS.index(name)])
    question = PROOFS.get(name, name)
    for verdict in report.verdicts:
        if verdict.question == question:
            return with_verdict(picture, subject.plan, verdict)
    return picture


def _report(subject: "PictureSubject", queries: list[str]) -> "AnalysisReport":
    from noetlc.analysis.report import net_report, report_of

    return net_report(subject.net) if subject.net is not None else report_of(_needed(subject.plan), queries)


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


def _covered(file: str | None) -> "Covered | None":
    """The coverage in a file, which may be standard input. One that cannot be read is wrong usage."""
    if file is None:
        return None
    import json

    from noetlc.cli.files import read
    from noetlc.emit.pictures.coverage import NoCoverage, covered_of

    try:
        return covered_of(json.loads(read(file)))
    except (NoCoverage, ValueError, RecursionError) as problem:
        raise click.UsageError(f"--coverage {file}: {problem}") from None


def _log(execution: str | None, store: str | None, events: str | None) -> "LogTally | None":
    if execution is None and events is None:
        return None
    from noetlc.cli.execution_log import read_log

    return read_log(execution, store, events)


Form = Callable[["list[Picture]", "FileSubjects", GraphOptions], bytes]


def _mermaid(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    from noetlc.emit.pictures.mermaid import emitted

    return "\n".join([emitted(picture) for picture in pictures]).encode("utf-8")


def _dot(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    from noetlc.emit.pictures.dot import emitted

    return "\n".join([emitted(picture) for picture in pictures]).encode("utf-8")


def _json(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    import json

    from noetlc.emit.pictures.json import document_of

    documents = [document_of(picture) for picture in pictures]
    return (json.dumps(documents[0] if len(documents) == 1 else documents, indent=1) + "\n").encode("ascii")


def _svg(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    from noetlc.emit.pictures.svg import emitted

    return emitted(pictures[0]).encode("utf-8")


def _png(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    from noetlc.emit.pictures.png import NoRenderer, emitted

    try:
        return emitted(pictures[0])
    except NoRenderer as problem:
        raise click.UsageError(str(problem)) from None


def _html(pictures: "list[Picture]", found: "FileSubjects", asked: GraphOptions) -> bytes:
    from noetlc.emit.pictures.html import emitted

    return emitted(pictures, found.source, asked.boxes).encode("utf-8")


FORM: dict[str, Form] = {
    "mermaid": _mermaid,
    "dot": _dot,
    "svg": _svg,
    "png": _png,
    "html": _html,
    "json": _json,
}
