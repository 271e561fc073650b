"""overlapping-arcs: two arcs of an exclusive router match one value, and only the first is taken.

Why it matters
    The value is listed twice; whoever reads the second arc believes that it is taken, and it is not.
Example
    arcs:
      - {step: card, when: "{{ workload.pay in ['visa', 'amex'] }}"}
      - {step: manual, when: "{{ workload.pay in ['amex', 'cash'] }}"}
      - {step: refuse}
Instead
    arcs:
      - {step: card, when: "{{ workload.pay == 'visa' }}"}
      - {step: manual, when: "{{ workload.pay in ['amex', 'cash'] }}"}
      - {step: refuse}
When to ignore
    Where the order of the arcs is meant to decide.
"""

from collections.abc import Iterator

from noetlc.analysis.choices import Choice
from noetlc.ast.playbook import Step
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Pairs of arcs that name a value each of one path, of which neither names all that the other does."""
    for step in unit.playbook.steps:
        router = step.router
        guarded = [arc for arc in router.arcs if arc.when is not None] if router is not None else []
        if router is None or router.mode != "exclusive" or len(guarded) < 2:
            continue
        if unit.written.has_router(step):
            yield from _pairs(step, unit.choices.on_success(step))


def _pairs(step: Step, choice: Choice) -> Iterator[Diagnostic]:
    assert step.router is not None
    arcs = step.router.arcs
    closed = [number for number in range(len(arcs)) if _names_values(choice, number)]
    for at, one in enumerate(closed):
        for other in closed[at + 1 :]:
            # One path with one value: an example over several paths would be no help to anybody.
            examples = [each for each in choice.both(one, other) if len(each) == 1]
            # A guard that takes in all of the other, as a range before its part, is ordered on purpose or dead, which
            # is told.
            if examples and choice.first(other) and _alone(choice, one, other):
                value = next(iter(examples[0].values()))[1:]
                yield RULE.finding(
                    f"the arcs to {listed_steps([arcs[one].target, arcs[other].target])} match {value}: "
                    "the first is taken",
                    arcs[other].span,
                    help=f"name {value} in one of them",
                    related=(Related(arcs[one].span, "the first"),),
                )


def _names_values(choice: Choice, number: int) -> bool:
    """Whether a guard is true of written values of one path only."""
    found = [each for truths, each in (choice.truths or {}).items() if truths[number]]
    return bool(found) and all(len(each) == 1 and next(iter(each.values())).startswith("=") for each in found)


def _alone(choice: Choice, one: int, other: int) -> bool:
    return any(truths[one] and not truths[other] for truths in choice.truths or ())


RULE = LintRule("NL610", Severity.WARNING, "ast", check)
