"""The tables of the plan: what is computed when the net's transitions fire."""

from noetl_ir.expr import Json, Literal
from noetl_ir.plan import (
    CANCEL,
    COMPLETE,
    REFERENCE_FIRST,
    Arc,
    Cancel,
    Compensation,
    Concurrency,
    Input,
    Interrupt,
    IterationLimit,
    Join,
    KeychainEntry,
    Limits,
    Locks,
    Loop,
    LoopEnd,
    LoopSignal,
    Phase,
    Reducer,
    Rule,
    SearchAttribute,
    Section,
    Task,
    Terminate,
)
from noetlc.ast import playbook as ast
from noetlc.ast.walk import loops_of
from noetlc.codegen.pool import TemplatePool


def task_rows(step: ast.Step, index: int, *, first: int, pool: TemplatePool) -> list[Task]:
    """The rows of a step's tasks; `first` is the index that the first of them gets."""
    numbers = {task.name: first + offset for offset, task in enumerate(step.tasks)}
    made = []
    last = first + len(step.tasks) - 1
    for task in step.tasks:
        row = numbers[task.name]
        made.append(
            Task(
                name=task.name,
                step=index,
                kind=task.kind,
                fields=pool.mapping(task.fields, task.span),
                args=pool.value(task.args),
                knobs=pool.mapping(task.knobs, task.span),
                timeout=pool.value(task.timeout),
                rules=tuple([_rule(rule, numbers, pool) for rule in task.rules]),
                following=row + 1 if row < last else -1,
                generated=task.generated,
                span=task.span,
                # A policy without `else` lets an error that matches no rule go on.
                passes_errors=bool(task.rules) and task.rules[-1].when is not None,
            )
        )
    return made


def _rule(rule: ast.Rule, numbers: dict[str, int], pool: TemplatePool) -> Rule:
    return Rule(
        pool.guard(rule.when),
        rule.directive,
        rule.span,
        rule.attempts,
        rule.backoff,
        pool.value(rule.delay),
        rule.multiplier,
        pool.value(rule.max_delay),
        rule.jitter,
        numbers[rule.to] if rule.directive == "jump" and rule.to is not None else -1,
        pool.value(rule.code),
        pool.value(rule.message),
        pool.pairs(rule.set_iter),
        pool.pairs(rule.set_ctx),
    )


def arc_rows(step: ast.Step, index: int, numbers: dict[str, int], pool: TemplatePool) -> list[Arc]:
    """The rows of a step's arcs; an arc to what `numbers` does not name has the target -1, and its token ends."""
    if step.router is None:
        return []
    return [
        Arc(
            index,
            numbers.get(arc.target, -1),
            pool.value(arc.args),
            pool.value(arc.delay),
            arc.priority,
            arc.span,
        )
        for arc in step.router.arcs
    ]


def loop_rows(loop: ast.Loop | None, pool: TemplatePool) -> tuple[Loop, ...]:
    """The levels of a loop, outermost first."""
    made = []
    while loop is not None:
        made.append(
            Loop(
                pool.value(loop.items),
                loop.iterator,
                loop.mode != "parallel",
                pool.value(loop.max_in_flight),
                loop.exec,
                loop.span,
            )
        )
        loop = loop.inner
    return tuple(made)


def join_of(step: ast.Step, sources: tuple[str, ...]) -> Join:
    """The join of a step over its distinct sources."""
    match step.spec.join:
        case "first":
            return Join("count", 1, sources)
        case int(n):
            return Join("count", n, sources)
        case ast.Merge(tokens):
            return Join("tokens", tokens, sources)
        case mode:
            return Join(mode, len(sources), sources)


def keychain_rows(playbook: ast.Playbook, pool: TemplatePool) -> tuple[KeychainEntry, ...]:
    """The declared credentials."""
    return tuple(
        [
            KeychainEntry(entry.name, entry.kind, pool.mapping(entry.fields, entry.span), entry.span)
            for entry in playbook.keychain
        ]
    )


def inputs_of(executor: ast.Executor) -> tuple[Input, ...] | None:
    """The inputs that a start may bring."""
    if executor.inputs is None:
        return None
    return tuple([Input(one.name, one.required, one.schema, one.name_span) for one in executor.inputs])


def cancels_of(playbook: ast.Playbook, numbers: dict[str, int]) -> tuple[Cancel, ...]:
    """The steps that cancel others, and which."""
    return tuple(
        [
            Cancel(index, tuple(sorted({numbers[target.name] for target in step.spec.cancels})))
            for index, step in enumerate(playbook.steps)
            if step.spec.cancels
        ]
    )


def locks_of(playbook: ast.Playbook) -> tuple[Locks, ...]:
    """The steps whose runs hold locks, each with their names in order."""
    rows = [
        Locks(index, tuple(sorted([lock.name for lock in step.spec.locks if not lock.through])))
        for index, step in enumerate(playbook.steps)
        if step.spec.locks
    ]
    return tuple([row for row in rows if row.names])


