"""idle-lock: a lock that no token ever waits for.

Why it matters
    A lock keeps runs apart that could be at work at once. Where nothing comes to a step that needs it while it is held,
    it does nothing: perhaps its name is misspelt in one of two steps that were meant to share it.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - {step: a, spec: {policy: {lock: account}}}
    - {step: b, spec: {policy: {lock: acount}}}
Instead
    - {step: b, spec: {policy: {lock: account}}}
When to ignore
    Where it is written for steps that are still to come.
"""

from collections import Counter
from collections.abc import Iterator

from noetl_ir.nearest import nearest
from noetlc.ast.playbook import Lock
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Locks for which the arcs alone show that no token waits; each once."""
    places: dict[str, Lock] = {}
    uses = Counter[str]()
    for step in unit.playbook.steps:
        for lock in step.spec.locks:
            places.setdefault(lock.name, lock)
            uses[lock.name] += 1
    contended = unit.proofs.contended if places else None
    if contended is None:
        return
    for name in sorted(places.keys() - contended):
        # Of two that are like each other the slip is the one that is seldom written, or comes later.
        order = [*places]
        before = [each for each in order if (-uses[each], order.index(each)) < (-uses[name], order.index(name))]
        near = nearest(name, before)
        hint = f"did you mean `{near}`?" if near else "leave it out, or name it in what runs beside it"
        yield RULE.finding(f"nothing ever waits for the lock `{name}`", places[name].span, help=hint)


RULE = LintRule("NL720", Severity.NOTE, "net", check, about=("lock",))
