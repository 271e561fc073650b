"""perhaps-undefined-result: the declared result reads what not every run that completes has.

Why it matters
    All steps have run by then, and the execution fails all the same: `template.undefined`.
Example
    executor: {spec: {result: "{{ discount }}"}}
    workflow:
      - {step: start, next: {arcs: [{step: discount, when: "{{ workload.member }}"}, {step: pay}]}}
Instead
    executor: {spec: {result: "{{ discount | default(0) }}"}}
When to ignore
    Where guards let only those runs complete that have it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetlc.ast.at_the_end import surely_at_the_end
from noetlc.ast.graph import has_unknown_target
from noetlc.ast.once import Once
from noetlc.ast.reducers import reducers_of
from noetlc.ast.surely import SureFacts, surely_set
from noetlc.ast.walk import expressions_in
from noetlc.ast.workload import workload_names
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit

_STEP, _KEY = "the step ", "ctx."
"""What the name of a fact begins with: that a step has run, or a key of `ctx` is set."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Results of steps and keys of `ctx` that the declared result needs, and that not every way to its end has."""
    playbook, result = unit.playbook, unit.playbook.executor.result
    if result is None or has_unknown_target(playbook):
        return
    written = {key for step in playbook.steps for task in step.tasks for rule in task.rules for key, _ in rule.set_ctx}
    written -= {*reducers_of(playbook)}  # those have a value from the start on
    others = written | {*reducers_of(playbook)} | workload_names(playbook)
    added: list[SureFacts] = [
        frozenset({_STEP + step.name, *(_KEY + key for key in surely_set(step, "ctx"))}) for step in playbook.steps
    ]
    sure = surely_at_the_end(playbook, unit.graph, added)
    if sure is None:
        return
    told: set[str] = set()
    for expr, scalar in expressions_in(result):
        for access in _reads(expr):
            fact = _fact(access, unit.graph.positions, written, others)
            if scalar is None or not fact or fact in told or fact in sure:
                continue
            told.add(fact)
            is_step = fact.startswith(_STEP)
            name = fact.removeprefix(_STEP)
            yield RULE.finding(
                f"a run may complete in which the step `{name}` has no result"
                if is_step
                else f"a run may complete in which nothing has set `{name}`",
                unit.source.inner_span(scalar, access.root.start, access.nodes[0].end if access.nodes else expr.end),
                help=f"give a default, `{name} | default(…)`, or lead every way through "
                + ("that step" if is_step else "a step that sets it"),
            )


def _fact(access: Access, steps: dict[str, int], written: set[str], others: set[str]) -> str:
    """The fact that a read needs; "" for one that is always there, or never."""
    name, key = access.root.name, str(access.keys[0]) if access.keys else ""
    if name == "ctx":
        return _KEY + key if key in written else ""
    if name == "steps":
        return _STEP + key if key in steps else ""
    if name in others:
        return _KEY + name if name in written else ""
    return _STEP + name if name in steps else ""


def _read(expr: Expr) -> tuple[Access, ...]:
    if not needs_all(expr):
        return ()
    return tuple(access for access in accesses(expr) if not access.called)


_reads = Once(_read)

RULE = LintRule("NL417", Severity.WARNING, "ast", check, whole=True, about=("result",))
