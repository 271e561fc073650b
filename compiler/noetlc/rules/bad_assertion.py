"""bad-assertion: an `x-assert` is no query, or names what is not there.

Why it matters
    An assertion that cannot be read is not checked.
Example
    x-assert: ["always(reveiw before publish)"]
Instead
    x-assert: ["always(review before publish)"]
    The forms are reachable(x), never(a and b), always(x before y), every run reaches x, at most N of x.
When to ignore
    Never: an assertion that is not checked says nothing.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, assertions


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Assertions that cannot be asked."""
    asserted = tuple(assertions(unit.playbook))
    if not asserted:
        return
    from noetlc.analysis.queries import QueryError, checked_query  # most playbooks assert nothing

    for text, span in asserted:
        try:
            checked_query(unit.proofs.plan, text)
        except QueryError as error:
            yield RULE.finding(str(error), span, help="write a query, and names of steps or `step.task`")


RULE = LintRule("NL711", Severity.ERROR, "net", check, about=("x-assert",))
