"""template-in-code: braces of a template in the `code` of a python task.

Why it matters
    Code is never a template: the braces reach Python as they are written.
Example
    - {kind: python, code: "result = '{{ workload.name }}'"}
Instead
    - {kind: python, args: {name: "{{ workload.name }}"}, code: "result = name"}
When to ignore
    Where the code itself makes templates, and the braces are meant for what it makes.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.errors import TemplateError
from noetlc.expr.parser import parse_expression
from noetlc.rules import Rule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """The first pair of braces with an expression in it, in each program text."""
    for _, _, value in unit.programs["code"]:
        scalar = value.node
        if not isinstance(scalar, Scalar):
            continue
        start = scalar.text.find("{{")
        end = scalar.text.find("}}", start + 2)
        if start >= 0 and end >= 0 and _is_expression(scalar.text[start + 2 : end]):
            yield RULE.finding(
                "code is never a template: these braces stay as written",
                unit.source.inner_span(scalar, start, end + 2),
                help="give the value in `args` and use its name in the code",
            )


def _is_expression(text: str) -> bool:
    try:
        parse_expression(text)
    except TemplateError:
        return False
    return True


RULE = Rule("NL804", Severity.WARNING, "ast", check)
