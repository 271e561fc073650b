"""lower_event_case: `eval_mode: on_event` becomes a `wait` that is asked again until a rule matches (LANGUAGE §6).

    eval_mode: on_event, timeout: 5m, case: [{when: "event.name == 'message.received' and event.data.ok", …}]
        →  s_wait   kind: wait, events: [message.received], timers: {timeout: 5m, or what is left of it}
                    rules of the case about outcome.result.name and outcome.result.data; else jump to s_wait

The rules are then those of a `case` about what the wait gave: the passes for `case` make branches of them. An event
that no rule takes, in inclusive mode one for which the firing set is empty, is waited behind.
"""

from noetl_ir.expr import Compare, Const, Expr, Literal, MapTemplate, Name, walk
from noetlc.ast.bodies import taken_of
from noetlc.ast.cases import Case, CaseRule, Route
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Note
from noetlc.expr.case_rules import LEFT, settled
from noetlc.expr.events import DONE, FAILED, LOOP, events_in
from noetlc.expr.generated import guard
from noetlc.expr.legacy_names import Meanings, renamed, static_path
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import otherwise, path
from noetlc.expr.templates import arc_with, native, task_with
from noetlc.expr.values import expression_of

BY = "lower_event_case"
TIMER = "timer.fired"
"""The event of a timer, whose id is `event.data.timer_id`."""

_TIMER_ID = ("event", "data", "timer_id")


def lower_event_case(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which steps that look at events wait for them."""
    return replace_steps(playbook, lambda step: _waiting(step, note))


def _waiting(step: Step, note: Note) -> Step:
    case, rest = taken_of(step, Case)
    if case is None:
        return step
    case, rest = settled(rest, case)
    if case.eval != "on_event":
        return step
    names = frozenset[str]().union(*(events_in(rule.when.expr) for rule in case.rules if rule.when is not None))
    if names & (DONE | FAILED | LOOP):
        own = sorted(names & (DONE | FAILED | LOOP))[0]
        note(Change(BY, case.span, f"`{own}` with `on_event`", "refused", "a wait hears signals and timers only"))
        return rest
    timers = _timers(case)
    if timers - {"timeout"} or ("timeout" in timers and rest.spec.timeout is None):
        why = "only the timer `timeout` is started, by `spec.timeout`"
        note(Change(BY, case.span, "a timer", "refused", why))
        return rest
    note(Change(BY, case.span, "`eval_mode: on_event`", "review", "a `wait` that is asked again until a rule matches"))
    tasks = tuple(task for task in rest.tasks if not task.generated)
    wait = _wait(rest, names - {TIMER})
    rules = tuple(_about(rule, wait.name) for rule in case.rules)
    case = case._replace(rules=rules, timeout=rest.spec.timeout)
    spec = rest.spec._replace(timeout=None)
    return rest._replace(tasks=(*tasks, wait), spec=spec, extras=(case, *rest.extras))


def _wait(step: Step, names: frozenset[str]) -> Task:
    span, timeout = step.name_span, step.spec.timeout
    fields = [("events", Value(Literal([*sorted(names)]), span, None))]
    if timeout is not None:
        left = otherwise(path("iter", LEFT), expression_of(timeout.template))
        fields.append(("timers", Value(MapTemplate((("timeout", native(left)),)), timeout.span, None)))
    return Task(f"{step.name}_wait", span, "wait", span, span, "", tuple(fields), None, (), None, (), False)


def _timers(case: Case) -> frozenset[str]:
    """The ids of the timers that rules ask about."""
    found: set[str] = set()
    for rule in case.rules:
        for part in walk(rule.when.expr) if rule.when is not None else ():
            if isinstance(part, Compare) and static_path(part.first) == _TIMER_ID:
                found |= {str(right.value) for _, right in part.rest if isinstance(right, Const)}
        if rule.when is not None and TIMER in events_in(rule.when.expr):
            found |= set() if found else {"timeout"}
    return frozenset(found)


def _about(rule: CaseRule, wait: str) -> CaseRule:
    """A rule about what the wait gave instead of an event."""
    when = None if rule.when is None else guard(_asked(rule.when.expr), rule.when.span)
    given: Meanings = {("event",): Name(wait)}
    names = renamed(given, frozenset())

    def told(task: Task) -> Task:
        return task_with(task, names)._replace(extras=tuple(routed(extra) for extra in task.extras))

    def routed(extra: Sugar) -> Sugar:
        # Arcs see the step's result, which is that of the wait.
        if not isinstance(extra, Route):
            return extra
        result: Meanings = {("event",): path("event", "result")}
        arcs = tuple(arc_with(arc, renamed(result, frozenset())) for arc in extra.arcs)
        return extra._replace(arcs=arcs)

    return rule._replace(when=when, chain=tuple(told(task) for task in rule.chain))


def _asked(expr: Expr) -> Expr:
    """The guard in the policy of the wait: it gives the name and the data of the event."""
    given: Meanings = {("event",): path("outcome", "result")}
    return rewritten(expr, renamed(given, frozenset()))
