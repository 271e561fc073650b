"""gate-does-not-exclude: gates that read a key of `ctx` which the steps behind them set, as if that were a lock.

Why it matters
    To ask and to set are two things: two branches of a fork can both be let in before one of them sets the key, and
    then both do what only one was to do at a time.
Example
    - step: a                                   # and a step `b` beside it that does the same
      spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ not ctx.busy }}", then: {allow: true}}]}}}
      tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {busy: true}}}}]}}}
Instead
    Lead one step behind the other, or make both the body of a loop, which is sequential without `mode: parallel`.
When to ignore
    Where both may run at once and the key only keeps it from happening often.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Step
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit, gate_keys


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Pairs of steps that may run at once and whose gates read a key of `ctx` that both set; each key once."""
    locks: dict[str, list[Step]] = {}
    for step in unit.playbook.steps if not unit.proofs.single else ():
        for key in sorted(gate_keys(step) & _set(step)):
            locks.setdefault(key, []).append(step)
    for key, steps in sorted(locks.items()):
        # The search is paid only where two gates read one key.
        beside = unit.proofs.beside if len(steps) > 1 else {}
        pairs = ((one, other) for at, one in enumerate(steps) for other in steps[at + 1 :])
        pair = next(((one, other) for one, other in pairs if other.name in beside.get(one.name, ())), None)
        if pair is not None:
            one, other = pair
            yield RULE.finding(
                f"`{one.name}` and `{other.name}` can both be let in before one of them sets `ctx.{key}`",
                other.spec.admit.span if other.spec.admit is not None else other.name_span,
                help="lead one step behind the other, or make both the body of a sequential loop",
                related=(
                    Related(one.spec.admit.span if one.spec.admit is not None else one.name_span, "the other gate"),
                ),
            )


def _set(step: Step) -> set[str]:
    return {key for task in step.tasks for rule in task.rules for key, _ in rule.set_ctx}


RULE = LintRule("NL713", Severity.WARNING, "net", check, about=("fork", "join"))
