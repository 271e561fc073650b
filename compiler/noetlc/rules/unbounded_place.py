"""unbounded-place: a place under a key is held by a phase behind main that nothing bounds.

Why it matters
    An execution gives its place back when its last phase is over. One that hangs in `on_failure` or `finally` keeps all
    others waiting, though its main has a limit.
Example
    executor: {spec: {concurrency: {key: imports}, finally: tidy}}
Instead
    executor: {spec: {concurrency: {key: imports}, finally: tidy, policy: {lifecycle: {after_s: 300}}}}
When to ignore
    Where the steps of the phase have limits of their own.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Places beside phases behind main without a limit."""
    executor = unit.playbook.executor
    if executor.concurrency is not None and executor.phases and executor.after is None:
        message = f"`{executor.phases[0].name}` holds the place of the execution, and nothing bounds it"
        yield RULE.finding(message, executor.concurrency.span, help="write `policy: {lifecycle: {after_s: …}}`")


RULE = LintRule("NL832", Severity.WARNING, "ast", check, about=("concurrency",))
