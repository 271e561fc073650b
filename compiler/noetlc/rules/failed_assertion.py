"""failed-assertion: an `x-assert` of the playbook does not hold.

Why it matters
    The author wrote down what must be so, and there is a run in which it is not.
Example
    x-assert: ["always(review before publish)"]
    workflow:
      - {step: start, next: {arcs: [{step: review, when: "{{ workload.careful }}"}, {step: publish}]}}
      - {step: review, next: {arcs: [{step: publish}]}}
      - {step: publish}
Instead
    - {step: start, next: {arcs: [{step: review}]}}
When to ignore
    Never: change the playbook, or what it asserts.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, assertions


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Assertions that some run breaks."""
    for text, span in assertions(unit.playbook):
        verdict = unit.proofs.verdict_of(text)
        if verdict is not None and verdict.status is Status.REFUTED:
            yield RULE.story(
                f"this does not hold: {verdict.detail}",
                span,
                help="`noetlc analyze` shows the whole run",
                story=verdict.story,
                sure=True,
            )


RULE = LintRule("NL709", Severity.ERROR, "net", check, about=("x-assert",))
