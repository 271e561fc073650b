"""The part of `verify` about the tables: every index names something, and the tables agree with each other."""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import Literal, MapTemplate, Native, Template
from noetl_ir.plan import (
    CLOSE,
    COMPLETE,
    CONFLICTS,
    LONGEST_LABEL,
    LOOP_VERBS,
    MORE,
    MOST_SEARCH,
    RESTS,
    SEARCH_TYPES,
    SWALLOW,
    Plan,
    Rule,
    Step,
    Task,
    edition_of,
    later_entries,
)
from noetl_ir.reducing import REDUCERS
from noetl_ir.words import CAUSES, DIRECTIVES, PHASES

_Found = Iterator[tuple[str, str]]

JOINS = frozenset({"any", "all", "taken", "count", "tokens", "settled"})
MOST_MERGED = 10_000
"""The most tokens that one run may merge: an event names them all."""

ENDS = ("completed", "failed")
"""The statuses that a step may end the execution with."""

BACKOFFS = frozenset({"none", "linear", "exponential"})


def table_problems(plan: Plan) -> _Found:
    """(element, what is wrong with it) for the tables of a plan."""
    pool, steps = len(plan.templates), len(plan.steps)
    # Spans are asked for by the same index: one too few would put a finding at a stranger's line, or end in an
    # IndexError.
    if len(plan.template_spans) != pool:
        yield "templates", "not every template has a span"
    if not 0 <= plan.entry < steps:
        yield "entry", "names no step"
    yield from _workload(plan)
    yield from _extensions(plan)
    for entry in plan.keychain:
        yield from _mappings(plan, f"keychain {entry.name}", entry.fields)
    if min(plan.limits) < 0:
        yield "limits", "are below zero"
    if len({step.name for step in plan.steps}) != steps:
        yield "steps", "have the same name twice"
    known = {step.name for step in plan.steps}
    for number, step in enumerate(plan.steps):
        yield from _step(plan, number, step, known)
    # Each step is held to its own rows below, so equal sums mean that no row is without a step and none has two.
    if sum(len(step.tasks) for step in plan.steps) != len(plan.tasks):
        yield "tasks", "belong to no step, or to several"
    if sum(len(step.arcs) for step in plan.steps) != len(plan.arcs):
        yield "arcs", "belong to no step, or to several"


def _workload(plan: Plan) -> _Found:
    yield from _mappings(plan, "workload", plan.workload)
    if -1 <= plan.workload < len(plan.templates):
        keys = _keys(plan.templates[plan.workload]) if plan.workload >= 0 else ()
        if keys is not None and sorted(keys) != sorted(plan.workload_order):
            yield "workload", "has another order than its keys"


def _extensions(plan: Plan) -> _Found:
    if (plan.edition > 3) != (edition_of(plan) > 3):
        yield "plan", "is of another format than its extensions need"
    yield from _indices("timeout", len(plan.templates), plan.timeout)
    yield from _levels(plan, "iteration_limits", [(step, level) for step, level, _ in plan.iteration_limits])
    if any(timeout < 0 for _, _, timeout in plan.iteration_limits):
        yield "iteration_limits", "name no template"
    for _, _, timeout in plan.iteration_limits:
        yield from _indices("iteration_limits", len(plan.templates), timeout)
    yield from _loop_ends(plan)
    yield from _loop_signals(plan)
    yield from _steps(plan, "terminates", [step for step, _ in plan.terminates], _NO_STEPS)
    if any(status not in ENDS for _, status in plan.terminates):
        yield "terminates", f"have another status than {' or '.join(ENDS)}"
    yield from _cancels(plan)
    yield from _steps(plan, "locks", [step for step, _ in plan.locks], _OF_NO_STEPS)
    if any(not names or [*names] != sorted({*names}) for _, names in plan.locks):
        yield "locks", "are no names in their order"
    yield from _interrupts(plan)
    if plan.sections:
        yield from _sections(plan)
    yield from _indices("result", len(plan.templates), plan.result)
    if plan.phases or plan.after >= 0 or plan.compensations or plan.compensate_on != CAUSES:
        yield from _phases(plan)
    if plan.concurrency is not None:
        if not 0 <= plan.concurrency.key < len(plan.templates) or plan.concurrency.limit < 1:
            yield "concurrency", "has no key, or no place"
        if plan.concurrency.on_conflict not in CONFLICTS:
            yield "concurrency", "does what is not known where there is no place"
    if plan.labels or plan.search:
        yield from _found_by(plan)
    if len({row.key for row in plan.reducers}) != len(plan.reducers):
        yield "reducers", "have the same key twice"
    for row in plan.reducers:
        yield from _indices(f"reducer {row.key[:40]}", len(plan.templates), row.initial)
        if row.reduce not in REDUCERS:
            yield f"reducer {row.key[:40]}", "is none that there is"
    if plan.inputs is None:
        return
    from noetl_ir.schemas import misuses  # most plans have none, and start sooner without

    if len({one.name for one in plan.inputs}) != len(plan.inputs):
        yield "inputs", "have the same name twice"
    # A schema from outside may be anything: one that is misused could let all values through, or never end.
    for one in plan.inputs:
        for misuse in misuses(one.schema):
            yield f"input {one.name[:40]}", f"has a schema that cannot be used: {misuse.message}"


