"""unbrought-arg: a step reads an argument that no arc into it brings, or not every one.

Why it matters
    `args` are those of the token that started the run; what it did not bring is undefined.
Example
    - {step: start, next: {arcs: [{step: greet, args: {nmae: Ada}}]}}
    - {step: greet, tool: {kind: noop, result: "Hello {{ args.name }}"}}
Instead
    - {step: start, next: {arcs: [{step: greet, args: {name: Ada}}]}}
When to ignore
    Where guards let only those arcs fire that bring it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetlc.ast.graph import later_of
from noetlc.ast.once import Once
from noetlc.ast.phases import PHASE_ARGS
from noetlc.ast.playbook import Merge, Step, Task, Value
from noetlc.ast.walk import expressions_in, loops_of, rule_values, task_values
from noetlc.ast.workbook import pairs_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads of `args.x` in values, guards aside, of steps whose arcs write their args out."""
    brought = _brought(unit)
    for at, step in enumerate(unit.playbook.steps):
        if brought[at] is None:
            continue
        told: set[str] = set()
        for value, own in _values(step):
            for expr, scalar in expressions_in(value) if own is not None else ():
                for access in _reads(expr) if scalar is not None else ():
                    key = str(access.keys[0])
                    sets = brought[at] or []
                    if scalar is None or own is None or key in own or key in told or all(key in each for each in sets):
                        continue
                    told.add(key)
                    some = "not every arc" if any(key in each for each in sets) else "no arc"
                    yield RULE.finding(
                        f"{some} to `{step.name}` brings `args.{key}`",
                        unit.source.inner_span(scalar, access.root.start, access.nodes[0].end),
                        help=f"give it in the arc: `args: {{{key}: …}}`, or write `args.{key} | default(…)`",
                    )


def _brought(unit: Unit) -> list[list[set[str]] | None]:
    """Step → the keys that each way in brings; None where an arc computes its args, or no arc leads there."""
    found: list[list[set[str]] | None] = [[] for _ in unit.playbook.steps]
    arcs = [arc for step in unit.playbook.steps if step.router is not None for arc in step.router.arcs]
    if any(arc.target not in unit.graph.positions for arc in arcs):
        return [None for _ in found]  # it may be the arc that brings it
    merged: list[set[str]] = [set() for _ in unit.playbook.steps]
    for step in unit.playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            at = unit.graph.positions.get(arc.target, -1)
            pairs = pairs_of(arc.args.template) if arc.args is not None else {}
            if at >= 0:
                ways = found[at]
                found[at] = None if pairs is None or ways is None else [*ways, set(pairs)]
                merged[at] |= set(pairs or {})
    later = {phase.step: PHASE_ARGS[phase.name] for phase in later_of(unit.playbook)}
    for at, step in enumerate(unit.playbook.steps):
        merged[at] |= later.get(step.name, frozenset())
        # A merge gives the args of each token, under one name.
        if isinstance(step.spec.join, Merge) and found[at] is not None:
            found[at] = [{"tokens"}]
        # A join puts the args of all its tokens together.
        elif step.spec.join != "any" and found[at] is not None:
            found[at] = [merged[at]]
        # The run's own token brings none.
        elif at == unit.graph.entry and found[at] is not None:
            found[at] = [*(found[at] or []), set()]
        elif step.name in later and found[at] is not None:
            found[at] = [*(found[at] or []), set(later[step.name])]
    return [ways or None for ways in found]


def _values(step: Step) -> Iterator[tuple[Value, set[str] | None]]:
    """The values of a step, each with the args that its task gives itself; None where those are computed."""
    for loop in loops_of(step):
        yield loop.items, set()
    for task in step.tasks:
        own = _own(task)
        yield from ((value, set() if value is task.args else own) for value in task_values(task))
        yield from ((value, own) for value in rule_values(task))
    for arc in step.router.arcs if step.router is not None else ():
        if arc.args is not None and arc.when is None:
            yield arc.args, set()


def _own(task: Task) -> set[str] | None:
    pairs = pairs_of(task.args.template) if task.args is not None else {}
    return None if pairs is None else set(pairs)


def _read(expr: Expr) -> tuple[Access, ...]:
    if not needs_all(expr):
        return ()
    return tuple(access for access in accesses(expr) if access.root.name == "args" and access.keys)


_reads = Once(_read)

RULE = Rule("NL411", Severity.WARNING, "ast", check, whole=True)
