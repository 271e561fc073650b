"""jump-without-exit: tasks that jump round in a circle which nothing ends.

Why it matters
    The run goes round until its budget of tasks is used up, and then fails.
Example
    - name: poll
      kind: http
      url: "{{ workload.url }}"
      spec: {policy: {rules: [{else: {then: {do: jump, to: poll}}}]}}
Instead
    rules:
      - {when: "{{ outcome.result.data.ready }}", then: {do: break}}
      - {else: {then: {do: jump, to: poll, delay: 5s}}}
When to ignore
    Never, but a step that is meant to run until its time is up can say so with `lifecycle.timeout_s`.
"""

from collections.abc import Iterator

from noetlc.ast.graph import reached
from noetlc.ast.pipeline import asked_rules, has_unknown_jump, pipeline_of
from noetlc.ast.playbook import Step
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """One finding for each step with tasks from which the pipeline cannot end; a time limit is an end."""
    for step in unit.playbook.steps:
        if any(rule.directive == "jump" for task in step.tasks for rule in task.rules) and not has_unknown_jump(step):
            yield from _endless(step)


def _endless(step: Step) -> Iterator[Diagnostic]:
    graph = pipeline_of(step)
    # A time limit ends the run wherever it is.
    if graph.ends_anywhere:
        return
    # Backwards from the ends: what cannot reach one is found in a single walk.
    before: list[list[int]] = [[] for _ in step.tasks]
    for at, targets in enumerate(graph.following):
        for target in targets:
            before[target].append(at)
    ends = (at for at, may_end in enumerate(graph.ends) if may_end)
    can_end = reached(tuple(tuple(sources) for sources in before), ends)
    for at in sorted(reached(graph.following, (0,)) - can_end) if step.tasks else ():
        jump = next((rule for rule in asked_rules(step.tasks[at]) if rule.directive == "jump"), None)
        if jump is not None:
            yield RULE.finding(
                f"nothing ends the jumps from `{step.tasks[at].name}` to `{jump.to}`",
                jump.to_span or jump.span,
                help="add a rule before it that does `break`, `fail` or `continue` when the work is done",
            )
            return


RULE = LintRule("NL508", Severity.ERROR, "ast", check, about=("jump",))
