"""unknown-context-key: python code reads a key of `context` that nothing has.

Why it matters
    `context["…"]` raises a KeyError, and `context.get("…")` gives None or its default in every run.
Example
    - {kind: python, code: "result = context.get('totl')"}
Instead
    - {kind: python, code: "result = context.get('total')"}
When to ignore
    Where the payload brings a key that `workload` does not declare.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.nearest import nearest
from noetl_ir.python_names import CONTEXT, ContextKey, python_reads
from noetlc.ast.code_names import CodeNames, arriving_args, code_names
from noetlc.ast.playbook import Task, Value
from noetlc.ast.python_code import offset_of, place_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Literal keys of `context`, where the name is not the code's own or an arg's; one with a default is a note."""
    arriving = arriving_args(unit.playbook)
    for step, task, value in unit.programs["code"]:
        text = value.template.value if isinstance(value.template, Literal) else None
        if task.kind != "python" or not isinstance(text, str):
            continue
        reads = python_reads(text)
        names = code_names(unit.playbook, step, task, arriving) if reads.literal and not reads.rebound else None
        # An arg called `context` is what the code reads.
        if names is None or CONTEXT in names.args:
            continue
        asked = {key.name for key in reads.literal if key.use == "test"}  # the code knows that it may not be there
        for key in reads.literal:
            if key.name not in names.context | asked:
                yield _finding(unit, task, value, text, key, names)


def _finding(unit: Unit, task: Task, value: Value, text: str, key: ContextKey, names: CodeNames) -> Diagnostic:
    node, span = value.node, value.span
    if isinstance(node, Scalar):
        at = offset_of(text, place_of(text, *key[:3]))
        span = unit.source.inner_span(node, at, at + len(key.name) + 2)  # with its quotes
    tell = RULE.note if key.use == "get" else RULE.finding
    return tell(
        f"`context` in the code of `{task.name}` has no `{key.name}`", span, help=_help(key.name, names.context)
    )


def _help(name: str, names: set[str]) -> str:
    near = nearest(name, sorted(names))
    return f"did you mean `{near}`?" if near else f"declare it under `workload`, or give it in `args: {{{name}: …}}`"


RULE = LintRule("NL811", Severity.WARNING, "ast", check, about=("code",), words=("context",))
