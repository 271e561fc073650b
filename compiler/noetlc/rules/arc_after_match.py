"""arc-after-match: an arc stands behind one that always matches.

Why it matters
    In an exclusive router the first match wins, so that the arc never fires.
Example
    arcs:
      - step: next_page
      - step: done
        when: "{{ ctx.finished }}"
Instead
    arcs:
      - step: done
        when: "{{ ctx.finished }}"
      - step: next_page
When to ignore
    Never: an arc that cannot fire is dead text.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import Const
from noetlc.analysis.choices import Choice
from noetlc.ast.playbook import Arc, Step
from noetlc.ast.truth import takes_part_on_failure
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.expr.closed import strange_words
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Arcs that can match, on success or failure, but never as the first."""
    for step in unit.playbook.steps:
        if step.router is None or step.router.mode != "exclusive" or len(step.router.arcs) < 2:
            continue
        if unit.written.has_router(step):
            yield from _dead(unit, step)


def _dead(unit: Unit, step: Step) -> Iterator[Diagnostic]:
    assert step.router is not None
    arcs, success = step.router.arcs, unit.choices.on_success(step)
    failing, failure = unit.choices.on_failure(step)
    for number, arc in enumerate(arcs):
        after = next((at for at, each in enumerate(failing) if each is arc), -1)
        # An arc that takes part in failures may fire then, though it never does after a success: both ways are asked.
        ways = [(arcs, success, number), *([(failing, failure, after)] if after >= 0 else [])]
        told = arc.when is not None and strange_words(arc.when.expr)
        # A guard that waits for a word that never comes is told as that, and not as an arc behind another.
        if told or any(choice.first(at) for _, choice, at in ways):
            continue
        before = next((_before(row, choice, at) for row, choice, at in ways if choice.may(at)), None)
        if before is not None and not _is_told(unit, before):
            names = listed_steps(list(dict.fromkeys(each.target for each in before)))
            yield RULE.finding(
                f"the arc to `{arc.target}` never fires: {_verb(before, names)} first",
                arc.span,
                help=f"move it before the arc to {listed_steps([before[0].target])}, or make the router `inclusive`",
                related=tuple(Related(each.span, "matches before") for each in before),
            )


def _before(arcs: Sequence[Arc], choice: Choice, number: int) -> list[Arc]:
    """The arcs before one that match whenever it does: the first that does alone, else all that ever do."""
    rows = [each for each in choice.truths or () if each[number]]
    alone = [at for at in range(number) if all(each[at] for each in rows)]
    # One arc that is to blame is told alone; only where several share the blame all are named.
    return [arcs[at] for at in alone[:1] or range(number) if any(each[at] for each in rows)]


def _is_told(unit: Unit, before: list[Arc]) -> bool:
    """Whether the guard of the arc before is said to be always true."""
    guard = before[0].when
    if guard is None or guard.expr == Const(True) or not unit.choices.choice_of([guard], "step.done").always(0):
        return False
    return not takes_part_on_failure(before[0]) or unit.choices.choice_of([guard], "step.failed").always(0)


def _verb(before: list[Arc], names: str) -> str:
    if len(before) > 1:
        return f"those to {names} match"
    return (
        f"the one to {names} always matches"
        if before[0].when is None
        else f"when it matches, so does the one to {names},"
    )


RULE = LintRule("NL603", Severity.WARNING, "ast", check)
