"""unreachable-task: no outcome of the tasks before leads to a task.

Why it matters
    The task never runs: what was to come next is jumped over, or the run ends before.
Example
    - name: fetch
      kind: http
      url: "{{ workload.url }}"
      spec: {policy: {rules: [{else: {then: {do: break}}}]}}
    - {name: store, kind: noop}               # nothing goes on after `fetch`
Instead
    spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: fail}}]}}
When to ignore
    While the playbook is being written and the task is not yet led to.
"""

from collections.abc import Iterator

from noetlc.ast.graph import reached
from noetlc.ast.pipeline import has_unknown_jump, pipeline_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Tasks that neither the one before nor a jump leads to."""
    for step in unit.playbook.steps:
        # A jump with a misspelt target may be the one that leads here.
        if len(step.tasks) < 2 or has_unknown_jump(step):
            continue
        found = reached(pipeline_of(step).following, (0,))
        for position, task in enumerate(step.tasks):
            if position not in found and unit.written.has(task):
                before = [each.name for each in step.tasks[:position] if unit.written.has(each)]
                let = f"let `{before[-1]}` continue, " if before else ""
                yield RULE.finding(
                    f"no task of `{step.name}` goes on to `{task.name}`",
                    task.name_span,
                    help=f"{let}jump to `{task.name}`, or remove it",
                )


RULE = LintRule("NL506", Severity.WARNING, "ast", check, whole=True)
