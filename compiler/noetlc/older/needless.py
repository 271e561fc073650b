"""Guards of lowering that say what holds anyway, twice, or never: a colleague would not have written them.

arc   when: "{{ event.name == 'call.done' }}"            →  no guard: such an arc is for a success (LANGUAGE §3)
arc   when: "{{ event.name == 'call.done' and ctx.x }}"  →  ctx.x
rule  when: "{{ outcome.status == 'error' and outcome.status == 'error' }}"  →  once
rule  when: "{{ outcome.status == 'ok' and outcome.status == 'error' }}"     →  no rule
rule  of a noop  when: "{{ outcome.status == 'ok' }}"                        →  else
"""

from noetl_ir.expr import Expr
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Arc, Rule, Step, Task
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
    # An arc that asks about the end of a step is asked on failures as well. Without `step.done` in its guard, such an
    # arc would take them.
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


def _plain_noop(task: Task) -> Task:
    """The noop without rules of lowering for an error, which it never gives, nor behind what takes all successes."""
    rules = _of_noop(task.rules)
    return task if rules == task.rules else task._replace(rules=rules)


def _of_noop(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    left = [rule for rule in rules if not (_is_made_for(rule, OUTCOME_ERROR) and rule.directive == "fail")]
    at = next((number for number, rule in enumerate(left) if _is_made_for(rule, OUTCOME_OK)), None)
    # What its author wrote behind such a rule stays, and so does the rule.
    if at is None or any(rule.directive != "fail" or rule.set_ctx or rule.set_iter for rule in left[at + 1 :]):
        return tuple(left) if left else rules
    return (*left[:at], left[at]._replace(when=None))


def _is_made_for(rule: Rule, outcome: Expr) -> bool:
    return rule.when is not None and rule.when.node is None and rule.when.expr == outcome


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


# Jumps that lowering makes to what comes next anyway: a colleague would not have written them (REAL.md, migration).
#
#     {when: "{{ outcome.status == 'ok' }}", then: {do: jump, to: the next task}}    →  continue
#     [{when: ok, then: {do: continue}}, {else: {then: {do: fail}}}]                 →  no policy: that is the default
#     __s__case0__merge, a noop that only leads to what comes next                  →  no task
#
# What an author wrote stays.
def straight(step: Step) -> Step:
    """The step without jumps to what comes next anyway, and without tasks that are nothing but one."""
    tasks = _without_idle(step.tasks)
    behind = [*(task.name for task in tasks[1:]), ""]
    made = _without_idle(tuple(_going_on(task, name) for task, name in zip(tasks, behind, strict=True)))
    made = tuple([_plain_noop(task) if task.kind == "noop" and task.rules else task for task in made])
    return step if made == step.tasks else step._replace(tasks=made)


def _going_on(task: Task, behind: str) -> Task:
    """The task that goes on to the one `behind` it, "" for the last, by going on."""
    rules = tuple(_continuing(rule, behind) for rule in task.rules)
    # These two rules are what holds without a policy: go on after a success, fail after an error.
    if len(rules) == 2 and _goes_on(rules[0]) and _fails(rules[1]):
        rules = ()
    return task if rules == task.rules else task._replace(rules=rules)


def _continuing(rule: Rule, behind: str) -> Rule:
    leads = rule.directive == "jump" and rule.to == behind if behind else rule.directive == "break"
    return rule._replace(directive="continue", to=None, to_span=None) if leads and _is_made_for_ok(rule) else rule


def _is_made_for_ok(rule: Rule) -> bool:
    """Whether lowering made a rule, for a success: to go on after an error is told of."""
    return rule.when is not None and rule.when.node is None and OUTCOME_OK in conjuncts(rule.when.expr)


def _goes_on(rule: Rule) -> bool:
    """Whether a rule does with a success what is done without any."""
    whole = _is_made_for_ok(rule) and rule.when is not None and rule.when.expr == OUTCOME_OK
    return whole and rule.directive == "continue" and not rule.set_ctx and not rule.set_iter


def _fails(rule: Rule) -> bool:
    sets = rule.set_ctx or rule.set_iter
    return rule.when is None and rule.directive == "fail" and not (rule.code or rule.message or sets)


def _without_idle(tasks: Tasks) -> Tasks:
    """The tasks without those that only lead to the next one and that nothing jumps to; the first stays."""
    while True:  # a task that goes may have been the only one that jumped to another, which can go then as well
        wanted = {rule.to for task in tasks for rule in task.rules}
        behind = [*(task.name for task in tasks[1:]), ""]
        kept = tuple(
            task
            for task, name in zip(tasks, behind, strict=True)
            if task is tasks[0] or task.name in wanted or not _only_leads(task, name)
        )
        if len(kept) == len(tasks):
            return kept
        tasks = kept


def _only_leads(task: Task, behind: str) -> bool:
    """Whether a generated task does nothing but go on to the one `behind` it: the result is that of the task before."""
    if not task.generated or task.kind != "noop" or task.fields or task.args is not None or task.extras:
        return False
    if not task.rules:
        return True
    rule = task.rules[0]
    if rule.when is not None or rule.set_ctx or rule.set_iter:
        return False
    goes_on = rule.directive == "continue" or (rule.directive == "break" and not behind)
    return goes_on or (rule.directive == "jump" and rule.to == behind)
