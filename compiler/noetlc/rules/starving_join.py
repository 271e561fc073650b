"""starving-join: a join waits for a token that does not come.

Why it matters
    The tokens that came lie there until nothing else can happen; the execution ends as `blocked`.
Example
    - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
    - {step: a, next: {arcs: [{step: report}]}}
    - {step: b, next: {arcs: [{step: report, when: "{{ b.ok }}"}, {step: end}]}}
    - {step: report, spec: {policy: {join: all}}}          # b's token may end elsewhere
Instead
    Let every branch bring its token to the join: `- {step: b, next: {arcs: [{step: report}]}}`.
When to ignore
    Where what the guard looks at makes the other way impossible, and the analysis cannot see that.
"""

from collections.abc import Iterator

from noetlc.codegen.forks import could_be_taken
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Joins that starve, but those of which another rule can say more."""
    for starved in unit.starved:
        # Choices and cycles are told by rules that name the router or the fork.
        if starved.cause not in ("", "itself", "gate", "rest"):
            continue
        plan = unit.proofs.plan
        step = plan.steps[starved.step]
        if (starved.cause == "gate" and step.join.mode == "taken") or _is_fed_twice(unit, starved.step):
            continue
        has, missing = listed_steps(starved.has), listed_steps(starved.missing)
        message = f"`{step.name}` may have a token from {has} and wait for one from {missing} that does not come"
        if starved.cause == "rest":
            needed = step.join.n
            message = f"`{step.name}` starts on each {needed} tokens, and there may be fewer left that wait for more"
            help = "let a multiple of that number come, or start on each token with `join: any`"
        elif starved.cause == "itself":
            message = f"`{step.name}` waits for a token from {missing}, which runs only after `{step.name}`"
            help = "let it start on each token with `join: any`"
        elif starved.cause == "gate":
            help = f"`{plan.steps[starved.culprit].name}` ends the token that it does not admit: write `on_deny: wait`"
        elif step.join.mode == "all" and could_be_taken(unit.playbook, unit.playbook.steps[starved.step]):
            help = "wait for the branches that the fork took with `join: taken`"
        else:
            help = "let every branch end in the join, or count what is enough with `join: <n>`"
        span = unit.playbook.steps[starved.step].spec.join_span or step.span
        yield RULE.story(message, span, help=help, story=starved.story, sure=starved.sure)


def _is_fed_twice(unit: Unit, join: int) -> bool:
    """Whether one router has two arcs to the join: then those are what is wrong."""
    name = unit.playbook.steps[join].name
    for source in unit.graph.sources[join]:
        router = unit.playbook.steps[source].router
        if router is not None and router.mode == "inclusive" and sum(arc.target == name for arc in router.arcs) > 1:
            return True
    return False


RULE = LintRule("NL701", Severity.WARNING, "net", check, about=("join",))
