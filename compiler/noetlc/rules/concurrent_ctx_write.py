"""concurrent-ctx-write: two steps that may run at once set one key of `ctx`.

Why it matters
    The value that is there afterwards is that of whichever step came last: it differs from run to run.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - step: a                                    # set_ctx: {status: …}
    - step: b                                    # set_ctx: {status: …}
Instead
    Give the keys two names, `status_a` and `status_b`, and put them together behind a join; or declare a reducer, as
    `executor: {spec: {ctx: {status: {reduce: append}}}}`, which puts together what all of them set.
When to ignore
    Where whichever comes last is meant. Nothing is said where both write one value: by the same text of an expression
    that reads neither the outcome, args, `iter` nor the key itself.
"""

from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.expr import Template, expressions_of
from noetlc.ast.playbook import Step, Value
from noetlc.ast.reducers import reducers_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.expr.check import Names
from noetlc.expr.paths import accesses
from noetlc.expr.updates import advice, reads_key, update_of
from noetlc.reading.around import Around
from noetlc.rules import LintRule, Unit, gate_keys

_OWN = frozenset(
    {"outcome", "args", "iter", "loop_index", "_prev", "_task", "_attempt", "_iteration", "_elapsed", "now"}
)
"""Names that mean another thing in each step, or at each time."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys that two steps set, where the arcs let both be at work at once and the values may differ; each key once."""
    # With one token nothing runs at once, which is seen without a search.
    writers = _writers(unit) if not unit.proofs.single else {}
    reduced = reducers_of(unit.playbook)
    beside: dict[str, frozenset[str]] = {}
    around: Around | None = None
    for key, rows in sorted(writers.items()):
        # What several contribute to a reducer is put together.
        if len(rows) < 2 or key in reduced:
            continue
        # Asked late: the search through the net is paid only by files in which two steps set one key.
        beside, around = beside or unit.proofs.beside, around or unit.around
        names = list(rows)
        for one, other in ((one, other) for at, one in enumerate(names) for other in names[at + 1 :]):
            # Two steps that set the same value may do so in any order.
            if other not in beside.get(one, ()) or _are_alike(key, rows[one], rows[other], around):
                continue
            if key in gate_keys(rows[one][0]) & gate_keys(rows[other][0]):
                continue  # told as gates that are no lock
            yield _finding(key, one, other, rows)
            break


def _finding(key: str, one: str, other: str, rows: "_Rows") -> Diagnostic:
    updates = [(value, update_of(value.template, key)) for name in (one, other) for value in rows[name][1]]
    lost = next((pair for pair in reversed(updates) if pair[1] is not None), None)
    first, second = rows[one][1][0], rows[other][1][0]
    if lost is not None and lost[1] is not None and all(reads_key(value.template, key) for value, _ in updates):
        # Each makes a new value of the one that it saw when it was scheduled.
        message = f"`{one}` and `{other}` may run at once, and both update `ctx.{key}`: one of the updates is lost"
        return RULE.finding(
            message, second.span, help=advice(key, lost[1]), related=(Related(first.span, "the other one"),)
        )
    return RULE.finding(
        f"`{one}` and `{other}` may run at once, and both set `ctx.{key}`",
        second.span,
        help="give the keys two names, let one step run behind the other, or declare a reducer (`executor.spec.ctx`)",
        related=(Related(first.span, "the other one"),),
    )


_Rows: TypeAlias = dict[str, tuple[Step, list[Value]]]


def _writers(unit: Unit) -> dict[str, dict[str, tuple[Step, list[Value]]]]:
    """Key → step → the values that it sets."""
    found: dict[str, dict[str, tuple[Step, list[Value]]]] = {}
    for step in unit.playbook.steps:
        for task in step.tasks:
            for rule in task.rules:
                for key, value in rule.set_ctx:
                    found.setdefault(key, {}).setdefault(step.name, (step, []))[1].append(value)
    return found


def _are_alike(key: str, one: tuple[Step, list[Value]], other: tuple[Step, list[Value]], around: Around) -> bool:
    """Whether all values that two steps set are one value wherever they are made."""
    template = one[1][0].template
    # Equal templates are equal values only if every name in them means the same in both steps.
    if any(value.template != template for value in (*one[1], *other[1])):
        return False
    return not any(_is_own(key, template, around.names(step)) for step in (one[0], other[0]))


def _is_own(key: str, template: Template, names: Names) -> bool:
    """Whether a value is made of what only its step has, or of the key itself."""
    own = {*names.iterators, *names.tasks, *names.args, *names.iter, key}
    found = [access for expr in expressions_of(template) for access in accesses(expr)]
    return any(
        access.root.name in _OWN or access.root.name in own or (access.root.name == "ctx" and key in access.keys[:1])
        for access in found
    )


RULE = LintRule("NL409", Severity.WARNING, "net", check, about=("fork", "join"))
