"""router-feeds-join-twice: one router can send two tokens to one join.

Why it matters
    A join has one place for each source step: the second token waits for the next wave, and that may never come.
Example
    - step: start
      next:
        spec: {mode: inclusive}
        arcs: [{step: sum, args: {a: 1}}, {step: sum, args: {b: 2}}, {step: other}]
    - {step: other, next: {arcs: [{step: sum}]}}
    - {step: sum, spec: {policy: {join: all}}}
Instead
    arcs: [{step: sum, args: {a: 1, b: 2}}, {step: other}]
When to ignore
    Never: put what the second token brings into the first one.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Merge, Step
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs of an inclusive router to a join behind another arc to it that can be taken together with it."""
    joins = {step.name for step in unit.playbook.steps if _waits(step) and unit.written.has_join(step)}
    for step in unit.playbook.steps if joins else ():
        if step.router is not None and step.router.mode == "inclusive":
            yield from _twice(unit, step, joins)


def _waits(step: Step) -> bool:
    """Whether a join waits for sources: one that counts tokens takes them from anywhere, and a settled one starts again
    for a second token.
    """
    return step.spec.join not in ("any", "settled") and not isinstance(step.spec.join, Merge)


def _twice(unit: Unit, step: Step, joins: set[str]) -> Iterator[Diagnostic]:
    assert step.router is not None
    first: dict[str, int] = {}
    for number, arc in enumerate(step.router.arcs):
        if arc.target not in joins or first.setdefault(arc.target, number) == number:
            continue
        before = first[arc.target]
        # Arcs that exclude each other send one token, whichever it is.
        if unit.choices.on_success(step).both(before, number):
            yield RULE.finding(
                f"`{step.name}` can send two tokens to `{arc.target}`, which waits for one from each source",
                arc.span,
                help="let one arc lead there, and bring all args with it",
                related=(Related(step.router.arcs[before].span, "the other one"),),
            )


RULE = LintRule("NL613", Severity.WARNING, "ast", check, about=("join",))
