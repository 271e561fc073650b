"""The one text form of a plan and its net: goldens, `noetlc dump`, documentation.

NET.md's notation: (place), [transition: trigger], `n·` before a place is a weight, ∅ is a token's end.
"""

from collections.abc import Iterable, Iterator

from noetl_ir.expr import Block, ListTemplate, Literal, MapTemplate, Native, Template, Text
from noetl_ir.net import Arc as NetArc
from noetl_ir.net import Net, PlaceClass, Transition
from noetl_ir.plan import Loop, Plan, Rule, Step, Task
from noetl_ir.span import Span
from noetl_ir.words import CAUSES


def printed_net(plan: Plan) -> str:
    """Places, transitions and the initial marking, one line each, in the order of the net."""
    return "\n".join(_net(plan)) + "\n"


def printed_plan(plan: Plan) -> str:
    """The tables and the template pool, in the order of the plan; without the net."""
    return "\n".join(_tables(plan)) + "\n"


def printed_template(template: Template) -> str:
    """A template on one line."""
    match template:
        case Literal(value=value):
            return repr(value)
        case Native(text=text) | Text(text=text) | Block(text=text):
            return f"`{_line(text)}`"
        case MapTemplate(items=items):
            return "{" + ", ".join(f"{key}: {printed_template(value)}" for key, value in items) + "}"
        case ListTemplate(items=entries):
            return "[" + ", ".join(printed_template(entry) for entry in entries) + "]"


def _net(plan: Plan) -> Iterator[str]:
    net = plan.net
    yield "places"
    tokens = dict(net.initial)
    for index, place in enumerate(net.places):
        # Most places are of control, and most transitions fire by themselves: neither is said.
        kind = "" if place.kind is PlaceClass.CONTROL else f" {place.kind.value}"
        marked = f" {tokens[index]} token" if index in tokens else ""
        yield f"  ({place.id}){kind}{marked}{_origin(place.span, place.maker)}"
    yield "transitions"
    for transition in net.transitions:
        yield f"  {_transition(plan, net, transition)}"


def _transition(plan: Plan, net: Net, t: Transition) -> str:
    # What most have is not written, so that what differs is seen.
    trigger = "" if t.trigger.value == "now" else f": {t.trigger.value}"
    role = "" if t.id.split(" ")[0] == t.role else f" {t.role}"
    guard = f" when {printed_template(plan.templates[t.guard])}" if t.guard >= 0 else ""
    fault = " on a fault" if t.fault else ""
    moves = f"{_side(net, t.inputs)} → {_side(net, t.outputs)}"
    return f"[{t.id}{trigger}] {moves}{guard}{fault}{role}{_origin(t.span, t.maker)}"


def _side(net: Net, arcs: Iterable[NetArc]) -> str:
    return " + ".join(_weighted(net, arc) for arc in arcs) or "∅"


def _weighted(net: Net, arc: NetArc) -> str:
    weight = "" if arc.weight == 1 else f"{arc.weight}·"
    return f"{weight}({net.places[arc.place].id})"


def _origin(span: Span | None, maker: str) -> str:
    return f" @{span}" if span is not None else f" by {maker}"


def _among_others(plan: Plan) -> Iterator[str]:
    """The place that an execution asks for among all, and what it is found by."""
    if plan.concurrency is not None:
        key, most, on_conflict = plan.concurrency
        yield f"{most} at once under {_ref(key)}, else {on_conflict}"
    for name, text in plan.labels:
        yield f"label {name} {text!r}"
    for one in plan.search:
        yield f"found by {one.name}, a {one.type}, {_ref(one.value)}"


