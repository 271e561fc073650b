"""python-syntax: the `code` of a python task has a syntax error.

Why it matters
    The task fails whenever it runs.
Example
    - {kind: python, code: "result = = 1"}
Instead
    - {kind: python, code: "result = 1"}
When to ignore
    Never: the task fails whenever it runs.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.patterns import LatePattern
from noetlc.ast.python_code import offset_of, python_code
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """The first syntax error of each program."""
    for _, task, value in unit.programs["code"]:
        if task.kind != "python" or not isinstance(value.template, Literal):
            continue
        text = value.template.value
        error = python_code(text).error if isinstance(text, str) else None
        if error is None or not isinstance(text, str):
            continue
        at = offset_of(text, error)
        span = unit.source.inner_span(value.node, at, at + 1) if isinstance(value.node, Scalar) else value.span
        yield RULE.finding(f"the code of `{task.name}` is not valid Python: {error.name}", span, help=_help(text, at))


def _help(text: str, at: int) -> str:
    """The advice about a syntax error at an offset; a key of the task in the code has slipped into it."""
    # A key of the task that stands as deep as the block before it is read as a line of the code.
    slipped = _KEY.match(text, text.rfind("\n", 0, at) + 1)
    if slipped is not None and slipped[1] in _KEYS:
        return f"`{slipped[1]}:` is a key of the task: write it as far to the left as `code`"
    return "mend the line; code is Python as it stands, never a template"


_KEY = LatePattern(r"[ \t]*(\w+):(?=\s|$)")
_KEYS = frozenset({"args", "auth", "libs", "spec", "kind", "name", "input", "data", "with", "timeout", "code"})

RULE = LintRule("NL803", Severity.ERROR, "ast", check, about=("code",))
