"""join-fed-by-choice: a join waits for several branches of which an exclusive router takes one.

Why it matters
    One token comes and the others never do, so that the join never starts: the execution ends as `blocked`.
Example
    - step: start
      next: {arcs: [{step: a, when: "{{ workload.fast }}"}, {step: b}]}
    - {step: a, next: {arcs: [{step: report}]}}
    - {step: b, next: {arcs: [{step: report}]}}
    - {step: report, spec: {policy: {join: all}}}
Instead
    - {step: report}                                      # `join: any`: one token comes, one run starts
When to ignore
    Never: where the router takes one arc, its other branches bring no token.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Joins that starve because a router chose between their sources."""
    for starved in unit.starved:
        if starved.cause == "choice":
            plan = unit.proofs.plan
            step, router = plan.steps[starved.step], plan.steps[starved.culprit]
            yield RULE.story(
                f"`{step.name}` waits for {listed_steps(step.join.sources)}, and `{router.name}` chooses between them",
                unit.playbook.steps[starved.step].spec.join_span or step.span,
                help="write `join: any`, or let the router be `inclusive`",
                story=starved.story,
                sure=starved.sure,
            )


RULE = LintRule("NL702", Severity.WARNING, "net", check, about=("join",))
