"""perhaps-unset-key: a value is made of a key of `ctx` or `iter` that not every way there has set.

Why it matters
    A key that is not set is undefined, and a value made of it fails the task: `template.undefined`.
Example
    - {step: start, next: {arcs: [{step: count, when: "{{ workload.full }}"}, {step: report}]}}
    - step: count                               # sets ctx.total
      next: {arcs: [{step: report}]}
    - {step: report, tool: {kind: noop, args: {total: "{{ ctx.total }}"}}}
Instead
    - {step: report, tool: {kind: noop, args: {total: "{{ ctx.total | default(0) }}"}}}
When to ignore
    Where guards let only those ways come here that have set it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetlc.ast.graph import has_unknown_target
from noetlc.ast.once import Once
from noetlc.ast.pipeline import has_unknown_jump
from noetlc.ast.playbook import Step, Value
from noetlc.ast.reducers import reducers_of
from noetlc.ast.surely import NOTHING, SureFacts, set_before, sure_after, surely_before, surely_set
from noetlc.ast.walk import expressions_in, loops_of, task_values
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads in values, guards aside, of keys that something sets but not on every way; each key once a step."""
    steps = unit.playbook.steps
    written = {key for step in steps for task in step.tasks for rule in task.rules for key, _ in rule.set_ctx}
    written -= {*reducers_of(unit.playbook)}  # those have a value from the start on
    before: list[SureFacts | None] = [NOTHING] * len(steps)
    if has_unknown_target(unit.playbook):
        written = set()  # the way that leads nowhere may be one that sets it
    if written:
        before = surely_before(unit.playbook, unit.graph, [surely_set(step, "ctx") for step in steps])
    for at, step in enumerate(steps):
        known = before[at]
        scratch = {key for task in step.tasks for rule in task.rules for key, _ in rule.set_iter}
        if known is None or not (written or scratch) or has_unknown_jump(step):
            continue
        told: set[str] = set()
        for value, ctx, iter_ in _values(step, known):
            for name, sure, keys in (("ctx", ctx, written), ("iter", iter_, scratch)):
                for found in _unsure(unit, step, value, name, sure, keys):
                    if found.message not in told:
                        told.add(found.message)
                        yield found


def _unsure(
    unit: Unit, step: Step, value: Value, name: str, sure: SureFacts, written: set[str]
) -> Iterator[Diagnostic]:
    for expr, scalar in expressions_in(value):
        for access in _reads(expr) if scalar is not None else ():
            key = access.keys[0]
            if scalar is not None and access.root.name == name and key in written and key not in sure:
                yield RULE.finding(
                    f"not every way to here in `{step.name}` has set `{name}.{key}`",
                    unit.source.inner_span(scalar, access.root.start, access.nodes[0].end),
                    help=f"set it on every way, or write `{name}.{key} | default(…)`",
                )


def _values(step: Step, known: SureFacts) -> Iterator[tuple[Value, SureFacts, SureFacts]]:
    """The values of a step, each with the keys of `ctx` and of `iter` that are surely set when it is made."""
    for loop in loops_of(step):
        # Items are asked for before any task of the step has set something in `iter`.
        yield loop.items, known, NOTHING
    ctx, iter_ = set_before(step, "ctx"), set_before(step, "iter")
    for at, task in enumerate(step.tasks):
        here, scratch = ctx[at], iter_[at]
        if here is not None and scratch is not None:
            sure = known | here if here else known  # a playbook may set hundreds of keys
            yield from ((value, sure, scratch) for value in task_values(task))
    # Behind a guard the author may have asked whether the key is there.
    args = [arc.args for arc in (step.router.arcs if step.router is not None else ()) if arc.when is None]
    if any(value is not None for value in args):
        done, scratch = known | sure_after(step, ctx), sure_after(step, iter_)
        yield from ((value, done, scratch) for value in args if value is not None)


def _read(expr: Expr) -> tuple[Access, ...]:
    if not needs_all(expr):
        return ()
    return tuple(access for access in accesses(expr) if access.root.name in ("ctx", "iter") and access.keys)


_reads = Once(_read)

RULE = LintRule("NL407", Severity.WARNING, "ast", check, whole=True)
