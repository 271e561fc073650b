"""http-without-timeout: a request may take so long that nothing limits it.

Why it matters
    Without a `timeout` a request ends after 30 seconds. A limit of more than a day is as good as none: while an answer
    does not come, the request holds a worker and the execution.
Example
    - {kind: http, url: "{{ workload.url }}", timeout: 48h}
Instead
    - {kind: http, url: "{{ workload.url }}", timeout: 60}
    Or beside it, for the step with all its attempts: `spec: {policy: {lifecycle: {timeout_s: 300}}}`.
When to ignore
    For a stream that is meant to go on for as long as something comes.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.kinds import limit_of
from noetlc.ast.defaults import timeout_of
from noetlc.ast.pipeline import is_bounded
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit

LONGEST = 24 * 3600.0
"""Seconds; what is longer is no limit."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Requests whose `timeout`, or a part of it, is longer than a day, in a step without a limit."""
    for step in unit.playbook.steps:
        for task in step.tasks if not is_bounded(step) else ():
            value = _timeout(unit.playbook, step, task) if task.kind == "http" else None
            if value is not None and isinstance(value.template, Literal) and _is_none(value.template):
                yield RULE.finding(
                    f"nothing limits how long the request of `{task.name}` takes",
                    value.span,
                    help="write a shorter `timeout`, or give the step a `lifecycle.timeout_s`",
                )


def _timeout(playbook: Playbook, step: Step, task: Task) -> Value | None:
    fields = dict(task.fields)
    # The order in which they win: the nearest to the request.
    own = task.timeout or fields.get("timeout") or fields.get("timeout_seconds")
    return own or timeout_of(playbook, step, task, parks=False)


def _is_none(template: Literal) -> bool:
    seconds = limit_of(template.value)
    return seconds is not None and seconds > LONGEST


RULE = LintRule("NL810", Severity.NOTE, "ast", check, about=("http",))
