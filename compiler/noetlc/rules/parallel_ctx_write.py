"""parallel-ctx-write: iterations of a parallel loop write one key of `ctx`.

Why it matters
    The key belongs to the iteration that writes it first; another that writes another value fails: `ctx.conflict`.
Example
    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}
    tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {last: "{{ iter.item }}"}}}}]}}}
Instead
    Write `set_iter`, and read the list of all results after the loop; declare a reducer, as
    `executor: {spec: {ctx: {last: {reduce: append}}}}`, which puts together what iterations set; or make the loop
    sequential.
When to ignore
    Where all iterations write the same value.
"""

from collections.abc import Iterator

from noetl_ir.expr import Name, Template, expressions_of, walk
from noetlc.ast.playbook import Step, Value
from noetlc.ast.reducers import reducers_of
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.updates import advice, update_of
from noetlc.rules import LintRule, Unit

_SAME_FOR_ALL = frozenset({"workload", "execution_id"})


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys of `set_ctx` inside a parallel loop whose value may differ between iterations."""
    reduced = reducers_of(unit.playbook)
    for step in unit.playbook.steps:
        if not any(loop.mode == "parallel" for loop in loops_of(step)):
            continue
        for task in step.tasks:
            for rule in task.rules:
                for key, value in rule.set_ctx:
                    # What iterations contribute to a reducer is put together.
                    if key not in reduced and _may_differ(value.template):
                        yield _finding(step, key, value)


def _finding(step: Step, key: str, value: Value) -> Diagnostic:
    update = update_of(value.template, key)
    if update is None:
        message = f"iterations of the parallel loop of `{step.name}` may write different `ctx.{key}`"
        return RULE.finding(message, value.span, help=_HELP)
    message = f"all iterations of the parallel loop of `{step.name}` update one old `ctx.{key}`: all but one are lost"
    return RULE.finding(message, value.span, help=advice(key, update))


_HELP = "use `set_iter` and read the results after the loop, a reducer (`executor.spec.ctx`), or a sequential loop"


def _may_differ(template: Template) -> bool:
    """Whether anything but the workload goes into the value."""
    return any(
        # Names alone decide: a value without any is one value for all iterations.
        isinstance(part, Name) and part.name not in _SAME_FOR_ALL
        for expr in expressions_of(template)
        for part in walk(expr)
    )


RULE = LintRule("NL401", Severity.WARNING, "ast", check, about=("loop",))
