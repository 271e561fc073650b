"""impossible-outcome: a rule waits for an outcome that its task cannot have.

Why it matters
    The rule never matches: a retry that was meant for trouble does not happen, and the trouble is passed on.
Example
    - name: ask
      kind: python
      code: "result = 1"
      spec: {policy: {rules: [{when: "{{ outcome.http.status == 503 }}", then: {do: retry}}, {else: {do: fail}}]}}
Instead
    - {when: "{{ outcome.py.exception_type == 'TimeoutError' }}", then: {do: retry}}
When to ignore
    Never: a rule that cannot match is dead text.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.kinds import Kind
from noetlc.analysis.choices import Choice
from noetlc.ast.once import Once
from noetlc.ast.playbook import Guard, Task
from noetlc.ast.truth import path_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import accesses
from noetlc.reading.kinds import kind_of
from noetlc.rules import LintRule, Unit

_KINDS_OWN = frozenset({"http", "pg", "py", "shell", "sqlite", "duckdb"})
_STATUS = ("outcome", "http", "status")
_FAILING = 400


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Guards that ask for what another kind reports, an error of a noop, or a good answer with a bad status."""
    # Lowering makes rules for any task, also for outcomes that its kind has not.
    for step in unit.playbook.steps if not unit.playbook.legacy else ():
        for task in step.tasks:
            kind = kind_of(task.kind)
            for rule in task.rules:
                if rule.when is None or kind is None or task.generated:
                    continue
                reason = _reason(unit, task, kind, rule.when)
                if reason:
                    help = "ask for an outcome that it has, or remove the rule"
                    yield RULE.finding(f"`{task.name}` never has this outcome: {reason}", rule.when.span, help=help)


def _reason(unit: Unit, task: Task, kind: Kind, guard: Guard) -> str:
    for key in _extras(guard.expr):
        if key not in kind.extras:
            return f"`outcome.{key}` is not there for `{task.kind}`"
    # Of other kinds nothing certain is known about their outcomes.
    if task.kind != "noop" and not (task.kind == "http" and "http" in guard.text):
        return ""
    good, bad = (unit.choices.choice_of([guard], moment) for moment in ("ok", "error"))
    if not good.may(0) and not bad.may(0):
        return ""  # told as a guard that is never true
    if task.kind == "noop" and not good.may(0):
        return "a `noop` gives no error"
    if task.kind == "http" and not bad.may(0) and _asks_for_a_bad_status(good):
        return f"a status of {_FAILING} or more is an error"
    return ""


def _of_kinds(expr: Expr) -> tuple[str, ...]:
    """The attributes of `outcome` that only some kinds give and that an expression cannot do without."""
    if not needs_all(expr):
        return ()
    keys = (str(access.keys[0]) for access in accesses(expr) if access.root.name == "outcome" and access.keys)
    return tuple(key for key in keys if key in _KINDS_OWN)


_extras = Once(_of_kinds)


def _asks_for_a_bad_status(choice: Choice) -> bool:
    """Whether a guard is true with statuses of failures only."""
    rows = [example for truths, example in (choice.truths or {}).items() if truths[0]]
    found = [value for example in rows for expr, value in example.items() if path_of(expr) == _STATUS]
    return bool(rows) and len(found) == len(rows) and all(_is_bad(value) for value in found)


def _is_bad(value: str) -> bool:
    # The first character of an example says how the value is compared.
    return value[1:].isdigit() and int(value[1:]) >= _FAILING


RULE = LintRule("NL511", Severity.WARNING, "ast", check)
