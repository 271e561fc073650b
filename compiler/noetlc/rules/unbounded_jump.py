"""unbounded-jump: tasks jump round until something outside changes, however long that takes.

Why it matters
    Nothing counts the rounds and nothing limits the time: if what is waited for never comes, the run asks on until its
    budget of a million tasks is used up.
Example
    - name: poll
      kind: http
      url: "{{ workload.url }}"
      spec: {policy: {rules: [
        {when: "{{ outcome.status == 'error' }}", then: {do: fail}},
        {when: "{{ outcome.result.data.ready }}", then: {do: break}},
        {else: {then: {do: jump, to: poll, delay: 5s}}}]}}
Instead
    - name: poll
      until: {when: "{{ iter.ready }}", then: […], delay: 5s, max_iterations: 60}
    Or give the step a limit: `spec: {policy: {lifecycle: {timeout_s: 600}}}`.
When to ignore
    Where what is waited for is sure to come.
"""

from collections.abc import Iterator

from noetlc.ast.components import components_of
from noetlc.ast.pipeline import asked_rules, has_unknown_jump, is_bounded, pipeline_of
from noetlc.ast.playbook import Step, Task
from noetlc.ast.walk import rule_guards
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit

_CHANGING = frozenset({"iter", "ctx", "_iteration", "_elapsed", "_attempt", "now"})
"""What guards may read that changes by itself from round to round."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Circles of jumps with a way out in which nothing is set and no guard reads a count or a time."""
    for step in unit.playbook.steps:
        if any(rule.directive == "jump" for task in step.tasks for rule in task.rules) and not has_unknown_jump(step):
            yield from _circles(step)


def _circles(step: Step) -> Iterator[Diagnostic]:
    graph = pipeline_of(step)
    if is_bounded(step):
        return
    # Each circle once, whatever task of it the walk comes to first.
    for members in components_of(graph.following):
        at = min(members)
        round_ = len(members) > 1 or at in graph.following[at]
        tasks = [step.tasks[number] for number in sorted(members)]
        leaves = any(graph.ends[number] or set(graph.following[number]) - set(members) for number in members)
        # A circle without a way out is `jump-without-exit`, which is an error.
        if not round_ or not leaves or any(map(_changes, tasks)):
            continue
        jumps = [rule for task in tasks for rule in asked_rules(task) if rule.directive == "jump"]
        back = next((rule for rule in jumps if rule.to in {task.name for task in tasks}), None)
        if back is not None:
            yield RULE.finding(
                f"nothing limits how often `{step.name}` jumps back to `{back.to}`",
                back.to_span or back.span,
                help="write `until` with `max_iterations`, or give the step a `lifecycle.timeout_s`",
            )


def _changes(task: Task) -> bool:
    """Whether a task keeps count, looks at one, or waits for what somebody sends."""
    if task.generated or task.kind == "wait" or any(rule.set_iter or rule.set_ctx for rule in task.rules):
        return True
    return any(access.root.name in _CHANGING for guard in rule_guards(task) for access in accesses(guard.expr))


RULE = LintRule("NL510", Severity.NOTE, "ast", check, about=("jump",))
