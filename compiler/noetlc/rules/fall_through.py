"""fall-through: a branch of tasks runs on into the next branch.

Why it matters
    Tasks run one after the other: a branch that is jumped to ends only where something ends it, so that the branch
    behind it is done too.
Example
    - name: route
      kind: noop
      spec: {policy: {rules: [
        {when: "{{ workload.kind == 'a' }}", then: {do: jump, to: do_a}},
        {when: "{{ workload.kind == 'b' }}", then: {do: jump, to: do_b}},
        {else: {then: {do: break}}}]}}
    - {name: do_a, kind: shell, command: make a}           # goes on to do_b
    - {name: do_b, kind: shell, command: make b}
Instead
    - {name: do_a, kind: shell, command: make a, spec: {policy: {rules: [
        {when: "{{ outcome.status == 'error' }}", then: {do: fail}}, {else: {then: {do: break}}}]}}}
    Or write `choose`, of which the branches never run on.
When to ignore
    Where the second branch is meant to follow on the first.
"""

from collections.abc import Iterator
from itertools import pairwise

from noetlc.ast.graph import reached
from noetlc.ast.pipeline import asked_rules, has_unknown_jump, pipeline_of
from noetlc.ast.playbook import Rule, Step, Task
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Guarded forward jumps of one task to two places, of which the first can only go on to the second."""
    for step in unit.playbook.steps:
        if len(step.tasks) > 2 and not has_unknown_jump(step):
            for at, task in enumerate(step.tasks):
                if unit.written.has_rules(task):
                    yield from _branches(step, at)


def _branches(step: Step, router: int) -> Iterator[Diagnostic]:
    positions = {task.name: at for at, task in enumerate(step.tasks)}
    jumps: dict[int, Rule] = {}
    for rule in asked_rules(step.tasks[router]):
        to = positions.get(rule.to or "", -1)
        # Forward and guarded: an unguarded jump is no branch, and one backwards is a loop.
        if rule.directive == "jump" and rule.when is not None and to > router:
            jumps.setdefault(to, rule)
    targets = sorted(jumps)
    following = list(pipeline_of(step).following)
    # The router itself is taken out, or each branch would lead to the next through it.
    following[router] = ()
    for first, second in pairwise(targets):
        last = step.tasks[second - 1]
        runs_on = second - 1 in reached(tuple(following), (first,)) and _only_goes_on(last)
        # Where other tasks jump to the second place, too, it is a meeting point and not a branch.
        if runs_on and not _is_merge(step, router, second):
            yield RULE.finding(
                f"the branch of `{step.tasks[first].name}` runs on into that of `{step.tasks[second].name}`",
                last.name_span,
                help=f"let `{last.name}` end its branch with `break` or a jump, or write `choose`",
                related=(
                    Related(jumps[first].to_span or jumps[first].span, "the first branch"),
                    Related(jumps[second].to_span or jumps[second].span, "the second branch"),
                ),
            )


def _only_goes_on(task: Task) -> bool:
    return all(rule.directive in ("continue", "retry", "fail") for rule in task.rules)


def _is_merge(step: Step, router: int, at: int) -> bool:
    """Whether another task jumps there too: a place where branches meet."""
    name = step.tasks[at].name
    return any(rule.to == name for number, task in enumerate(step.tasks) if number != router for rule in task.rules)


RULE = LintRule("NL509", Severity.WARNING, "ast", check, about=("jump",))
