"""unknown-result-key: an expression reads a key that the result of a step or task does not have.

Why it matters
    The result is written out in the playbook, and has no such key: the value is undefined in every run, and a value
    made of it fails the task: `template.undefined`.
Example
    - {step: start, tool: {kind: python, code: "result = {'rows': [1, 2], 'sum': 3}"}, next: {arcs: [{step: report}]}}
    - {step: report, tool: {kind: noop, result: "{{ start.som }}"}}
Instead
    - {step: report, tool: {kind: noop, result: "{{ start.sum }}"}}
When to ignore
    Never: where a key is there in some runs only, the code says so, and nothing is told.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.nearest import nearest
from noetlc.ast.once import Once
from noetlc.ast.playbook import Step
from noetlc.ast.result_keys import result_keys_of
from noetlc.ast.walk import step_expressions
from noetlc.ast.workbook import own_args
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.check import Names
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.reading.around import Around, step_read
from noetlc.rules import LintRule, Unit

_WHOLE = frozenset({"data", "result", "results"})
"""Keys that mean the whole of a result that has none of that name (LANGUAGE §2)."""

_OWN = frozenset(dir(dict))
"""Names of methods that every mapping has."""

_TOLD = 8


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads of keys, in expressions that need all that they read; each key once a step."""
    steps = {step.name: step for step in unit.playbook.steps}
    for step in unit.playbook.steps:
        told: set[str] = set()
        names: Names | None = None
        for expr, scalar, when in step_expressions(step):
            for access in _reads(expr) if scalar is not None else ():
                names = names or _with_own_args(unit.around.names(step), step)
                name = step_read(access, names, when)
                keys = _keys_of_step(steps.get(name)) if name else _keys_of_task(access, step, names, when)
                at = _first_key(access, keys) if keys is not None else -1
                if scalar is None or keys is None or at < 0 or (key := str(access.keys[at])) in told:
                    continue
                told.add(key)
                of = f"step `{name}`" if name else f"task `{access.root.name}`"
                near = nearest(key, sorted(keys))
                listed = ", ".join(f"`{each}`" for each in sorted(keys)[:_TOLD])
                yield RULE.finding(
                    f"the result of {of} has no `{key}`",
                    unit.source.inner_span(scalar, access.root.start, access.nodes[at].end),
                    help=f"did you mean `{near}`?" if near else f"there is {listed}",
                )


def _with_own_args(names: Names, step: Step) -> Names:
    """The names in a step, the args of its tasks among them: they hide steps and tasks of their name."""
    if names.args is Around.ANYTHING:
        return names
    return names._replace(args=names.args.union(*(own_args(task) for task in step.tasks)))


def _keys_of_task(access: Access, step: Step, names: Names, when: str) -> frozenset[str] | None:
    """The keys of the result of a task of the same step, where the name means that."""
    hidden = (names.args, names.ctx, names.workload, names.iter, names.iterators)
    found = [task for task in step.tasks if task.name == access.root.name]
    if when != "task" or len(found) != 1 or names.args is Around.ANYTHING:
        return None
    return None if any(access.root.name in keys for keys in hidden) else result_keys_of(found[0])


def _keys_of_step(step: Step | None) -> frozenset[str] | None:
    """The keys of the result of a step; None of a loop, whose result is a list, and of one with several tasks."""
    if step is None or step.loop is not None or len(step.tasks) != 1 or step.extras or step.tasks[0].extras:
        return None
    return result_keys_of(step.tasks[0])


def _first_key(access: Access, keys: frozenset[str]) -> int:
    """The place of the first key that a result with these ones does not have; -1 where it has all that is known."""
    at = 1 if access.root.name == "steps" else 0
    if at < len(access.keys) and access.keys[at] in _WHOLE - keys:
        at += 1
    unknown = at < len(access.keys) and isinstance(access.keys[at], str) and access.keys[at] not in keys | _OWN | _WHOLE
    return at if unknown and keys else -1


def _read(expr: Expr) -> tuple[Access, ...]:
    return tuple(access for access in accesses(expr) if access.keys and not access.called) if needs_all(expr) else ()


_reads = Once(_read)

RULE = LintRule("NL424", Severity.WARNING, "ast", check)
