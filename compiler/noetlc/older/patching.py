"""Patches on success: what a task sets when it goes well, whatever policy it has."""

from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.expr import Expr, Name, walk
from noetlc.ast.playbook import Pairs, Rule, Task
from noetlc.ast.truth import Facts
from noetlc.expr.generated import computed, expression_of, guard
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, path
from noetlc.expr.templates import pairs_with
from noetlc.older.legacy_names import IN_RULES, Meanings, renamed, rule_meanings

GOES_ON = frozenset({"continue", "break", "jump"})
"""Directives after which the run goes on."""

OUTCOME, RESULT = "__outcome", "__result"
"""Where a task's outcome and result are kept in `iter` for the tasks after it."""


def on_success(task: Task, *, set_ctx: Pairs = (), set_iter: Pairs = ()) -> Task:
    """The task with values that it sets when it succeeds; values that its rules set themselves win.

    A rule that lets the run go on after an error does not count as a success.
    """

    def below(rule: Rule, set_ctx: Pairs, set_iter: Pairs) -> Rule:
        # An error that is let pass goes on, but is no success: with its result null, `vars` would overwrite a good
        # value by nothing.
        return rule if _takes_errors_only(rule) else _below(rule, set_ctx, set_iter)

    return _patched(task, set_ctx, set_iter, below)


def set_after(task: Task, set_ctx: Pairs, set_iter: Pairs) -> Task:
    """The task with values that it sets when it succeeds. They read what its rules set, and win over it."""
    return _patched(task, set_ctx, set_iter, _behind)


def set_at_break(task: Task, set_ctx: Pairs, set_iter: Pairs) -> Task:
    """The task with values that its rules with `break` set. They read what these rules set, and win over it."""
    if not any(rule.directive == "break" for rule in task.rules):
        return task
    rules = [_behind(rule, set_ctx, set_iter) if rule.directive == "break" else rule for rule in task.rules]
    return task._replace(rules=tuple(rules))


def _patched(task: Task, set_ctx: Pairs, set_iter: Pairs, patched: "_Patched") -> Task:
    """The task with its rules patched. Without a policy it gets the default one, written out.

    A jump of the task to itself is no success yet, nor is one of a generated task, which begins a loop anew.
    """
    if not set_ctx and not set_iter:
        return task
    span = task.span
    if not task.rules:
        # A noop gives no error, so that no rule is for one.
        failing = () if task.kind == "noop" else (Rule(guard(OUTCOME_ERROR, span), "fail", span),)
        return task._replace(rules=(*failing, Rule(None, "continue", span, set_iter=set_iter, set_ctx=set_ctx)))
    again = [rule for rule in task.rules if rule.directive == "jump" and (task.generated or rule.to == task.name)]
    rules = tuple(
        rule if rule in again or rule.directive not in GOES_ON else patched(rule, set_ctx, set_iter)
        for rule in task.rules
    )
    # An outcome that no rule takes goes on by default. On success that has to set the values as well.
    if rules[-1].when is not None:
        ok = guard(OUTCOME_OK, span)
        rules = (*rules, Rule(ok, "continue", span, set_iter=set_iter, set_ctx=set_ctx))
    return task._replace(rules=rules)


def _takes_errors_only(rule: Rule) -> bool:
    return rule.when is not None and _WENT_WELL.verdict(rewritten(rule.when.expr, _TODAY)) is False


_WENT_WELL = Facts({("outcome", "status"): "ok"})
_TODAY = renamed(IN_RULES, ())

_Patched: TypeAlias = Callable[[Rule, Pairs, Pairs], Rule]


def _below(rule: Rule, set_ctx: Pairs, set_iter: Pairs) -> Rule:
    """The rule with further values to set; its own win."""
    return rule._replace(set_ctx=_merged(set_ctx, rule.set_ctx), set_iter=_merged(set_iter, rule.set_iter))


def _behind(rule: Rule, set_ctx: Pairs, set_iter: Pairs) -> Rule:
    """The rule with further values to set, which read its own values and win over them.

    A rule evaluates all its values on the state before it (LANGUAGE §4). So where the further values read one of the
    rule's own, they get its expression instead of its name.
    """
    own: dict[tuple[str, ...], Expr] = {}
    for key, value in rule.set_ctx:
        own |= dict.fromkeys([(key,), ("ctx", key), ("vars", key)], expression_of(value.template))
    own |= {("iter", key): expression_of(value.template) for key, value in rule.set_iter}
    seen = renamed(own, ())
    ctx, scratch = pairs_with(set_ctx, seen), pairs_with(set_iter, seen)
    return rule._replace(set_ctx=_merged(rule.set_ctx, ctx), set_iter=_merged(rule.set_iter, scratch))


def _merged(below: Pairs, above: Pairs) -> Pairs:
    return tuple({**dict(below), **dict(above)}.items())


def meanings_after(task: Task) -> Meanings:
    """The meanings of old names in tasks that follow this one: its result by its name, its outcome as it was kept.

    By the name of a generated task there is no result (LANGUAGE §6): that is kept too.
    """
    by_name = task.name.isidentifier() and not task.generated
    result: Expr = Name(task.name) if by_name else path("iter", RESULT)
    return rule_meanings(path("iter", OUTCOME), result)


def kept(task: Task, readers: tuple[Expr, ...]) -> Task:
    """The task, which keeps its outcome and its result in `iter`, each if expressions of later tasks read it."""
    wanted = {(name, value) for name, value in ((OUTCOME, ("outcome",)), (RESULT, ("outcome", "result")))}
    read = {part.name for expr in readers for part in walk(expr) if hasattr(part, "name")}
    pairs = tuple((name, computed(path(*keys), task.span)) for name, keys in sorted(wanted) if name in read)
    return keeps(task, pairs)


def keeps(task: Task, set_iter: Pairs) -> Task:
    """The task with keys of `iter` that it sets wherever the run goes on, also after an error that a rule lets pass."""
    return _patched(task, (), set_iter, _below)
