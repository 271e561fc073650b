"""idle-task-defaults: `executor.spec.tasks` has defaults that no task takes.

Why it matters
    Whoever wrote them believes that the tasks of that kind have them.
Example
    executor: {spec: {tasks: {postgres: {spec: {timeout: 30s}}}}}
    tool: {kind: http, url: "{{ workload.url }}"}
Instead
    executor: {spec: {tasks: {http: {spec: {timeout: 30s}}}}}
When to ignore
    Where the file is one of several that begin alike.
"""

from collections.abc import Iterator

from noetlc.ast.workbook import inline_workbook
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Kinds with defaults of which there is no task, or whose tasks all have a policy of their own."""
    # As it was read: there tasks have only policies that their author gave them.
    playbook = inline_workbook(unit.lowered)
    tasks = [task for step in playbook.steps for task in step.tasks if not task.generated]
    for defaults in playbook.executor.tasks:
        kind = defaults.kind
        alike = [task for task in tasks if task.kind == kind]
        if not alike:
            help = "leave it out; a task that lowering made takes no default"
            yield RULE.finding(f"no task is of the kind `{kind}`", defaults.kind_span, help=help)
        elif defaults.rules and all(task.rules for task in alike):
            help = "leave it out, or leave out the `policy` of a task, which replaces it as a whole"
            message = f"every `{kind}` task has a policy of its own, and none takes this one"
            yield RULE.finding(message, defaults.rules[0].span, help=help)


RULE = LintRule("NL831", Severity.WARNING, "ast", check, whole=True, about=("tasks",))
