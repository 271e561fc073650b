"""analyze: what can happen in a playbook, plan or net, before it runs."""

from collections.abc import Iterator, Sequence

import click

from noetl_cli import BROKEN
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.budget import BUDGET, BudgetError
from noetlc.analysis.effort import STANDARD, Budget
from noetlc.analysis.queries import QueryError, checked_query
from noetlc.analysis.report import AnalysisReport, net_report, proved_net, report_of, with_budget, with_census
from noetlc.analysis.verdict import Status, Verdict
from noetlc.ast.playbook import Playbook
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import expanded, put, read, shown_name
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.cli.subjects import is_plan, plan_in
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source
from noetlc.source.nodes import value_of

REFUTED, USAGE, UNKNOWN = 1, 2, 4
ASSERT = "x-assert"
NOT_ASKED = "this promise cannot be asked"


@click.command("analyze", short_help="Prove what can and cannot happen.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|PLAN|NET.pnml...")
@click.option("--query", "queries", multiple=True, metavar="Q", help="A question, as `reachable(x)`.")
@click.option("--states", is_flag=True, help="Count the whole state space.")
@click.option(
    "--limit", type=click.IntRange(1), help="States a question may cost; without it about two seconds in all."
)
@click.option("--require-proof", is_flag=True, help="Fail where a question stays open.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to report.")
@click.option("--source", metavar="PLAYBOOK", help="The playbook that a plan was made of: its promises are asked.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
def analyze_paths(
    paths: tuple[str, ...],
    queries: tuple[str, ...],
    states: bool,
    limit: int | None,
    require_proof: bool,
    form: str,
    source: str | None,
    folders: tuple[str, ...],
) -> int:
    """Prove what can and cannot happen in a playbook, a plan, or a PNML net.

    Queries: reachable(x), never(a and b), always(x before y), every run reaches x, at most N of x, where x is a
    step or step.task. A playbook's `x-assert` lists more of them; its `x-budget` limits what a run may do. A plan
    does not have them: --source names its playbook.

    PATH is a file, a folder or a glob (the playbooks among its .yaml and .yml files), or - for standard input.
    As JSON, several playbooks give a list.

    Exit codes: 0 nothing refuted, 1 something refuted, 2 usage, or a promise that cannot be asked, 3 an internal
    error left a question open, 4 something unknown under --require-proof.
    """
    budget = STANDARD if limit is None else Budget(states=limit)
    files = expanded(paths)
    asked = _Asked(queries, source, folders, budget, states)
    found: list[tuple[str, list[AnalysisReport]]] = []
    for file in files:
        try:
            found.append((file, list(_reports(file, read(file), asked))))
        except (QueryError, BudgetError) as problem:
            place = f"{shown_name(file)}: " if len(files) > 1 else ""
            raise click.UsageError(f"{place}{problem}") from None
    reports = [report for _, rows in found for report in rows]
    if reports:
        _show([(report, shown_name(file)) for file, rows in found for report in rows], form)
    # A mistake of ours comes before a refutation: what else would have been found is not known.
    if any(report.is_broken for report in reports):
        return BROKEN
    if faulty := [verdict for report in reports for verdict in report.verdicts if verdict.detail.startswith(NOT_ASKED)]:
        click.echo(f"error: {len(faulty)} of the promises cannot be asked", err=True)
        return USAGE
    # Of a playbook that does not compile, which was told, nothing is proved.
    if any(report.has(Status.REFUTED) for report in reports) or not all(rows for _, rows in found):
        return REFUTED
    return UNKNOWN if require_proof and any(report.has(Status.UNKNOWN) for report in reports) else 0


class _Asked(NamedTuple):
    """The wishes of the command line about each file."""

    queries: Sequence[str]
    source: str | None
    folders: tuple[str, ...]
    budget: Budget
    states: bool


def _reports(file: str, data: bytes, asked: _Asked) -> Iterator[AnalysisReport]:
    # No playbook and no plan begins with a `<`.
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or file.endswith(".pnml"):
        if asked.queries or asked.source:
            raise click.UsageError("a PNML net has no steps: queries are about playbooks and plans")
        yield _net(file, data, asked.budget, states=asked.states)
        return
    for plan, promises in _plans(file, data, asked):
        good, bad = _told_apart(plan, promises.asserted)
        report = report_of(plan, (*good, *asked.queries), asked.budget)
        for each in promises.allowed:
            try:
                report = with_budget(report, each)
            except BudgetError as problem:
                bad.append(Verdict(BUDGET, Status.UNKNOWN, f"{NOT_ASKED}: {problem}"))
        report = report._replace(verdicts=(*report.verdicts, *bad))
        yield with_census(report, plan, asked.budget) if asked.states else report


def _net(file: str, data: bytes, budget: Budget, *, states: bool) -> AnalysisReport:
    from noetlc.analysis.petri import petri_of
    from noetlc.source.pnml_reader import PnmlError, read_pnml

    try:
        written = read_pnml(data)
        net = petri_of(written)
    except PnmlError as problem:
        raise click.UsageError(f"{file}: {problem}") from None
    for part in written.left_out:
        click.echo(f"note: {file} is read without {part}", err=True)
    if states:
        return net_report(net, budget)
    # What a proof without states decides costs nothing; only what it leaves open is searched.
    return proved_net(net) or net_report(net, budget)._replace(census=None)


def _told_apart(plan: Plan, asserted: Sequence[str]) -> tuple[list[str], list[Verdict]]:
    """The promises that can be asked, and a verdict on each that cannot, which says why: one that is wrong takes no
    other away.
    """
    good, bad = list[str](), list[Verdict]()
    for text in asserted:
        try:
            checked_query(plan, text)
        except QueryError as problem:
            bad.append(Verdict(text, Status.UNKNOWN, f"{NOT_ASKED}: {problem}"))
        else:
            good.append(text)
    return good, bad


class _Promises(NamedTuple):
    """The queries that a playbook asserts and the budgets that it sets."""

    asserted: list[str]
    allowed: list[Json]


def _promises_of(playbook: Playbook) -> _Promises:
    asserted = [value_of(node) for key, node in playbook.extensions if key == ASSERT]
    texts = [str(text) for rows in asserted for text in (rows if isinstance(rows, list) else [rows])]
    return _Promises(texts, [value_of(node) for key, node in playbook.extensions if key == BUDGET])


def _plans(file: str, data: bytes, asked: _Asked) -> Iterator[tuple[Plan, _Promises]]:
    """The plans in a file, each with what its playbook promises."""
    if is_plan(data):
        plan = plan_in(file, data)
        yield plan, _promises_in(asked.source, plan) if asked.source else _Promises([], [])
        return
    if asked.source:
        raise click.UsageError("--source goes with a plan: a playbook has its promises with it")
    compiled = compile_source(shown_name(file), data, Folders(asked.folders))
    if compiled.count_of(Severity.ERROR):
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        return
    for document in compiled.documents:
        if document.plan is not None and document.playbook is not None:
            yield document.plan, _promises_of(document.playbook)


def _promises_in(source: str, plan: Plan) -> _Promises:
    """The promises of the playbook in a file that a plan was made of. Raises UsageError where there is none."""
    # Its children are not asked for: they are in the plan. Whether the playbook compiles is no question, either.
    compiled = compile_source(shown_name(source), read(source), Folders(()))
    for document in compiled.documents:
        if document.playbook is not None and document.playbook.path == plan.path:
            return _promises_of(document.playbook)
    raise click.UsageError(f"--source: there is no readable playbook `{plan.path}` in {shown_name(source)}")


def _show(reports: list[tuple[AnalysisReport, str]], form: str) -> None:
    from noetlc.emit import verdicts

    if form == "json":
        import json

        rows = [verdicts.json_of(report, file) for report, file in reports]
        text = json.dumps(rows[0] if len(rows) == 1 else rows, indent=1) + "\n"
    else:
        text = "\n".join(verdicts.text_of(report, file) for report, file in reports)
    put("-", text.encode("utf-8", "backslashreplace"))


COMMAND = analyze_paths
