"""lower_event_case: `eval_mode: on_event` becomes a `wait` that is asked again until a rule matches (LANGUAGE §6).

    eval_mode: on_event, timeout: 5m, case: [{when: "event.name == 'message.received' and event.data.ok", …}]
        →  s_wait   kind: wait, events: [message.received], timers: {timeout: 5m, or what is left of it}
                    rules of the case about outcome.result.name and outcome.result.data; else jump to s_wait

The rules are then those of a `case` about what the wait gave: the passes for `case` make branches of them. An event
that no rule takes, in inclusive mode one for which the firing set is empty, is waited behind.
"""

from noetl_ir.expr import Compare, Conditional, Const, Expr, ListOf, Literal, MapTemplate, Name, walk
from noetl_ir.paths import static_path
from noetlc.ast.bodies import taken_of
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import expression_of, guard
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import FALSE, equal, otherwise, path
from noetlc.expr.templates import arc_with, fields_with, guard_with, native, pairs_with, task_with
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.case.routes import own_named
from noetlc.older.case.settings import case_with_settings, idle
from noetlc.older.case.waits import CALLED, LEFT, TIMEOUT, TIMER
from noetlc.older.events import DONE, FAILED, LOOP, assuming, events_in
from noetlc.older.legacy_names import Meanings, below, renamed, rule_meanings
from noetlc.older.names import OldNames
from noetlc.older.page_nodes import Pages
from noetlc.older.poll import Poll
from noetlc.older.sinks import Sink
from noetlc.older.variables import Assign

BY = "lower_event_case"

OWN = DONE | FAILED
"""What a step hears of its own tool."""

_OTHERS = (
    "a step hears nothing of other steps: let that step lead to this one, or wait for a signal that it causes, as by "
    "`noetl signal`"
)

_EMPTY = "true of any answer without it, that of a 503 too: ask for `response.status_code` besides"

_NAME = ("event", "name")


