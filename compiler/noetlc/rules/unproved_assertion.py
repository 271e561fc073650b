"""unproved-assertion: it is not known whether an `x-assert` of the playbook holds.

Why it matters
    An assertion is a gate only where it is proved; what might break it depends on data, or the net is too large.
Example
    x-assert: ["every run reaches publish"]
    workflow:
      - step: start
        tool: {kind: wait, events: [go]}
        next: {arcs: [{step: publish, when: "{{ start.data.go }}"}, {step: end}]}
      - {step: publish}
Instead
    - {step: start, tool: {kind: wait, events: [go]}, next: {arcs: [{step: publish}]}}
When to ignore
    Where what the guards look at makes the run impossible, and the analysis cannot see that.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, assertions


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Assertions that are neither proved nor refuted."""
    for text, span in assertions(unit.playbook):
        verdict = unit.proofs.verdict_of(text)
        if verdict is not None and verdict.status is Status.UNKNOWN:
            yield RULE.story(
                f"this is not proved: {verdict.detail}",
                span,
                help="`noetlc analyze --query` asks again with more states",
                story=verdict.story,
                sure=True,
            )


RULE = LintRule("NL710", Severity.WARNING, "net", check, about=("x-assert",))
