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

import re
from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.patterns import LatePattern
from noetlc.ast.python_code import python_code
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.parser import is_expression
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar

_PARTS = LatePattern(
    r"""(?P<comment>\#[^\n]*) | \"{3}(?:\\.|[^\\])*?\"{3} | \'{3}(?:\\.|[^\\])*?\'{3}
    | "(?:\\.|[^\\\n"])*" | '(?:\\.|[^\\\n'])*'""",
    re.DOTALL | re.VERBOSE,
)
"""Comments and strings of Python, as far as braces need them told apart."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """The first pair of braces with an expression in it, in each program text; comments and texts that are no
    more than comments aside.
    """
    for _, task, value in unit.programs["code"]:
        scalar, template = value.node, value.template
        text = template.value if isinstance(template, Literal) else None
        if not isinstance(text, str) or "{{" not in text:
            continue
        # braces in a text are not what keeps a broken program from running, which is told
        strings = task.kind != "python" or python_code(text).error is None
        found = next(_templates(text, strings), None)
        if found is not None:
            yield RULE.finding(
                "code is never a template: these braces stay as written",
                unit.source.inner_span(scalar, *found) if isinstance(scalar, Scalar) else value.span,
                help="give the value in `args` and use its name in the code",
            )


def _templates(text: str, in_strings: bool) -> Iterator[tuple[int, int]]:
    """Where pairs of braces with an expression stand: in a string, if that is asked for, or around whole strings."""
    idle = _idle(text)
    # Strings become zeros of the same length, so that `{{ 'a' }}` still reads as braces around an expression.
    outside = _PARTS.sub(lambda part: "0" if len(part[0]) < 2 else f"'{'0' * (len(part[0]) - 2)}'", text)
    strings = (part.span() for part in _PARTS.finditer(text) if in_strings and part["comment"] is None)
    spans = [(0, len(text), outside), *((start, end, text) for start, end in strings)]
    for first, last, within in sorted(spans, key=lambda span: span[1]):
        start = within.find("{{", first, last)
        while start >= 0:
            end = within.find("}}", start + 2, last)
            if end < 0:
                break
            line = text.count("\n", 0, start) + 1
            # Braces with something else in them, as of a format string, are Python's own.
            if is_expression(text[start + 2 : end]) and not any(line in lines for lines in idle):
                yield start, end + 2
            start = within.find("{{", start + 2, last)


def _idle(text: str) -> list[range]:
    """The lines of strings that stand alone as a statement, as docstrings do."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


RULE = LintRule("NL804", Severity.WARNING, "ast", check, about=("code",))
