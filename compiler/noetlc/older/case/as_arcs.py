"""A `case` whose rules route by the result of a success: arcs with these guards, as somebody would write them.

    case: [{when: "event.name == 'call.done' and result.ok", then: [next a]}, {when: "event.name == 'call.error'", …b}]
        →  arcs: [{step: a, when: "result.ok"}, {step: b, when: "event.name == 'step.failed'"}]

Only where an arc is asked what the rule was: of a step that runs one tool whose policy does no more than repeat errors,
where no rule does anything but route.
"""

from collections.abc import Container

from noetl_ir.expr import Expr, Name, walk
from noetlc.ast.playbook import Rule, Step, Task
from noetlc.expr.generated import guard
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import FALSE, OUTCOME_ERROR, OUTCOME_OK, TRUE, conjuncts, equal, path
from noetlc.older.case.nodes import Case, CaseRule
from noetlc.older.case.rules import ready, sees_cause
from noetlc.older.case.settings import route_of
from noetlc.older.case.surely import of_success
from noetlc.older.skips import may_be_skipped
from noetlc.older.targets import Targets

_FAILED = equal(path("event", "name"), "step.failed")
_RESULTS = frozenset({"result", "response", "data"})
_WHOLE = frozenset({"data", "result", "results", "stats", "rows"})
"""Keys that a step's result has by its name, and a tool's outcome has not, where the result itself has none."""
_NOT_IN_ARCS = frozenset({
    "args", "attempt", "error", "event", "iter", "keychain", "loop", "loop_index", "max_attempts", "outcome", "output",
    "status_code", "success", "page", "_attempt", "_err", "_prev", "_retry", "_task",
})  # fmt: skip
"""Names that mean something else, or nothing, in an arc."""


def as_arcs(step: Step, case: Case, known: Container[str]) -> Case | None:
    """The case with the guards of its arcs; None where arcs would be asked something else."""
    if case.eval != "on_entry" or not _runs_plainly(step):
        return None
    made = [_asked(step, rule, known) for rule in case.rules]
    rules = [rule for rule in made if rule is not None]
    if len(rules) < len(made) or not rules:
        return None
    # Behind an arc without a guard nothing is asked any more.
    always = [number for number, rule in enumerate(rules) if rule.when is None]
    has_next = step.router is not None or bool(step.extras)
    if always and (has_next or always[0] < len(rules) - 1):
        return None
    return case._replace(rules=tuple(rules))


def _runs_plainly(step: Step) -> bool:
    if step.loop is not None or len(step.tasks) != 1 or may_be_skipped(step):
        return False
    task = step.tasks[0]
    plain = not (task.generated or task.extras) and task.kind != "workbook" and _only_repeats_errors(task.rules)
    return plain and all(isinstance(extra, Targets) for extra in step.extras)


def _only_repeats_errors(rules: tuple[Rule, ...]) -> bool:
    """Whether a policy repeats errors and does besides what is done without any."""
    # The last rule goes on: after an error as well, unless one before takes all of them.
    takes_all = any(rule.directive == "retry" and rule.when and rule.when.expr == OUTCOME_ERROR for rule in rules)
    return all(_is_of_retry(rule) or (takes_all and _goes_on(rule)) for rule in rules)


def _goes_on(rule: Rule) -> bool:
    return rule.when is None and rule.directive == "continue" and not rule.set_ctx and not rule.set_iter


def _is_of_retry(rule: Rule) -> bool:
    if rule.set_ctx or rule.set_iter or rule.code is not None or rule.message is not None:
        return False
    if rule.when is None:
        return rule.directive == "fail"
    if rule.directive == "retry":
        return OUTCOME_ERROR in conjuncts(rule.when.expr)
    return rule.directive == "continue" and rule.when.expr == OUTCOME_OK


def _asked(step: Step, rule: CaseRule, known: Container[str]) -> CaseRule | None:
    """The rule as an arc asks it; None where it does more than route, or is asked otherwise."""
    one = of_success(ready(step, 0, rule), known)
    routes = [task for task in rule.chain if route_of(task) is not None]
    if (
        sees_cause(step, rule)
        or rule.again is not None
        or rule.retry is not None
        or len(routes) != 1
        or len(rule.chain) != 1
    ):
        return None
    if one.success == FALSE and one.failure == TRUE:
        return rule._replace(when=guard(_FAILED, rule.span))
    if one.success == FALSE or one.failure != FALSE or not _means_the_same(one.success, step.tasks[0], known):
        return None
    return rule._replace(when=None if one.success == TRUE else guard(one.success, rule.span))


def _means_the_same(expr: Expr, task: Task, known: Container[str]) -> bool:
    """Whether an expression about the tool's outcome says in an arc what it says in the tool's policy."""
    names = {part.name for part in walk(expr) if isinstance(part, Name)}
    if (names & _NOT_IN_ARCS) or task.name in names:
        return False
    for access in accesses(expr):
        root, keys = access.root.name, access.keys
        if root in known:
            continue
        if root == "this":
            if not keys or keys[0] not in ("data", "result"):
                return False
            root, keys = "result", keys[1:]
        if root not in _RESULTS or not keys:
            continue
        if not isinstance(keys[0], str) or (keys[0] in _WHOLE and (task.kind, keys[0]) != ("http", "data")):
            return False
    return True