def lower_event_case(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which steps that look at events wait for them, and rules call their step's result by one name."""
    inputs = frozenset([key for key, _ in playbook.workload])

    def each(step: Step) -> Step:
        for span, construct, why in idle(step):
            record(Change(BY, span, construct, "safe", f"nothing: {why}"))
        case, rest = taken_of(step, Case)
        if case is None:
            return step
        case = own_named(step, case, inputs)
        if case_with_settings(rest, case)[0].eval == "on_event":
            return _waiting(*case_with_settings(rest, case), record)
        return rest._replace(extras=(*rest.extras, case))

    cases = [extra for step in playbook.steps for extra in step.extras if isinstance(extra, Case)]
    # Lowering a case writes old words into arcs and rules that the file need not have had. The pass that renames them
    # is asked for here, as it looks for this node only.
    if cases and not any(isinstance(extra, OldNames) for extra in playbook.extras):
        playbook = playbook._replace(extras=(*playbook.extras, OldNames(cases[0].span)))
    return replace_steps(playbook, each)


def _waiting(case: Case, step: Step, record: RecordChange) -> Step:
    """The step with a wait; without its case where that is refused."""
    names = frozenset[str]().union(*(_events(rule) for rule in case.rules))
    refused = _refused(case, step, names)
    if refused is not None:
        record(refused)
        return step
    called = tuple(task for task in step.tasks if not task.generated)
    signals = names - {TIMER} - OWN
    # A step that hears only of its own tool hears it once: the plain form asks the same rules without a wait.
    if called and not signals and TIMER not in names:
        said = "rules that are asked once: none is about an event from outside"
        record(Change(BY, case.span, "`eval_mode: on_event`", "review", said))
        return step._replace(extras=(*step.extras, case._replace(eval="on_entry")))
    record(
        Change(BY, case.span, "`eval_mode: on_event`", "review", "a `wait` that is asked again until a rule matches")
    )
    wait, timed = _wait(step, signals), step.spec.timeout is not None
    if called:
        step = _before_wait(step)
    else:
        step = step._replace(extras=tuple(_of_event(extra, timed) for extra in step.extras), tasks=())
    rules = tuple(_about(rule, wait.name, called[-1].name if called else "", timed) for rule in case.rules)
    case = case._replace(rules=rules, timeout=step.spec.timeout, tool=called[-1].name if called else "")
    # The timeout is the wait's timer now. As the step's own limit it would fail the run at the moment at which a rule
    # is to hear of it.
    spec = step.spec._replace(timeout=None)
    return step._replace(tasks=(*step.tasks, wait), spec=spec, extras=(case, *step.extras))


def _events(rule: CaseRule) -> frozenset[str]:
    return frozenset() if rule.when is None else events_in(rule.when.expr)


def _refused(case: Case, step: Step, names: frozenset[str]) -> Change | None:
    """Why a case on events is refused."""
    called = any(not task.generated for task in step.tasks)
    for rule in case.rules:
        own = sorted(_events(rule) & (OWN | LOOP))
        at = rule.span if rule.when is None else rule.when.span
        if own and not called:
            return Change(
                BY, at, f"`{own[0]}` with `on_event`", "refused", "the step has no tool that it would tell of"
            )
        # Nothing tells a step of what happens in other steps: a wait for that would never end.
        if own and (rule.when is not None and any(static_path(p) == ("event", "step") for p in walk(rule.when.expr))):
            return Change(BY, at, f"`{own[0]}` of another step with `on_event`", "refused", _OTHERS)
        if _events(rule) & LOOP:
            return Change(
                BY, at, "`loop.done` with `on_event`", "refused", "an iteration that waits hears no end of its loop"
            )
    if not called and step.spec.timeout is None and names and names <= {TIMER}:
        said = "nothing that could come ends the wait: write `spec.timeout`, which starts the timer `timeout`"
        return Change(BY, case.span, "a timer", "refused", said)
    if step.spec.timeout is not None and TIMEOUT in names:
        said = "the timer of the step has that name: give the event another one"
        return Change(BY, case.span, f"an event `{TIMEOUT}` beside `spec.timeout`", "refused", said)
    if not called and not names:
        return Change(BY, case.span, "`eval_mode: on_event`", "refused", "no rule names an event that could come")
    repeats = next((extra for extra in step.extras if isinstance(extra, Poll | Pages)), None)
    if repeats is not None and not called:
        return Change(BY, repeats.span, "a repetition with `on_event`", "refused", "the step has no tool to repeat")
    return None


def _before_wait(step: Step) -> Step:
    """The step whose tool has what is about it, so that the wait, the last task, has not."""
    # Constructs of a step are about its last task. The wait is going to be that, and has none of what they ask for.
    moved = tuple(extra for extra in step.extras if isinstance(extra, Poll | Pages | Assign | Sink))
    last = step.tasks[-1]._replace(extras=(*step.tasks[-1].extras, *moved))
    rest = tuple(extra for extra in step.extras if extra not in moved)
    return step._replace(tasks=(*step.tasks[:-1], last), extras=rest)


def _of_event(extra: Sugar, timed: bool) -> Sugar:
    """The tasks of a step without a tool that sets or stores, about the event that ends its waiting: that is its
    result.
    """
    names = _named(Name("result"), timed)
    if isinstance(extra, Assign):
        return extra._replace(set_ctx=pairs_with(extra.set_ctx, names), set_iter=pairs_with(extra.set_iter, names))
    if isinstance(extra, Sink):
        when = None if extra.when is None else guard_with(extra.when, names)
        return extra._replace(task=fields_with(extra.task, names), when=when)
    return extra


def _wait(step: Step, names: frozenset[str]) -> Task:
    span, timeout = step.name_span, step.spec.timeout
    fields = [("events", Value(Literal([*sorted(names)]), span, None))]
    if timeout is not None:
        left = otherwise(path("iter", LEFT), expression_of(timeout.template))
        fields.append(("timers", Value(MapTemplate(((TIMEOUT, native(left)),)), timeout.span, None)))
    return Task(f"{step.name}_wait", span, "wait", span, span, "", tuple(fields), None, (), None, (), False)


def _about(rule: CaseRule, wait: str, tool: str, timed: bool) -> CaseRule:
    """A rule about what the wait gave instead of an event; `own` is what it asks when the tool has ended."""
    if _events(rule) == {"step.enter"}:
        return rule
    when = None if rule.when is None else guard(_asked(rule.when.expr, tool, timed), rule.when.span)
    names = _named(Name(wait), timed, tool)

    def told(task: Task) -> Task:
        return task_with(task, names)._replace(extras=tuple(routed(extra) for extra in task.extras))

    def routed(extra: Sugar) -> Sugar:
        # Arcs see the step's result, which is that of the wait.
        if not isinstance(extra, Route):
            return extra
        result = _named(path("event", "result"), timed, tool)
        arcs = tuple(arc_with(arc, result) for arc in extra.arcs)
        return extra._replace(arcs=arcs)

    own = rule.when if tool else None
    return rule._replace(when=when, own=own, chain=tuple(told(task) for task in rule.chain))


def _named(result: Expr, timed: bool, tool: str = "") -> Replace:
    """Puts what the wait gave in the place of the event, `timed` where it has the timer `timeout`."""
    plain = renamed({("event",): result, **_of_tool(tool)}, frozenset())
    name = below(result, ("name",))

    def replace(expr: Expr) -> Expr | None:
        if timed and isinstance(expr, Compare) and static_path(expr.first) == _NAME:
            return Compare(name, tuple((op, rewritten(_by_id(right), plain)) for op, right in expr.rest))
        if timed and static_path(expr) == _NAME:
            return Conditional(equal(name, TIMEOUT), Const(TIMER), name)
        return plain(expr)

    return replace


def _by_id(expr: Expr) -> Expr:
    match expr:
        case Const(value=value) if value == TIMER:
            return Const(TIMEOUT)
        case ListOf(items=items):
            return ListOf(tuple(map(_by_id, items)))
    return expr


def _of_tool(tool: str) -> Meanings:
    """The words for a tool's outcome, where the step has one: not that of the wait."""
    return rule_meanings(path("iter", CALLED), path("iter", CALLED, "result")) if tool else {}


def _asked(expr: Expr, tool: str, timed: bool) -> Expr:
    """The guard in the policy of the wait: it gives the name and the data of the event, never one of the step's own."""
    named = events_in(expr) & OWN
    asked = (
        assuming(expr, lambda name, _: FALSE if name in OWN else equal(path("event", "name"), name)) if named else expr
    )
    return rewritten(asked, _named(path("outcome", "result"), timed, tool))
