"""perhaps-missing-result: a value is made of the result of a step without which some runs come here.

Why it matters
    The result of a step that has not run is undefined, and a value made of it fails the task: `template.undefined`.
Example
    - {step: start, next: {arcs: [{step: load, when: "{{ workload.full }}"}, {step: report}]}}
    - {step: load, next: {arcs: [{step: report}]}}
    - {step: report, tool: {kind: noop, args: {rows: "{{ load.rows }}"}}}
Instead
    - {step: report, tool: {kind: noop, args: {rows: "{{ load.rows | default([]) }}"}}}
When to ignore
    Never: the finding shows the run in which the result is not there.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.span import Span
from noetlc.analysis.verdict import Status
from noetlc.ast.graph import reached
from noetlc.ast.once import Once
from noetlc.ast.playbook import Step, Value
from noetlc.ast.surely import SureFacts, surely_before
from noetlc.ast.walk import expressions_in, loops_of, task_values
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.reading.around import Around, step_read
from noetlc.rules import LintRule, Unit

_ASKED = 8
"""Reads of a file of which the analysis is asked; each costs a plan and a search."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads that a run shows: the step has not started, and the one that reads it starts."""
    asked: dict[tuple[str, str], Span] = {}
    before: list[SureFacts | None] = []
    around: Around | None = None
    for at, step in enumerate(unit.playbook.steps):
        for value in _values(step):
            for expr, scalar in expressions_in(value):
                for access in _reads(expr) if scalar is not None else ():
                    around = around or unit.around
                    name = step_read(access, around.names(step), "task")
                    read = unit.graph.positions.get(name, -1)
                    if scalar is None or read < 0 or read == at:
                        continue
                    before = before or surely_before(
                        unit.playbook, unit.graph, [frozenset((each.name,)) for each in unit.playbook.steps]
                    )
                    known = before[at]
                    # The tree first: only reads that it cannot clear are asked of the net.
                    if known is not None and name not in known and at in _behind(unit, read):
                        asked.setdefault((name, step.name), unit.source.inner_span(scalar, access.root.start, expr.end))
    for (name, here), span in list(asked.items())[:_ASKED]:
        # Only a run that shows it is told: guards may exclude what the arcs allow.
        verdict = unit.proofs.verdict_of(f"always(`{name}` before `{here}`)")
        if verdict is not None and verdict.status is Status.REFUTED and verdict.story is not None:
            yield RULE.story(
                f"`{here}` may start when `{name}` has not run: its result is not there",
                span,
                help=f"give a default: `{name} | default(…)`, or lead every way through `{name}`",
                story=verdict.story,
                sure=True,
            )


def _behind(unit: Unit, step: int) -> set[int]:
    """The steps to which a way leads; that none does is another finding."""
    return reached(unit.graph.successors, unit.graph.successors[step])


def _values(step: Step) -> Iterator[Value]:
    """The templates that are made as soon as the step runs: the items of its loop, and the fields of its first task."""
    yield from (loop.items for loop in loops_of(step)[:1])
    yield from (value for task in step.tasks[:1] for value in task_values(task))


def _read(expr: Expr) -> tuple[Access, ...]:
    if not needs_all(expr):
        return ()
    return tuple(access for access in accesses(expr) if not access.called)


_reads = Once(_read)

RULE = LintRule("NL410", Severity.WARNING, "net", check)
