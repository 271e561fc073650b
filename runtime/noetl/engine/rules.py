"""The rules of a task: its outcome and its policy give a directive (v10 §5.4, LANGUAGE §4); `retry` has its own module.

Law: the rules are asked in order and the first that matches decides; all right-hand sides are evaluated on the
state before the rule; a fault of the playbook (an undefined value, a guard that raises) fails the task at once and
asks no rule. Nothing here runs a tool or knows the time.
"""

from collections.abc import Callable

from noetl.engine.program import Program
from noetl.engine.retry import DEFAULT_DELAY, has_attempts_left, used_up, wait_of
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.outcome import is_playbook_fault, kind_of_error
from noetl_ir.plan import Rule, Task
from noetl_ir.records import NamedTuple


class Directive(NamedTuple):
    """The decision about what follows an attempt.

    `kind` is `continue`, `retry`, `jump`, `break`, `fail` or `fault`; `wait` is in seconds, None for at once; `rule` is
    the index of the rule that decided or could not be asked, -1 for the default; `error` is set for `fail` and `fault`.
    """

    kind: str
    rule: int = -1
    to: int = -1
    wait: float | None = None
    iter: dict[str, Json] | None = None
    ctx: dict[str, Json] | None = None
    error: dict[str, Json] | None = None
    passed_error: bool = False


_GO_ON = Directive("continue")


def judge(
    program: Program, task: Task, outcome: dict[str, Json], *, attempt: int, scope: Scope, chance: Callable[[], float]
) -> Directive:
    """The directive for an outcome envelope (`noetl_ir.outcome.Outcome.as_json`)."""
    good = outcome["status"] == "ok"
    if not task.rules:
        return _GO_ON if good else Directive("fail", error=_error_of(outcome))
    # A rule such as `when: outcome.status == 'error'` is meant for the world's failures. Were it asked about a
    # mistake of the playbook, a retry would hide that mistake behind attempts that cannot help.
    # A child's fault is its own.
    if not good and task.kind != "playbook" and is_playbook_fault(_error_of(outcome).get("code")):
        return Directive("fault", error=_error_of(outcome))
    return _ask(program, task, outcome, attempt, scope, chance)


def fault_directive(fault: Fault, outcome: dict[str, Json] | None = None) -> Directive:
    """A fault of the playbook; the outcome it was asked about, if any, is kept as its cause."""
    error: dict[str, Json] = {"code": fault.code, "message": fault.message, **fault.place()}
    if outcome is not None:
        error["cause"] = _cause(outcome)
    return Directive("fault", error=error)


def _ask(
    program: Program, task: Task, outcome: dict[str, Json], attempt: int, scope: Scope, chance: Callable[[], float]
) -> Directive:
    # The index of the first `retry` rule that matched and has no attempts left, -1 for none.
    exhausted = -1
    for number, rule in enumerate(task.rules):
        try:
            if rule.when < 0:
                # `else` (a rule without `when`) does not catch an exhausted retry: it says what to do where no rule
                # matched, and one did.
                if exhausted >= 0:
                    break
            elif not _holds(program, rule.when, scope):
                continue
            # Further rules are still asked: another rule with a guard of its own may decide what happens after the
            # last attempt.
            if rule.directive == "retry" and not has_attempts_left(rule, attempt):
                exhausted = number if exhausted < 0 else exhausted
                continue
            return _directive(program, number, rule, outcome, attempt, scope, chance)
        except Fault as fault:
            return fault_directive(fault, outcome)._replace(rule=number)
    if exhausted >= 0:
        return Directive("fault", exhausted, error=used_up(task.name, attempt, _cause(outcome)))
    return Directive("continue", passed_error=outcome["status"] == "error")


def _directive(
    program: Program,
    number: int,
    rule: Rule,
    outcome: dict[str, Json],
    attempt: int,
    scope: Scope,
    chance: Callable[[], float],
) -> Directive:
    # All right-hand sides are evaluated before any of them is applied, so the order of the keys in the file does not
    # matter (LANGUAGE §4).
    iteration = {key: _value(program, index, scope, "then", "set_iter", key) for key, index in rule.set_iter}
    ctx = {key: _value(program, index, scope, "then", "set_ctx", key) for key, index in rule.set_ctx}
    wait = None
    error = None
    if rule.directive == "retry":
        delay = _seconds(program, rule.delay, scope, DEFAULT_DELAY)
        cap = None if rule.max_delay < 0 else _seconds(program, rule.max_delay, scope, 0.0, "max_delay")
        # Chance is drawn only where jitter is asked for: so a seeded simulator draws the same numbers whatever else a
        # plan has.
        wait = wait_of(rule, attempt, delay, cap, chance() if rule.jitter else 0.0)
    elif rule.directive == "jump" and rule.delay >= 0:
        wait = _seconds(program, rule.delay, scope, 0.0)
    elif rule.directive == "fail":
        error = _error_of(outcome)
        if rule.code >= 0:
            code = _value(program, rule.code, scope, "then", "code")
            error = {**error, "code": code, "kind": kind_of_error(code), "cause": _cause(outcome)}
        if rule.message >= 0:
            error = {**error, "message": _value(program, rule.message, scope, "then", "message")}
    return Directive(rule.directive, number, rule.to, wait, iteration, ctx, error)


def _holds(program: Program, guard: int, scope: Scope) -> bool:
    try:
        return program.guard(guard)(scope)
    except Fault as fault:
        fault.under("when")
        raise


def _value(program: Program, index: int, scope: Scope, *keys: str) -> Json:
    """The value of a template that stands under these keys of its rule."""
    try:
        return program.value(index)(scope)
    except Fault as fault:
        fault.under(*keys)
        raise


def _seconds(program: Program, index: int, scope: Scope, default: float, key: str = "delay") -> float:
    if index < 0:
        return default
    value = _value(program, index, scope, "then", key)
    found = seconds_of(value)
    if found is None:
        why = f"{repr(value)[:60]} is no duration; write seconds, or text like `1.5s`, `5m`, `2h`"
        raise Fault("rule.delay", why).under("then", key)
    return found


def _error_of(outcome: dict[str, Json]) -> dict[str, Json]:
    error = outcome.get("error")
    if isinstance(error, dict):
        return dict(error)
    return {"code": "task.failed", "message": "a rule failed the task"}


def _cause(outcome: dict[str, Json]) -> dict[str, Json]:
    """The outcome without its result: enough to say what happened, small enough for the log."""
    return {key: value for key, value in outcome.items() if key not in ("result", "meta")}
