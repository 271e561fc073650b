"""Where in the author's file an error came from."""

from __future__ import annotations

from noetl.engine.program import Program
from noetl.engine.whole import span_at
from noetl_ir.expr import Json
from noetl_ir.plan import Plan, Step
from noetl_ir.span import Span


def located(program: Program, error: Json) -> Json:
    """An error with `at: {file, line, column}`, as far as it says where it came from; `end_line` and `end_column`, too,
    where it is the place of what failed there.
    """
    span = _span_of(program.plan, error) if isinstance(error, dict) else None
    if span is None or not isinstance(error, dict):
        return error
    from noetl.app.failed_templates import exact_span  # most runs have no error

    exact = exact_span(program, error, span)
    if exact is None:
        return {**error, "at": {"file": program.plan.source, "line": span.line, "column": span.column}}
    ends: dict[str, Json] = {"end_line": exact.end_line, "end_column": exact.end_column}
    return {**error, "at": {"file": program.plan.source, "line": exact.line, "column": exact.column, **ends}}


def _span_of(plan: Plan, error: dict[str, Json]) -> Span | None:
    """The arc, rule, task or step of an error, or the key of the whole playbook; None for any other."""
    step = next((row for row in plan.steps if row.name == error.get("step")), None)
    span = _span_in(plan, step, error) if step is not None else _span_of_all(plan, error)
    # A step that lowering made has no line of its own; line 0 would send the reader nowhere.
    return span if span is not None and span.line > 0 else None


def _span_of_all(plan: Plan, error: dict[str, Json]) -> Span | None:
    key = error.get("key")
    return span_at(plan, key) if error.get("step") is None and isinstance(key, str) else None


def _span_in(plan: Plan, step: Step, error: dict[str, Json]) -> Span:
    arc, rule = error.get("arc"), error.get("rule")
    # The numbers come from a log, which may be another version's, or altered.
    if isinstance(arc, int) and 0 <= arc < len(step.arcs):
        return plan.arcs[step.arcs[arc]].span
    for task in (plan.tasks[number] for number in step.tasks):
        if task.name == error.get("task"):
            known = isinstance(rule, int) and 0 <= rule < len(task.rules)
            return task.rules[int(str(rule))].span if known else task.span
    return step.span