def _phases(plan: Plan) -> _Found:
    yield from _indices("after", len(plan.templates), plan.after)
    names = [phase.name for phase in plan.phases]
    if names != [name for name in PHASES if name in names]:
        yield "phases", f"are not of {' and '.join(PHASES)}, in this order"
    yield from _steps(plan, "compensations", [each.step for each in plan.compensations], _OF_NO_STEPS)
    if [*plan.compensate_on] != [cause for cause in CAUSES if cause in plan.compensate_on]:
        yield "compensate_on", f"is not of {', '.join(CAUSES)}, in this order"
    starts = [plan.entry, *later_entries(plan)]
    if not all(0 <= step < len(plan.steps) for step in starts):
        yield "phases", "begin at no step"
        return
    # A token of one phase in the part of another one would be there when that begins, and there is to be none.
    seen: set[int] = set()
    for start in starts:
        shared = _walk(plan, start, seen)
        if shared >= 0:
            yield "phases", f"have the step {plan.steps[shared].name} in two of them"


def _walk(plan: Plan, start: int, seen: set[int]) -> int:
    """Add the steps that arcs lead to from `start` to `seen`, and stop at steps of earlier walks: one of these, else
    -1.
    """
    if start in seen:
        return start
    shared, own, waiting = -1, {start}, [start]
    while waiting:
        for row in plan.steps[waiting.pop()].arcs:
            target = plan.arcs[row].target if 0 <= row < len(plan.arcs) else -1
            if not 0 <= target < len(plan.steps) or target in own:
                continue
            if target in seen:
                shared = target
            else:
                own.add(target)
                waiting.append(target)
    seen |= own
    return shared


def _loop_ends(plan: Plan) -> _Found:
    yield from _levels(plan, "loop_ends", [(end.step, end.level) for end in plan.loop_ends])
    signals = {row[:3] for row in plan.loop_signals}
    for step, level, enough, rest in plan.loop_ends:
        if rest not in RESTS or (level and rest == SWALLOW):
            yield "loop_ends", f"have another rest than {' or '.join(RESTS)}, or one that an inner loop has not"
        if enough < 0 and (step, level, COMPLETE) not in signals:
            yield "loop_ends", "are asked nothing, and end by no signal"
        yield from _indices("loop_ends", len(plan.templates), enough)


