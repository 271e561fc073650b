"""concurrent-ctx-write: two steps that may run at once set one key of `ctx`.

Why it matters
    The value that is there afterwards is that of whichever step came last: it differs from run to run.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - step: a                                    # set_ctx: {status: …}
    - step: b                                    # set_ctx: {status: …}
Instead
    Give the keys two names, `status_a` and `status_b`, and put them together behind a join.
When to ignore
    Where both write the same value, or whichever comes last is meant.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Value
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys that two steps set to different values, where the arcs let both be at work at once; each key once."""
    writers = _writers(unit) if not unit.proofs.single else {}
    beside: dict[str, frozenset[str]] = {}
    for key, rows in sorted(writers.items()):
        if len(rows) < 2:
            continue
        beside = beside or unit.proofs.beside
        names = list(rows)
        pairs = ((one, other) for at, one in enumerate(names) for other in names[at + 1 :])
        pair = next(((one, other) for one, other in pairs if other in beside.get(one, ())), None)
        if pair is not None and rows[pair[0]].template != rows[pair[1]].template:
            yield RULE.finding(
                f"`{pair[0]}` and `{pair[1]}` may run at once, and both set `ctx.{key}`",
                rows[pair[1]].span,
                help="give the keys two names, or let one step run behind the other",
                related=(Related(rows[pair[0]].span, "the other one"),),
            )


def _writers(unit: Unit) -> dict[str, dict[str, Value]]:
    """Key → step → the value that it sets first."""
    found: dict[str, dict[str, Value]] = {}
    for step in unit.playbook.steps:
        for task in step.tasks:
            for rule in task.rules:
                for key, value in rule.set_ctx:
                    found.setdefault(key, {}).setdefault(step.name, value)
    return found


RULE = Rule("NL409", Severity.WARNING, "net", check)
