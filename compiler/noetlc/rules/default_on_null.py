"""default-on-null: `default` on a workload value that is null.

Why it matters
    `default` replaces what is undefined only; null stays null and prints as nothing.
Example
    workload: {page: null}
    params: {page: "{{ workload.page | default(1) }}"}
Instead
    params: {page: "{{ workload.page | default(1, true) }}"}
When to ignore
    Where null is a value of its own and is meant to stay.
"""

from collections.abc import Iterator

from noetl_ir.expr import Filter, Literal, walk
from noetlc.ast.truth import path_of
from noetlc.ast.walk import all_expressions
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`workload.x | default(y)` where x is written as null."""
    nulls = {key for key, value in unit.playbook.workload if value.template == Literal(None)}
    written = {key for key, _ in unit.playbook.workload}
    # An input that may be left out is null then.
    nulls |= {one.name for one in unit.playbook.executor.inputs or () if not one.required} - written
    if not nulls:
        return
    for expr, scalar in all_expressions(unit.playbook):
        for part in walk(expr):
            # With a second argument null is replaced, too, which its author knows then.
            if not isinstance(part, Filter) or part.name not in ("default", "d") or len(part.args) != 1 or part.named:
                continue
            path = path_of(part.of)
            if scalar is not None and len(path) == 2 and path[0] == "workload" and path[1] in nulls:
                state = "is" if path[1] in written else "may be"
                yield RULE.finding(
                    f"`workload.{path[1]}` {state} null, and `default` replaces only what is undefined",
                    unit.source.inner_span(scalar, part.start, part.end),
                    help="write `default(…, true)` to replace null too",
                )


RULE = LintRule("NL402", Severity.NOTE, "ast", check)