def _tables(plan: Plan) -> Iterator[str]:
    yield f"plan {plan.name} {plan.path} {plan.version} from {plan.source}"
    yield f"entry {plan.steps[plan.entry].name}"
    if plan.workload >= 0:
        yield f"workload {_ref(plan.workload)} in the order {' '.join(plan.workload_order)}"
    for one in plan.inputs or ():
        yield f"input {one.name}{' required' if one.required else ''}: {one.schema!r} @{one.span}"
    if plan.inputs == ():
        yield "no inputs"
    if plan.timeout >= 0:
        yield f"timeout {_ref(plan.timeout)}"
    for limit in plan.iteration_limits:
        yield f"iterations of {plan.steps[limit.step].name} on level {limit.level}: timeout {_ref(limit.timeout)}"
    for over in plan.loop_ends:
        asked = f"enough {_ref(over.enough)}, " if over.enough >= 0 else ""
        yield f"loop of {plan.steps[over.step].name} on level {over.level}: {asked}the rest {over.rest}"
    for heard in plan.loop_signals:
        timers = f", timers {_ref(heard.timers)}" if heard.timers >= 0 else ""
        where = f"loop of {plan.steps[heard.step].name} on level {heard.level}"
        yield f"{where}: {heard.verb} by {', '.join(heard.events) or 'no signal'}{timers}"
    for end in plan.terminates:
        yield f"{plan.steps[end.step].name} ends all as {end.status}"
    for each in plan.compensations:
        begun = ", also what only started" if each.started else ""
        yield f"{plan.steps[each.step].name} is compensated by {plan.steps[each.target].name}{begun}"
    if plan.compensate_on != CAUSES:
        yield f"compensates what {' or '.join(plan.compensate_on) or 'never'}"
    for phase in plan.phases:
        yield f"{phase.name} {plan.steps[phase.step].name}"
    if plan.after >= 0:
        yield f"each phase behind main: timeout {_ref(plan.after)}"
    for locks in plan.locks:
        yield f"{plan.steps[locks.step].name} holds {' '.join(locks.names)}"
    for stop in plan.interrupts:
        timers = f", timers {_ref(stop.timers)}" if stop.timers >= 0 else ""
        yield f"{plan.steps[stop.step].name} is interrupted by {', '.join(stop.events) or 'no signal'}{timers}"
    for section in plan.sections:
        through = " ".join(plan.steps[each].name for each in section.through)
        yield f"{plan.steps[section.step].name} holds {section.name} through {through}"
    for cancel in plan.cancels:
        yield f"{plan.steps[cancel.step].name} cancels {' '.join(plan.steps[each].name for each in cancel.targets)}"
    if plan.result >= 0:
        yield f"result {_ref(plan.result)}"
    yield from _among_others(plan)
    for row in plan.reducers:
        yield f"ctx.{row.key} is the {row.reduce} of what is set{_written(**{'from': row.initial})}"
    for entry in plan.keychain:
        yield f"keychain {entry.name}: {entry.kind} {_ref(entry.fields)}"
    yield f"executor {plan.executor!r}{' best_effort' if plan.best_effort else ''}"
    yield f"limits {' '.join(f'{name}={value}' for name, value in plan.limits._asdict().items())}"
    yield f"kinds {' '.join(plan.kinds)}"
    for child in plan.children:
        yield f"child {child.path} {child.digest[:12]}"
    for step in plan.steps:
        yield from _step(plan, step)
    yield "templates"
    for index, template in enumerate(plan.templates):
        yield f"  #{index} {printed_template(template)} @{plan.template_spans[index]}"


def _step(plan: Plan, step: Step) -> Iterator[str]:
    count = f" {step.join.n}" if step.join.mode in ("count", "tokens") else ""
    yield f"step {step.name} @{step.span}"
    yield f"  join {step.join.mode}{count} of {' '.join(step.join.sources) or 'nothing'}"
    marks = {
        "gated": step.gated,
        "waits": step.waits,
        "best_effort": step.best_effort,
        "kept": step.kept,
        f"pool {step.pool}": bool(step.pool),
        f"timeout {_ref(step.timeout)}": step.timeout >= 0,
        f"needs {' '.join(step.needs)}": bool(step.needs),
        f"read on the server: {_paths(step.reads or ())}": step.reads is not None,
    }
    yield from (f"  {mark}" for mark, there in marks.items() if there)
    yield from (f"  {_loop(loop)}" for loop in step.loops)
    for row in step.tasks:
        yield from _task(plan, plan.tasks[row])
    mode = "inclusive" if step.inclusive else "exclusive"
    for row in step.arcs:
        arc = plan.arcs[row]
        target = plan.steps[arc.target].name if arc.target >= 0 else "∅"
        priority = f" priority {arc.priority}" if arc.priority else ""
        rest = _written(args=arc.args, delay=arc.delay)
        yield f"  {mode} arc to {target}{rest}{priority} @{arc.span}"


def _paths(paths: tuple[tuple[str, ...], ...]) -> str:
    return ", ".join(".".join(path) if path else "the whole" for path in paths)


def _loop(loop: Loop) -> str:
    mode = "sequential" if loop.sequential else "parallel"
    exec = f" {loop.exec}" if loop.exec else ""
    return f"{mode}{exec} loop {loop.iterator} in {_ref(loop.items)}{_written(in_flight=loop.in_flight)}"


def _task(plan: Plan, task: Task) -> Iterator[str]:
    made = " generated" if task.generated else ""
    written = _written(fields=task.fields, args=task.args, knobs=task.knobs, timeout=task.timeout)
    following = f", then {plan.tasks[task.following].name}" if task.following >= 0 else ""
    passes = ", passes errors" if task.passes_errors else ""
    yield f"  task {task.name}: {task.kind}{made}{written}{following}{passes} @{task.span}"
    for rule in task.rules:
        yield f"    {_rule(plan, rule)} @{rule.span}"


def _rule(plan: Plan, rule: Rule) -> str:
    when = f"when {_ref(rule.when)}" if rule.when >= 0 else "else"
    to = f" {plan.tasks[rule.to].name}" if rule.to >= 0 else ""
    retry = ""
    if rule.directive == "retry":
        jitter = " jitter" if rule.jitter else ""
        retry = f" {rule.attempts} {rule.backoff} x{rule.multiplier}{jitter}"
    written = _written(delay=rule.delay, max_delay=rule.max_delay, code=rule.code, message=rule.message)
    sets = "".join(
        f" {scope}.{key}={_ref(value)}"
        for scope, pairs in (("iter", rule.set_iter), ("ctx", rule.set_ctx))
        for key, value in pairs
    )
    return f"{when}: {rule.directive}{to}{retry}{written}{sets}"


def _written(**indices: int) -> str:
    return "".join(f" {name} {_ref(index)}" for name, index in indices.items() if index >= 0)


def _ref(index: int) -> str:
    return f"#{index}" if index >= 0 else "–"


def _line(text: str) -> str:
    # One line a template, so that a golden's diff shows which one changed.
    return text.replace("\\", "\\\\").replace("\n", "\\n")
