"""Guards that hold after every success of a tool anyway: a colleague would not have asked it (REAL.md, migration).

when: "{{ response is defined and ctx.x }}"    →  ctx.x: a tool that went well has a result
iter.__route of a rule that takes every success  →  nothing: its arcs have no guard
"""

from collections.abc import Container

from noetl_ir.expr import Expr, Test
from noetl_ir.paths import static_path
from noetlc.ast.playbook import Rule, Step
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import FALSE, TRUE
from noetlc.older.case.retries import only_repeats
from noetlc.older.case.routes import ROUTE
from noetlc.older.case.rules import Policy, Ready
from noetlc.older.events import constants_folded
from noetlc.older.legacy_names import IN_RULES, OUTCOME_RESULT
from noetlc.older.skips import may_be_skipped
from noetlc.older.targets import Targets

_THERE = frozenset(here for here, meaning in IN_RULES.items() if meaning in (OUTCOME_RESULT, IN_RULES["this",]))
"""Old words that mean the outcome of a tool, or its result, in the tool's own policy."""


def of_success(rule: Ready, known: Container[str]) -> Ready:
    """The rule, which does not ask whether a success has a result; one that asks for none stays as it is."""

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Test(of=of, name="defined" | "undefined" as name, args=(), named=()):
                here = static_path(of)
                if here and here in _THERE and here[0] not in known:
                    return TRUE if name == "defined" else FALSE
        return None

    asked = rewritten(rule.success, replace)
    if asked is rule.success or asked == rule.success or (asked := constants_folded(asked)) == FALSE:
        return rule
    return rule._replace(success=asked)


def always_taken(step: Step, rules: list[Ready], policy: Policy) -> Ready | None:
    """The rule that takes every success and routes, where nothing else lets the step go on."""
    asked = [rule for rule in rules if rule.success != FALSE and not only_repeats(rule)]
    if step.loop is not None or step.router is not None or may_be_skipped(step) or policy.ignores or not asked:
        return None
    if any(isinstance(extra, Targets) for extra in step.extras):
        return None
    if any(rule.failure != FALSE and not only_repeats(rule) for rule in rules):
        return None
    if any(rule.directive not in ("retry", "fail") for rule in policy.before):
        return None
    first = asked[0]
    return first if first.success == TRUE and first.route is not None and first.rule.again is None else None


def without_route(step: Step) -> Step:
    """The step that does not record which rule it takes."""

    def unrouted(rule: Rule) -> Rule:
        kept = tuple(pair for pair in rule.set_iter if pair[0] != ROUTE)
        return rule if len(kept) == len(rule.set_iter) else rule._replace(set_iter=kept)

    return step._replace(tasks=tuple(t._replace(rules=tuple(map(unrouted, t.rules))) for t in step.tasks))
