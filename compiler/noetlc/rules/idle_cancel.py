"""idle-cancel: a step cancels another that cannot have begun when it starts.

Why it matters
    `cancels` acts once, when a run starts. A step that only runs after it is never there to be cancelled.
Example
    - {step: start, next: {arcs: [{step: stop}]}}
    - {step: stop, spec: {policy: {cancels: [tidy]}}, next: {arcs: [{step: tidy}]}}
    - {step: tidy}
Instead
    Name what runs beside the step, or leave `cancels` out.
When to ignore
    Never: the list does nothing.
"""

from collections import Counter
from collections.abc import Iterator

from noetlc.ast.dominators import dominated_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps in `cancels` to which every way leads through the step that names them, where that runs once."""
    steps, graph = unit.playbook.steps, unit.graph
    once = _running_once(unit)
    dominated = dominated_of(graph.entry, unit.dominators) if once else {}
    for at in sorted(once):
        for target in steps[at].spec.cancels:
            number = graph.positions.get(target.name, -1)
            # Of what no way from the entry leads to nothing is there, either.
            if number < 0 or number == at or (number in dominated and dominated[number].start not in dominated[at]):
                continue
            said = f"`{target.name}` runs only after `{steps[at].name}`, which cannot cancel it"
            if number not in dominated:
                said = (
                    f"no way from the entry leads to `{target.name}`, so that `{steps[at].name}` cancels nothing of it"
                )
            yield RULE.finding(said, target.span, help="leave it out, or name what runs beside the step")


def _running_once(unit: Unit) -> set[int]:
    """The steps that one way alone leads to: a second run of another may find what the first one has led to."""
    steps, graph = unit.playbook.steps, unit.graph
    found = [graph.entry] if graph.entry >= 0 and not graph.sources[graph.entry] else []
    for here in found:  # it grows
        router = steps[here].router
        taken = Counter(arc.target for arc in router.arcs) if router is not None else Counter[str]()
        ways = [graph.positions[name] for name, count in taken.items() if count == 1 and name in graph.positions]
        found += [at for at in ways if graph.sources[at] == (here,)]
    return set(found)


RULE = LintRule("NL717", Severity.WARNING, "ast", check, about=("cancels",))
