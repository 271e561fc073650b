"""Codes of errors as labels of figures: those that are documented, and those that stand in plans."""

from collections.abc import Iterator

from noetl.engine.program import Program
from noetl.engine.reports import REFUSED
from noetl.host.engine_faults import CODE
from noetl.host.measures import OTHER
from noetl_ir.error_codes import ERRORS
from noetl_ir.expr import Literal, Template, entries_of
from noetl_ir.plan import Plan

UNKNOWN = "unknown"
"""The label of an error that has no code. One that a run made up is `OTHER`."""

LONGEST = 64
"""Characters of a label."""

OF_EXECUTIONS = frozenset({
    "arc.args", "arc.delay", "concurrency.key", "ctx.conflict", "executor.timeout", "jump.budget", "limit.step_runs",
    "limit.tokens", "loop.not_enough", "loop.stopped", "loop.timer", "net.choice", "rule.delay", "step.timer",
    "terminated", "workload", CODE, "kind.unknown", REFUSED,
})  # fmt: skip
"""Codes of the engine besides those of tasks and steps, of its own mistakes and of reports."""

MOST_PLANS = 200
"""The plans whose own codes are kept."""


class CodeLabels:
    """The label of each error. Codes that a run computes are counted together: they would make series without end, hold
    as much as somebody likes, and take the places of the codes that alerts ask for.
    """

    def __init__(self) -> None:
        self._of_plans: dict[str, frozenset[str]] = {}

    def label(self, program: Program, error: object) -> str:
        """The label of an error of an execution of this plan."""
        code = error.get("code") if isinstance(error, dict) else None
        if not isinstance(code, str):
            return UNKNOWN
        if code in ERRORS or code in OF_EXECUTIONS:
            return code
        return code[:LONGEST] if code in self._in_plan(program) else OTHER

    def _in_plan(self, program: Program) -> frozenset[str]:
        found = self._of_plans.get(program.digest)
        if found is None:
            if len(self._of_plans) >= MOST_PLANS:
                self._of_plans.pop(next(iter(self._of_plans)))
            found = self._of_plans[program.digest] = frozenset(_codes_in(program.plan))
        return found


def _codes_in(plan: Plan) -> Iterator[str]:
    """The codes that a plan has as they are: of `fail` tasks, and of rules that fail."""
    for task in plan.tasks:
        if task.kind == "fail" and task.fields >= 0:
            code = (entries_of(plan.templates[task.fields]) or {}).get("code")
            yield from _literal(code)
        for rule in task.rules:
            if rule.code >= 0:
                yield from _literal(plan.templates[rule.code])


def _literal(template: Template | None) -> Iterator[str]:
    if isinstance(template, Literal) and isinstance(template.value, str):
        # A `fail` task has its code without the spaces around it, a rule as it is.
        yield template.value
        yield template.value.strip()
