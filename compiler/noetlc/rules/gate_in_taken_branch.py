"""gate-in-taken-branch: a step that may not be admitted stands in a branch that a `taken` join waits for.

Why it matters
    The fork took the branch, so the join waits for it; the token that is not admitted ends, and never comes.
Example
    - step: start
      next: {spec: {mode: inclusive}, arcs: [{step: mail, when: "{{ workload.mail }}"}, {step: log}]}
    - step: mail
      spec: {policy: {admit: {rules: [{when: "{{ workload.address }}", then: {allow: true}}]}}}
      next: {arcs: [{step: done}]}
    - {step: log, next: {arcs: [{step: done}]}}
    - {step: done, spec: {policy: {join: taken}}}
Instead
    arcs: [{step: mail, when: "{{ workload.mail and workload.address }}"}, {step: log}]
When to ignore
    Where what the gate asks is always so when the branch is taken.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`taken` joins that starve because a gate in a branch ended its token."""
    for starved in unit.starved:
        plan = unit.proofs.plan
        step = plan.steps[starved.step]
        if starved.cause == "gate" and step.join.mode == "taken":
            gate = plan.steps[starved.culprit]
            admit = unit.playbook.steps[starved.culprit].spec.admit
            yield RULE.story(
                f"`{gate.name}` may not be admitted, and `{step.name}` waits for its branch",
                admit.span if admit is not None else gate.span,
                help="ask in the guard of the fork's arc instead, or write `on_deny: wait`",
                story=starved.story,
                sure=starved.sure,
            )


RULE = LintRule("NL704", Severity.WARNING, "net", check, about=("join",))
