"""strange-word: an expression waits for a word that never comes.

Why it matters
    There are few names of events and two statuses; a comparison with anything else is always false.
Example
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.fail' }}"}]}
Instead
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}]}
When to ignore
    Never: the comparison cannot become true.
"""

from collections.abc import Iterator

from noetlc.ast.walk import all_expressions
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.expr.closed import Strange, strange_words
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Each such word at its place."""
    for expr, scalar in all_expressions(unit.playbook):
        for strange in strange_words(expr) if scalar is not None else ():
            if scalar is not None and strange.const.end > strange.const.start:
                yield _finding(unit, scalar, strange)


def _finding(unit: Unit, scalar: Scalar, strange: Strange) -> Diagnostic:
    path, const, near = strange
    span = unit.source.inner_span(scalar, const.start, const.end)
    if path == ("event", "name"):
        message = f"there is no event `{const.value}` here"
        help = "a step ends in `step.done`, with a loop in `loop.done`, or in `step.failed`"
    else:
        message = f"`{'.'.join(path)}` is never `{const.value}`"
        help = "it is `ok` or `error`"
    written, fix = scalar.text[const.start : const.end], None
    if near and written[1:-1] == const.value and span.line == span.end_line:
        fix = Fix(span, f"{written[0]}{near}{written[-1]}", f"write `{near}`", safe=False)
    return RULE.finding(message, span, help=f"did you mean `{near}`?" if near else help, fix=fix)


RULE = LintRule("NL314", Severity.WARNING, "ast", check)
