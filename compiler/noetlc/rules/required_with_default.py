"""required-with-default: an input must be brought, and the workload has a value for it.

Why it matters
    The value is never used: a start that does not bring the input is refused.
Example
    executor: {spec: {inputs: {day: {type: string, required: true}}}}
    workload: {day: "2026-01-31"}
Instead
    executor: {spec: {inputs: {day: {type: string}}}}
    workload: {day: "2026-01-31"}
When to ignore
    Where the value is merged with what is brought: of a mapping each key has its own default.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal, MapTemplate
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Required inputs beside a key of `workload`, mappings aside, which are merged."""
    spans = dict(unit.playbook.workload_spans)
    values = dict(unit.playbook.workload)
    for one in unit.playbook.executor.inputs or ():
        value = values.get(one.name)
        if not one.required or value is None:
            continue
        template = value.template
        if isinstance(template, MapTemplate) or (isinstance(template, Literal) and isinstance(template.value, dict)):
            continue
        yield RULE.finding(
            f"the input `{one.name}` must be brought, so that its value in `workload` is never used",
            spans[one.name],
            help=f"leave `required` out of the input, or `{one.name}` out of `workload`",
            related=(Related(one.name_span, "the input"),),
        )


RULE = LintRule("NL415", Severity.WARNING, "ast", check, about=("inputs",))