def _loop_signals(plan: Plan) -> _Found:
    rows = [(step, level, verb) for step, level, verb, _, _ in plan.loop_signals]
    if rows != sorted({*rows}):
        yield "loop_signals", "are not in the order of the table"
    yield from _levels(plan, "loop_signals", sorted({(step, level) for step, level, _ in rows}))
    ends = {(end.step, end.level) for end in plan.loop_ends}
    growing = {(step, level) for step, level, verb in rows if verb == MORE}
    for step, level, verb, events, timers in plan.loop_signals:
        if verb not in LOOP_VERBS or (verb == COMPLETE and (step, level) not in ends):
            yield "loop_signals", f"do something else than {' or '.join(LOOP_VERBS)}, or say nothing of the rest"
        if verb == CLOSE and (step, level) not in growing:
            yield "loop_signals", "close a loop that nothing is added to"
        if (not events and timers < 0) or (verb == MORE and timers >= 0):
            yield "loop_signals", "name no signal and no timer, or add an item by a timer"
        yield from _mappings(plan, "loop_signals", timers)


def _interrupts(plan: Plan) -> _Found:
    yield from _steps(plan, "interrupts", [step for step, _, _ in plan.interrupts], _OF_NO_STEPS)
    for _, events, timers in plan.interrupts:
        if (not events and timers < 0) or len({*events}) != len(events):
            yield "interrupts", "name no signal and no timer, or a signal twice"
        yield from _mappings(plan, "interrupts", timers)


_NO_STEPS = "are no steps in the order of the table"
_OF_NO_STEPS = "are of no steps in the order of the table"


def _steps(plan: Plan, what: str, rows: Sequence[int], wrong: str) -> _Found:
    """Rows of a table by step."""
    if [*rows] != sorted({*rows}) or (rows and not 0 <= rows[0] <= rows[-1] < len(plan.steps)):
        yield what, wrong


def _levels(plan: Plan, what: str, rows: list[tuple[int, int]]) -> _Found:
    """Rows of a table by step and level."""
    if rows != sorted({*rows}) or not all(
        0 <= step < len(plan.steps) and 0 <= level < len(plan.steps[step].loops) for step, level in rows
    ):
        yield what, "are no loop levels in the order of the table"


def _cancels(plan: Plan) -> _Found:
    yield from _steps(plan, "cancels", [step for step, _ in plan.cancels], _NO_STEPS)
    for _, targets in plan.cancels:
        if not targets:
            yield "cancels", "name no steps in the order of the table"
        yield from _steps(plan, "cancels", targets, "name no steps in the order of the table")


def _sections(plan: Plan) -> _Found:
    from noetl_ir.locks import insides_of, ways_past  # few plans have sections

    if [each[:2] for each in plan.sections] != sorted({each[:2] for each in plan.sections}):
        yield "sections", "are not in the order of steps and names"
    known, named = range(len(plan.steps)), {(step, name) for step, names in plan.locks for name in names}
    for step, name, through in plan.sections:
        if step not in known or not through or step in through or not {*through} <= {*known}:
            yield "sections", "are of no step, or lead through none"
            return
        if not name or (step, name) in named:
            yield "sections", "have no name, or one that the run of the step holds, too"
        yield from _steps(plan, "sections", through, "lead through no steps in the order of the table")
    for name in insides_of(plan):
        if next(ways_past(plan, name), None) is not None:
            yield "sections", f"have a way in past who takes `{name[:40]}`"


def _step(plan: Plan, number: int, step: Step, known: set[str]) -> _Found:
    at, pool = f"step {step.name}", len(plan.templates)
    if not step.tasks:
        yield at, "has no task"
    yield from _indices(at, pool, step.timeout)
    if step.join.mode not in JOINS:
        yield at, f"has the unknown join {step.join.mode!r}"
    if step.join.mode == "count" and step.join.sources and not 1 <= step.join.n <= len(step.join.sources):
        yield at, "has a join that waits for more tokens than there are sources"
    if step.join.mode == "tokens" and not 1 <= step.join.n <= MOST_MERGED:
        yield at, f"has a join of another number of tokens than 1 to {MOST_MERGED:,}"
    if not known.issuperset(source for source in step.join.sources if source != "@entry"):
        yield at, "has a source that is no step"
    if not known.issuperset(step.needs):
        yield at, "needs the result of what is no step"
    for loop in step.loops:
        yield from _indices(at, pool, loop.in_flight)
        if loop.items < 0:
            yield at, "has a loop without items"
        yield from _indices(at, pool, loop.items)
    for row, following in zip(step.tasks, (*step.tasks[1:], -1), strict=False):
        if not 0 <= row < len(plan.tasks) or plan.tasks[row].step != number:
            yield at, "has a task that is not its own"
            return
        yield from _task(plan, at, step, plan.tasks[row], following)
    for row in step.arcs:
        if not 0 <= row < len(plan.arcs) or plan.arcs[row].step != number:
            yield at, "has an arc that is not its own"
            return
        arc = plan.arcs[row]
        yield from _indices(at, pool, arc.args, arc.delay)
        if not -1 <= arc.target < len(plan.steps):
            yield at, "has an arc to no step"


