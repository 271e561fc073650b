"""shell-style-variable: `${args.who}` in a text, where a template was meant.

Why it matters
    Only double braces are a template: `${…}` stays as it is written, and the text is sent with it.
Example
    tool: {kind: noop, result: "hello ${args.who}"}
Instead
    tool: {kind: noop, result: "hello {{ args.who }}"}
When to ignore
    Where the text is for a program that reads `${…}` itself.
"""

import re
from collections.abc import Iterator

from noetl_ir.patterns import LatePattern
from noetl_ir.scopes import RESERVED
from noetlc.ast.playbook import Step, Task, Value
from noetlc.ast.walk import loops_of, rule_values, task_values
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.expr.check import Names
from noetlc.reading.around import Around
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Node, Scalar, all_nodes

_VARIABLE = LatePattern(r"(?<![$\\\\])\$\{ *([A-Za-z_]\w*)((?:\.\w+|\[\d+\])*) *\}")


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`${name}` and `${name.key}` of names that are known here, in texts; in programs, which have variables of their
    own, only with a key.
    """
    around: Around | None = None
    code = {id(value) for _, _, value in unit.programs["code"]}  # which may have texts with `${…}` in them
    programs = {id(value) for language in unit.programs.values() for _, _, value in language}
    for step in unit.playbook.steps:
        for value in (each for each in _values(step) if id(each) not in code):
            for scalar in _texts(value.node):
                for found in _VARIABLE.finditer(scalar.text):
                    around = around or unit.around
                    names = around.names(step)
                    # A shell has variables of its own, written just so; only a path with a key is surely not one of
                    # them.
                    if _is_known(found[1], names) and (found[2] or id(value) not in programs):
                        yield _finding(unit, scalar, found)


def _finding(unit: Unit, scalar: Scalar, found: re.Match[str]) -> Diagnostic:
    meant = f"{{{{ {found[1]}{found[2]} }}}}"
    span = unit.source.inner_span(scalar, found.start(), found.end())
    is_there = scalar.style and span.line == span.end_line  # a plain text could begin with the braces
    fix = Fix(span, meant, f"write `{meant}`", safe=False) if is_there else None
    message = f"`{found[0]}` is no template and stays as it is written"
    return RULE.finding(message, span, help=f"write `{meant}`", fix=fix)


def _is_known(name: str, names: Names) -> bool:
    scopes = (names.iterators, names.tasks, names.steps, names.args, names.ctx, names.iter, names.workload)
    return name in RESERVED or any(name in scope for scope in scopes)


def _values(step: Step) -> Iterator[Value]:
    for loop in loops_of(step):
        yield loop.items
    for task in step.tasks:
        yield from _own(task)
    for arc in step.router.arcs if step.router is not None else ():
        if arc.args is not None:
            yield arc.args


def _own(task: Task) -> Iterator[Value]:
    yield from task_values(task)
    yield from rule_values(task)


def _texts(node: Node | None) -> Iterator[Scalar]:
    nodes = () if node is None else all_nodes(node, keys=False)
    return (here for here in nodes if isinstance(here, Scalar) and "${" in here.text)


RULE = LintRule("NL315", Severity.WARNING, "ast", check, words=("${",))
