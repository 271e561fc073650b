"""done-guard-on-loop: a guard asks for the wrong event of success.

Why it matters
    A step with a loop ends in `loop.done`, any other step in `step.done`; the guard is never true.
Example
    - step: fetch
      loop: {in: "{{ workload.cities }}", iterator: city}
      next: {arcs: [{step: report, when: "{{ event.name == 'step.done' }}"}]}
Instead
    next: {arcs: [{step: report, when: "{{ event.name == 'loop.done' }}"}]}
When to ignore
    Never: the guard is false whenever it is asked.
"""

from collections.abc import Iterator

from noetl_ir.expr import Const
from noetlc.ast.playbook import Guard
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.expr.closed import words_compared
from noetlc.rules import LintRule, Unit

_EVENT_NAME = ("event", "name")


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Guards that compare `event.name` with the wrong name and never with the right one."""
    for step in unit.playbook.steps:
        wrong, right = ("step.done", "loop.done") if step.loop is not None else ("loop.done", "step.done")
        for arc in step.router.arcs if step.router is not None else ():
            if arc.when is None or wrong not in arc.when.text:
                continue
            names = [
                const
                for path, const in words_compared(arc.when.expr)
                if path == _EVENT_NAME and const.value in (wrong, right)
            ]
            # Both names are asked: the guard was written for either, and fires.
            if any(const.value == right for const in names):
                continue
            for const in names:
                yield _finding(unit, arc.when, const, step.loop is not None, right)


def _finding(unit: Unit, guard: Guard, const: Const, loops: bool, right: str) -> Diagnostic:
    span, fix = guard.span, None
    if guard.node is not None:
        span = unit.source.inner_span(guard.node, const.start, const.end)
        written = guard.node.text[const.start : const.end]
        # Only a literal that stands in the file as such, in its quotes, can be replaced by its place.
        if written[1:-1] == const.value and span.line == span.end_line:
            fix = Fix(span, f"{written[0]}{right}{written[-1]}", f"write `{right}`", safe=False)
    what = "a step with a loop" if loops else "a step without a loop"
    message = f"{what} ends in `{right}`: `{const.value}` never comes here"
    return RULE.finding(message, span, help=f"compare with `{right}`", fix=fix)


RULE = LintRule("NL604", Severity.WARNING, "ast", check)
