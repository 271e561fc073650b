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

from noetl_ir.nearest import OWN_LIKENESS, nearest
from noetlc.ast.graph import later_of
from noetlc.ast.phases import PHASE_ARGS
from noetlc.ast.playbook import Merge
from noetlc.ast.workbook import pairs_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.needed_args import needed_args
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads of `args.x` in values, guards aside, of steps whose arcs write their args out."""
    brought = _brought(unit)
    for at, step in enumerate(unit.playbook.steps):
        if brought[at] is None:
            continue
        told: set[str] = set()
        for access, scalar in needed_args(step):
            key = str(access.keys[0])
            sets = brought[at] or []
            if key in told or all(key in each for each in sets):
                continue
            told.add(key)
            some = "not every arc" if any(key in each for each in sets) else "no arc"
            yield RULE.finding(
                f"{some} to `{step.name}` brings `args.{key}`",
                unit.source.inner_span(scalar, access.root.start, access.nodes[0].end),
                help=_help(key, sets),
            )


def _help(key: str, sets: list[set[str]]) -> str:
    # What some arcs bring under this name is missing in the others, and not misspelt.
    near = "" if any(key in each for each in sets) else nearest(key, sorted(set().union(*sets)), OWN_LIKENESS)
    if near:
        return f"`args.{near}` is brought: write one name in both places"
    return f"give it in the arc: `args: {{{key}: …}}`, or write `args.{key} | default(…)`"


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


RULE = LintRule("NL411", Severity.WARNING, "ast", check, whole=True)
