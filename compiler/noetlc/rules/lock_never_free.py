"""lock-never-free: a token waits for a lock that nobody gives back.

Why it matters
    Two sections that each wait for the lock of the other wait for ever, and so does who holds a lock and waits in a
    join for a token that needs it. Nothing else can happen then: the execution ends as `blocked`.
Example
    - {step: pay, spec: {policy: {lock: {name: account, through: [book]}}}, next: {arcs: [{step: book}]}}
    - {step: book, spec: {policy: {lock: ledger}}}
    - {step: close, spec: {policy: {lock: {name: ledger, through: [settle]}}}, next: {arcs: [{step: settle}]}}
    - {step: settle, spec: {policy: {lock: account}}}        # beside `pay`: each has what the other needs
Instead
    Take both at once, before either section begins, or let all take them in one order:
    - {step: pay, spec: {policy: {lock: [{name: account, through: [book]}, {name: ledger, through: [book]}]}}, …}
When to ignore
    Where a guard keeps both from running at once, and the analysis cannot see that.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps

if TYPE_CHECKING:  # the analysis is loaded when it is asked
    from noetlc.analysis.locked import Locked


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Locks of which a run shows that they are never given back while a token waits for them."""
    told: list[Locked] = []
    for locked in unit.proofs.locked:
        if any(other.step in locked.at and locked.step in other.at for other in told):
            continue  # the other side of what is told
        told.append(locked)
        plan, step = unit.proofs.plan, unit.playbook.steps[locked.step]
        others = [plan.steps[at].name for at in locked.at]
        span = next((lock.span for lock in step.spec.locks if lock.name == locked.lock), step.name_span)
        yield RULE.story(
            f"`{step.name}` may wait for the lock `{locked.lock}`, held at {listed_steps(others)}, "
            "which never comes free",
            span,
            help="take the locks of both at once, before either is held, or everywhere in one order",
            story=locked.story,
            sure=locked.sure,
        )


RULE = LintRule("NL719", Severity.WARNING, "net", check, about=("lock",))
