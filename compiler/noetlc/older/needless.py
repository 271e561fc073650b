"""Guards of lowering that say what holds anyway, twice, or never: a colleague would not have written them.

arc   when: "{{ event.name == 'call.done' }}"            →  no guard: such an arc is for a success (LANGUAGE §3)
arc   when: "{{ event.name == 'call.done' and ctx.x }}"  →  ctx.x
rule  when: "{{ outcome.status == 'error' and outcome.status == 'error' }}"  →  once
rule  when: "{{ outcome.status == 'ok' and outcome.status == 'error' }}"     →  no rule
"""

from noetl_ir.expr import Expr
from noetlc.ast.playbook import Arc, Rule, Task
from noetlc.expr.generated import guard
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, conjuncts, equal, path

_ON_FAILURE = frozenset({"name", "status", "error"})
"""What an arc that is asked about failures reads of `event`."""


def without_done(arc: Arc, done: str) -> Arc:
    """The arc without the question whether the event is `done`, that of a success, where nothing else of its guard
    would have a failure asked.
    """
    if arc.when is None:
        return arc
    asked = equal(path("event", "name"), done)
    parts = list(conjuncts(arc.when.expr))
    left = [part for part in parts if part != asked]
    if len(left) == len(parts) or any(map(_reads_end, left)):
        return arc
    return arc._replace(when=guard(both(*left), arc.when.span) if left else None)


def without_dead(task: Task) -> Task:
    """The task without rules that never match, and without what a guard asks twice; what an author wrote stays.

    One rule is left at least: without any, another policy would hold (LANGUAGE §4). So is a jump, which leads to tasks.
    """
    rules = [_once(rule) for rule in task.rules]
    alive = [rule for rule in rules if rule.directive == "jump" or not _is_never(rule)]
    if not alive or (all(new is old for new, old in zip(alive, task.rules, strict=False)) and len(alive) == len(rules)):
        return task
    return task._replace(rules=tuple(alive))


def _once(rule: Rule) -> Rule:
    if rule.when is None or rule.when.node is not None:
        return rule
    parts = list(conjuncts(rule.when.expr))
    found = [part for number, part in enumerate(parts) if part not in parts[:number]]
    return rule if len(found) == len(parts) else rule._replace(when=guard(both(*found), rule.when.span))


def _is_never(rule: Rule) -> bool:
    if rule.when is None or rule.when.node is not None:
        return False
    parts = list(conjuncts(rule.when.expr))
    return OUTCOME_OK in parts and OUTCOME_ERROR in parts


def _reads_end(expr: Expr) -> bool:
    return any(
        access.root.name == "event" and (not access.keys or access.keys[0] in _ON_FAILURE) for access in accesses(expr)
    )
