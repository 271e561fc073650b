"""where: the place in the author's file that an element of a plan stands for."""

from collections.abc import Iterator

import click

from noetl_ir.nearest import nearest
from noetl_ir.plan import Plan
from noetl_ir.plan_format import PlanError, read_plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.cli.files import read


class FoundElement(NamedTuple):
    """An element: what it is, its name, where it was written, and the pass that made it if nobody wrote it."""

    kind: str
    name: str
    span: Span | None
    maker: str


@click.command("where", short_help="Show where an element of a plan was written.")
@click.argument("plan", metavar="PLAN")
@click.argument("element")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to report.")
def where(plan: str, element: str, form: str) -> int:
    """Show where an element of a plan was written: FILE:LINE:COLUMN, and who made it if nobody did.

    ELEMENT is the id of a place or transition as `noetlc dump` and the log name it, or the name of a step or
    task. Exit code 1 when the plan has no such element.
    """
    try:
        compiled = read_plan(read(plan))
    except PlanError as problem:
        raise click.UsageError(f"{plan}: {problem}") from None
    found = [each for each in _elements(compiled) if each.name == element]
    if not found:
        near = _nearest(element, sorted({each.name for each in _elements(compiled)}))
        click.echo(f"{plan} has no element `{element}`{near}", err=True)
        return 1
    if form == "json":
        import json

        click.echo(json.dumps([_row(compiled, each) for each in found], indent=1))
        return 0
    for each in found:
        place = f"{compiled.source}:{each.span}" if each.span else compiled.source
        made = f", made by {each.maker}" if each.maker else ""
        click.echo(f"{place}: {each.kind} `{each.name}`{made}")
    return 0


COMMAND = where


def _elements(plan: Plan) -> Iterator[FoundElement]:
    for step in plan.steps:
        yield FoundElement("step", step.name, step.span, "")
    for task in plan.tasks:
        yield FoundElement("task", task.name, task.span, "a lowering" if task.generated else "")
    for place in plan.net.places:
        yield FoundElement("place", place.id, place.span, place.maker)
    for transition in plan.net.transitions:
        yield FoundElement("transition", transition.id, transition.span, transition.maker)


def _nearest(element: str, names: list[str]) -> str:
    near = nearest(element, names)
    return f"; did you mean `{near}`?" if near else ""


def _row(plan: Plan, found: FoundElement) -> dict[str, object]:
    span = found.span
    at = None if span is None else {"file": plan.source, "line": span.line, "column": span.column}
    return {"kind": found.kind, "name": found.name, "at": at, "maker": found.maker or None}