def sections_of(playbook: ast.Playbook, numbers: dict[str, int]) -> tuple[Section, ...]:
    """The locks that are held through several steps."""
    return tuple(
        [
            Section(index, lock.name, tuple(sorted({numbers[target.name] for target in lock.through})))
            for index, step in enumerate(playbook.steps)
            for lock in sorted(step.spec.locks)
            if lock.through
        ]
    )


def interrupts_of(playbook: ast.Playbook, pool: TemplatePool) -> tuple[Interrupt, ...]:
    """The steps whose runs are stopped from outside, and by what."""
    return tuple(
        [
            Interrupt(index, step.spec.interrupt.events, pool.value(step.spec.interrupt.timers))
            for index, step in enumerate(playbook.steps)
            if step.spec.interrupt is not None
        ]
    )


def terminates_of(playbook: ast.Playbook) -> tuple[Terminate, ...]:
    """The steps whose success ends the execution."""
    rows = enumerate(playbook.steps)
    return tuple([Terminate(index, step.spec.terminate) for index, step in rows if step.spec.terminate])


def iteration_limits_of(playbook: ast.Playbook, pool: TemplatePool) -> tuple[IterationLimit, ...]:
    """The time limits of iterations, by step and level."""
    return tuple(
        [
            IterationLimit(index, level, pool.value(loop.lifecycle_timeout))
            for index, step in enumerate(playbook.steps)
            for level, loop in enumerate(loops_of(step))
            if loop.lifecycle_timeout is not None
        ]
    )


def phases_of(playbook: ast.Playbook, numbers: dict[str, int]) -> tuple[Phase, ...]:
    """The phases behind main."""
    return tuple([Phase(phase.name, numbers[phase.step]) for phase in playbook.executor.phases])


def reducers_of(executor: ast.Executor, pool: TemplatePool) -> tuple[Reducer, ...]:
    """The keys of `ctx` that are made of contributions."""
    return tuple([Reducer(one.key, one.reduce, pool.apart(one.initial)) for one in executor.reducers])


def loop_ends_of(playbook: ast.Playbook, pool: TemplatePool) -> tuple[LoopEnd, ...]:
    """How loops may end before their items are over, by step and level."""
    return tuple(
        [
            LoopEnd(index, level, pool.value(loop.enough), loop.rest or CANCEL)
            for index, step in enumerate(playbook.steps)
            for level, loop in enumerate(loops_of(step))
            if loop.enough is not None or any(signal.verb == COMPLETE for signal in loop.signals)
        ]
    )


def loop_signals_of(playbook: ast.Playbook, pool: TemplatePool) -> tuple[LoopSignal, ...]:
    """The signals and timers that loops listen for, by step, level and verb."""
    return tuple(
        [
            LoopSignal(index, level, signal.verb, signal.events, pool.value(signal.timers))
            for index, step in enumerate(playbook.steps)
            for level, loop in enumerate(loops_of(step))
            for signal in loop.signals
        ]
    )


def compensations_of(playbook: ast.Playbook, numbers: dict[str, int]) -> tuple[Compensation, ...]:
    """The steps whose runs are compensated."""
    found = []
    for index, step in enumerate(playbook.steps):
        how = step.spec.compensate
        if how is not None:
            found.append(Compensation(index, numbers[how.step], how.started))
    return tuple(found)


def search_of(playbook: ast.Playbook, pool: TemplatePool) -> tuple[SearchAttribute, ...]:
    """The values that executions are found by."""
    return tuple([SearchAttribute(one.name, one.type, pool.apart(one.value)) for one in playbook.executor.search])


def labels_of(playbook: ast.Playbook) -> tuple[tuple[str, str], ...]:
    """The labels of all executions of a playbook."""
    labels = playbook.metadata.get("labels")
    return tuple([(name, str(text)) for name, text in labels.items()]) if isinstance(labels, dict) else ()


def concurrency_of(executor: ast.Executor, pool: TemplatePool) -> Concurrency | None:
    """The place that an execution asks for."""
    one = executor.concurrency
    return None if one is None else Concurrency(pool.apart(one.key), one.limit, one.on_conflict)


def limits_of(executor: ast.Executor) -> Limits:
    """The bounds of an execution, as declared or by default."""
    return Limits()._replace(**dict(executor.limits))


def executor_of(executor: ast.Executor) -> dict[str, Json]:
    """The effective executor spec without its policies."""
    spec: dict[str, Json] = dict(executor.plain)
    for name, value in executor.knobs:
        # The spec is shown with the plan; what is computed belongs to tasks, which render it.
        if isinstance(value.template, Literal):
            spec[name] = value.template.value
    if executor.pool is not None:
        spec["pool"] = executor.pool
    spec[REFERENCE_FIRST] = executor.reference_first
    return spec
