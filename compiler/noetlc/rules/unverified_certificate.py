"""unverified-certificate: a request does not check whom it speaks to.

Why it matters
    Whoever stands between can read and change what is sent, secrets included.
Example
    - {kind: http, url: "https://example.com", verify_ssl: false}
Instead
    - {kind: http, url: "https://example.com"}
When to ignore
    Against a local test server with a certificate of its own making.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.ast.playbook import Value
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`verify_ssl: false`, in a task or in a spec that tasks inherit."""
    for name, value in _values(unit):
        # Written out only: a template may give true.
        if name == "verify_ssl" and value.template == Literal(False):
            yield RULE.finding(
                "the server's certificate is not checked",
                value.span,
                help="leave it out: certificates are checked then",
            )


def _values(unit: Unit) -> Iterator[tuple[str, Value]]:
    yield from unit.playbook.executor.knobs
    for step in unit.playbook.steps:
        yield from step.spec.knobs
        for loop in loops_of(step):
            yield from loop.knobs
        for task in step.tasks:
            yield from (*task.fields, *task.knobs)
    for _, task in unit.playbook.workbook:
        yield from (*task.fields, *task.knobs)


RULE = LintRule("NL809", Severity.WARNING, "ast", check, words=("verify_ssl",))