def _task(plan: Plan, at: str, step: Step, task: Task, following: int) -> _Found:
    at = f"{at}, task {task.name}"
    yield from _mappings(plan, at, task.fields, task.knobs)
    yield from _indices(at, len(plan.templates), task.args, task.timeout)
    if task.following != following:
        yield at, "is followed by another task than the next one"
    # The flag could be computed. It is written because the analysis reads it, and checked because nothing may
    # disagree with the rules.
    if task.passes_errors != (bool(task.rules) and task.rules[-1].when >= 0):
        yield at, "has another end of its rules than its row says"
    for rule in task.rules:
        yield from _rule(plan, at, step, rule)


def _rule(plan: Plan, at: str, step: Step, rule: Rule) -> _Found:
    pool = len(plan.templates)
    yield from guard_problems(plan, at, rule.when)
    yield from _indices(at, pool, rule.delay, rule.max_delay, rule.code, rule.message)
    for pairs in (rule.set_iter, rule.set_ctx):
        for _, value in pairs:
            if not 0 <= value < pool:
                yield at, "sets a key to no template"
    if rule.directive not in DIRECTIVES or rule.backoff not in BACKOFFS:
        yield at, "has a rule with an unknown directive or backoff"
    # A jump out of its step would carry a token past the step's end, which no place of the net stands for.
    if (rule.directive == "jump") != (rule.to != -1) or (rule.to != -1 and rule.to not in step.tasks):
        yield at, "jumps out of its step"
    if rule.attempts < 1:
        yield at, "has fewer than one attempt"


def guard_problems(plan: Plan, at: str, guard: int) -> _Found:
    """The faults of a guard: it is a lone expression of the pool, or -1 for none."""
    if not -1 <= guard < len(plan.templates):
        yield at, "names a template that is not there"
    elif guard >= 0 and not isinstance(plan.templates[guard], Native):
        yield at, "has a guard that is no expression"


def _mappings(plan: Plan, at: str, *indices: int) -> _Found:
    """Templates that stand for mappings, -1 for none."""
    for index in indices:
        if not -1 <= index < len(plan.templates):
            yield at, "names a template that is not there"
        elif index >= 0 and _keys(plan.templates[index]) is None:
            yield at, "names a template that is no mapping"


def _keys(template: Template) -> list[str] | None:
    match template:
        case MapTemplate(items=items):
            return [name for name, _ in items]
        case Literal(value=dict() as value):
            return list(value)
        case _:
            return None


def _indices(at: str, size: int, *indices: int) -> _Found:
    if min(indices) < -1 or max(indices) >= size:
        yield at, "names a template that is not there"


def _found_by(plan: Plan) -> _Found:
    """Labels and search attributes: each name once, not too many, and types that there are."""
    for what, names in (("labels", [name for name, _ in plan.labels]), ("search", [row.name for row in plan.search])):
        if len({*names}) != len(names) or len(names) > MOST_SEARCH:
            yield what, "have a name twice, or are too many"
    if any(len(text) > LONGEST_LABEL for _, text in plan.labels):
        yield "labels", "have one that is too long"
    for row in plan.search:
        if not 0 <= row.value < len(plan.templates) or row.type not in SEARCH_TYPES:
            yield f"search {row.name[:40]}", "has no value, or no type"
