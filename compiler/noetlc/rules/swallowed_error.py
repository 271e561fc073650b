"""swallowed-error: the rules of a task let an error pass as if nothing had happened.

Why it matters
    With rules but no match and no `else` the pipeline goes on, also after an error: the next task works on nothing.
Example
    rules:
      - when: "{{ outcome.status == 'error' and outcome.http.status == 429 }}"
        then: {do: retry, attempts: 5}
Instead
    rules:
      - when: "{{ outcome.status == 'error' and outcome.http.status == 429 }}"
        then: {do: retry, attempts: 5}
      - when: "{{ outcome.status == 'error' }}"
        then: {do: fail}
    Where passing the error on is meant, write `on_unmatched: continue` beside `rules`.
When to ignore
    Where the next task can work without the result; `on_unmatched: continue` says so in the playbook.
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr, ListOf, Not
from noetlc.ast.playbook import Rule, Task
from noetlc.ast.truth import ERROR_FACTS, truth_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.shorthand import conjuncts
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Tasks with rules of which perhaps none matches an error, and tasks whose `else` goes on after one."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            # `on_unmatched: continue` says that it is meant.
            if not task.rules or task.on_unmatched_written or task.kind == "noop" or not unit.written.has_rules(task):
                continue
            catching = next((rule for rule in task.rules if truth_of(rule.when, ERROR_FACTS) is True), None)
            if _is_split(task, catching):
                continue
            if catching is None:
                yield RULE.finding(
                    f"an error of `{task.name}` that no rule matches is passed on",
                    task.name_span,
                    help="add a rule for `outcome.status == 'error'`, or write `on_unmatched: continue`",
                )
            elif catching.when is None and catching.directive == "continue":
                yield RULE.finding(
                    f"`else` lets an error of `{task.name}` pass on",
                    catching.span,
                    help="add a rule `when: \"{{ outcome.status == 'error' }}\"` with `do: fail` before it",
                )


def _is_split(task: Task, end: Rule | None) -> bool:
    """Whether two rules before `end` take all errors: those for which a condition holds, and all others."""
    holds: set[Expr] = set()
    fails: set[Expr] = set()
    for rule in task.rules:
        if rule is end or rule.when is None:
            break
        parts = list(conjuncts(rule.when.expr))
        asked = [part for part in parts if ERROR_FACTS.verdict(part) is not True]
        # One that goes on says that errors are meant, or it lets them pass as `else` does.
        if rule.directive == "continue" and len(asked) == len(parts):
            continue
        if len(asked) == 1:
            part, is_so = _condition(asked[0])
            (holds if is_so else fails).add(part)
    return not holds.isdisjoint(fails)


_OPPOSITE = {"!=": "==", "not in": "in"}


def _condition(expr: Expr) -> tuple[Expr, bool]:
    """The condition that a guard asks for, and whether it has to hold: `x != 1`, `not x == 1`, `1 != x` and `x not in
    [1]` ask alike.
    """
    is_so = True
    while True:
        match expr:
            case Not(of=of):
                expr, is_so = of, not is_so
            case Compare(first=first, rest=((op, second),)) if op in _OPPOSITE:
                expr, is_so = Compare(first, ((_OPPOSITE[op], second),)), not is_so
            case Compare(first=first, rest=(("in", ListOf(items=(only,))),)):
                expr = Compare(first, (("==", only),))
            case Compare(first=Const() as first, rest=(("==", second),)) if not isinstance(second, Const):
                expr = Compare(second, (("==", first),))
            case _:
                return expr, is_so


RULE = LintRule("NL507", Severity.WARNING, "ast", check)
