"""Walks over a playbook: its values with the scalar behind each expression, and steps or tasks replaced."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from noetl_ir.expr import Block, Expr, ListTemplate, Literal, MapTemplate, Native, Template, Text
from noetl_ir.span import Span
from noetlc.ast.once import Once, OnceForLast
from noetlc.ast.playbook import Executor, Guard, Loop, Playbook, Rule, Step, StepSpec, Task, TaskDefaults, Value
from noetlc.ast.sugar import Sugar
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


def _expressions_in(value: Value) -> tuple[tuple[Expr, Scalar | None], ...]:
    found: list[tuple[Expr, Scalar | None]] = []
    _gather(value.template, value.node, found)
    return tuple(found)


expressions_in = Once(_expressions_in)
"""Every expression of a value with the scalar it stands in; None for a generated value."""


def _gather(template: Template, node: Node | None, found: list[tuple[Expr, Scalar | None]]) -> None:
    """Add the expressions of a template to one list for the whole value: a generator a level costs more than the
    walk.
    """
    match template:
        case Literal():
            return
        case Native(expr=expr):
            found.append((expr, node if isinstance(node, Scalar) else None))
        case Text(parts=parts):
            scalar = node if isinstance(node, Scalar) else None
            found += [(part, scalar) for part in parts if not isinstance(part, str)]
        case MapTemplate(items=pairs):
            below = node if isinstance(node, Mapping) else None
            for key, inner in pairs:
                # A template may have more structure than its node, where a lowering put it together: then there is no
                # scalar to point to.
                _gather(inner, None if below is None else below.get(key), found)
        case ListTemplate(items=items):
            # `strict=False`: the node is a hint for places, and a shorter one must not stop the walk.
            nodes = node.items if isinstance(node, Sequence) else [None] * len(items)
            for inner, behind in zip(items, nodes, strict=False):
                _gather(inner, behind, found)
        case _:
            return


def blocks_in(value: Value) -> list[Block]:
    """Every block template of a value."""
    # Nearly all values are a constant or an expression, in which there is none.
    if isinstance(value.template, _WITHOUT_BLOCKS):
        return []
    return [block for block, _ in placed_blocks(value)]


_WITHOUT_BLOCKS = (Literal, Native, Text)


def placed_blocks(value: Value) -> list[tuple[Block, Scalar | None]]:
    """Every block template of a value with the scalar that it is; None for a generated value."""
    found: list[tuple[Block, Scalar | None]] = []
    waiting: list[tuple[Template, Node | None]] = [(value.template, value.node)]
    while waiting:
        template, node = waiting.pop()
        match template:
            case Block() as block:
                found.append((block, node if isinstance(node, Scalar) else None))
            case MapTemplate(items=pairs):
                source = node if isinstance(node, Mapping) else None
                waiting += [(inner, None if source is None else source.get(key)) for key, inner in reversed(pairs)]
            case ListTemplate(items=items):
                nodes = node.items if isinstance(node, Sequence) else [None] * len(items)
                waiting += reversed(list(zip(items, nodes, strict=False)))
            case _:
                continue
    return found


def loops_of(step: Step) -> tuple[Loop, ...]:
    """The loop levels of a step, outermost first."""
    found: list[Loop] = []
    # A loop holds the one inside of it; levels are counted from outside, as in plans.
    level = step.loop
    while level is not None:
        found.append(level)
        level = level.inner
    return tuple(found)


def tasks_in(playbook: Playbook) -> tuple[Task, ...]:
    """The tasks of all steps, then those of the workbook."""
    return (*(task for step in playbook.steps for task in step.tasks), *(task for _, task in playbook.workbook))


def _task_values(task: Task) -> tuple[Value, ...]:
    found = [value for _, value in task.fields]
    if task.args is not None:
        found.append(task.args)
    if task.knobs:
        found += [value for _, value in task.knobs]
    if task.timeout is not None:
        found.append(task.timeout)
    return tuple(found)


task_values = Once(_task_values)
"""The templates that the worker renders before a task runs."""


def failure_mode_of(loop: Loop | None) -> str:
    """The failure mode of a step that names none: where some of a loop are enough, one that fails stops no other."""
    while loop is not None:
        if loop.enough is not None:
            return "best_effort"
        loop = loop.inner
    return "fail_fast"


def timers_of_loop(loop: Loop) -> list[Value]:
    """The timers that close or complete a loop level."""
    return [signal.timers for signal in loop.signals if signal.timers is not None]


def limits_of(spec: StepSpec) -> list[Value]:
    """The limits of a run of a step from its gate on: its time limit, and the timers that interrupt it."""
    timers = None if spec.interrupt is None else spec.interrupt.timers
    return [value for value in (spec.lifecycle_timeout, timers) if value is not None]


def values_of_rules(rules: Iterable[Rule]) -> list[Value]:
    """Every value of some rules, guards aside."""
    found: list[Value] = []
    for rule in rules:
        found += [value for value in (rule.delay, rule.max_delay, rule.code, rule.message) if value is not None]
        found += [value for _, value in rule.set_iter]
        found += [value for _, value in rule.set_ctx]
    return found


rule_values: Once[Task, tuple[Value, ...]] = Once(lambda task: tuple(values_of_rules(task.rules)))
"""The templates that the worker renders after a task, guards aside."""


def rule_guards(task: Task) -> list[Guard]:
    """The guards of a task's policy."""
    return [rule.when for rule in task.rules if rule.when is not None]


def replace_steps(playbook: Playbook, change: Callable[[Step], Step]) -> Playbook:
    """The playbook with every step changed; itself where none is."""
    steps = tuple([change(step) for step in playbook.steps])
    same = all(new is old for new, old in zip(steps, playbook.steps, strict=True))
    return playbook if same else playbook._replace(steps=steps)


def replace_tasks(playbook: Playbook, change: Callable[[Step, Task], Task]) -> Playbook:
    """The playbook with every task of every step changed; itself where none is."""

    def changed(step: Step) -> Step:
        tasks = tuple([change(step, task) for task in step.tasks])
        same = all(new is old for new, old in zip(tasks, step.tasks, strict=True))
        return step if same else step._replace(tasks=tasks)

    return replace_steps(playbook, changed)


def all_values(playbook: Playbook) -> Iterator[Value]:
    """Every value of a playbook, guards aside, in no order that matters."""
    yield from (value for _, value in playbook.workload)
    for entry in playbook.keychain:
        yield from (value for _, value in entry.fields)
    yield from executor_values(playbook.executor)
    for step in playbook.steps:
        yield from step_values(step)
    for _, task in playbook.workbook:
        yield from task_values(task)
        yield from rule_values(task)


def executor_values(executor: Executor) -> list[Value]:
    """Every value of the executor."""
    found = [value for _, value in executor.knobs]
    for one in executor.tasks:
        found += default_values(one)
        found += values_of_rules(one.rules)
    found += [one.initial for one in executor.reducers if one.initial is not None]
    found += [one.value for one in executor.search]
    found += [] if executor.concurrency is None else [executor.concurrency.key]
    values = (executor.lifecycle_timeout, executor.result, executor.timeout, executor.after)
    return found + [value for value in values if value is not None]


def default_values(defaults: TaskDefaults) -> list[Value]:
    """The values that tasks of a kind take for their own, rules aside."""
    found = [value for _, value in defaults.knobs]
    return found if defaults.timeout is None else [*found, defaults.timeout]


def _step_values(step: Step) -> tuple[Value, ...]:
    spec = step.spec
    found = [value for _, value in spec.knobs]
    found += [] if spec.timeout is None else [spec.timeout]
    found += limits_of(spec)
    for loop in loops_of(step):
        found.append(loop.items)
        found += [value for _, value in loop.knobs]
        levels = (loop.max_in_flight, loop.lifecycle_timeout, loop.timeout, loop.enough, *timers_of_loop(loop))
        found += [value for value in levels if value is not None]
    for task in step.tasks:
        found += task_values(task)
        found += rule_values(task)
    for arc in step.router.arcs if step.router is not None else ():
        found += [value for value in (arc.args, arc.delay) if value is not None]
    return tuple(found)


step_values = Once(_step_values)
"""Every value of a step, guards aside."""


def all_guards(playbook: Playbook) -> Iterator[Guard]:
    """Every guard of a playbook."""
    for step in playbook.steps:
        yield from step_guards(step)
    for _, task in playbook.workbook:
        yield from rule_guards(task)
    for one in playbook.executor.tasks:
        yield from [rule.when for rule in one.rules if rule.when is not None]


def step_guards(step: Step) -> list[Guard]:
    """Every guard of a step."""
    found: list[Guard] = []
    if step.spec.admit is not None:
        found += [rule.when for rule in step.spec.admit.rules if rule.when is not None]
    for task in step.tasks:
        found += rule_guards(task)
    if step.router is not None:
        found += [arc.when for arc in step.router.arcs if arc.when is not None]
    return found


def _all_expressions(playbook: Playbook) -> tuple[tuple[Expr, Scalar | None], ...]:
    found: list[tuple[Expr, Scalar | None]] = []
    for value in all_values(playbook):
        # Constants are most values of a file.
        if type(value.template) is not Literal:
            found += expressions_in(value)
    found += [(guard.expr, guard.node) for guard in all_guards(playbook)]
    return tuple(found)


all_expressions = OnceForLast(_all_expressions)
"""Every expression of a playbook with the scalar it stands in."""


_Asked: TypeAlias = tuple[Expr, Scalar | None, str]
"""An expression, its scalar, and when it is asked: `before` the tasks, by a `task` or `arc`."""


def _step_expressions(step: Step) -> tuple[_Asked, ...]:
    spec = step.spec
    found = _early(step)
    if spec.timeout is not None or spec.knobs:
        found += _at((spec.timeout, *(value for _, value in spec.knobs)), "task")
    if step.loop is not None:
        found += _at([loop.timeout for loop in loops_of(step)], "task")
    for task in step.tasks:
        found += _at((*task_values(task), *rule_values(task)), "task")
        found += [(guard.expr, guard.node, "task") for guard in rule_guards(task)]
    for arc in step.router.arcs if step.router is not None else ():
        if arc.when is not None:
            found.append((arc.when.expr, arc.when.node, "arc"))
        found += _at((arc.args, arc.delay), "arc")
    return tuple(found)


step_expressions = Once(_step_expressions)
"""Every expression of a step."""


def _early(step: Step) -> list[_Asked]:
    """The expressions that are asked before the tasks."""
    spec = step.spec
    found: list[_Asked] = []
    if spec.admit is not None:
        guards = [rule.when for rule in spec.admit.rules if rule.when is not None]
        found += [(guard.expr, guard.node, "before") for guard in guards]
    limits = limits_of(spec)
    if step.loop is not None or limits:
        levels = [
            value
            for loop in loops_of(step)
            for value in (loop.items, loop.max_in_flight, loop.lifecycle_timeout, loop.enough, *timers_of_loop(loop))
        ]
        found += _at((*levels, *limits), "before")
    return found


def _at(values: Iterable[Value | None], when: str) -> list[_Asked]:
    return [
        (expr, scalar, when)
        for value in values
        if value is not None and type(value.template) is not Literal  # constants are most values of a file
        for expr, scalar in expressions_in(value)
    ]


def sugar_in(playbook: Playbook) -> Iterator[Sugar]:
    """Every sugar node of a playbook; none in a canonical one. Iterative, and linear in the tree.

    Only `extras` hold any, and what stands in them is looked through to the ground.
    """
    waiting: list[tuple[object, ...]] = list(_extras(playbook))
    while waiting:
        here = waiting.pop()
        if type(here) is Task:  # what else it has is ground
            waiting += _extras_of_tasks((here,))
            continue
        if isinstance(here, Sugar):
            yield here
        waiting += [part for part in here if isinstance(part, tuple) and part and type(part) not in _GROUND]


def outer_sugar(playbook: Playbook) -> Iterator[Sugar]:
    """The sugar nodes that stand in no other."""
    return (node for extras in _extras(playbook) for node in extras)


_GROUND = frozenset({Span, Value, Guard})
"""Tuples without anything inside that a pass would lower."""


def _extras(playbook: Playbook) -> Iterator[tuple[Sugar, ...]]:
    """The extras that are not empty of every node."""
    if playbook.extras:
        yield playbook.extras
    if playbook.executor.extras:
        yield playbook.executor.extras
    for step in playbook.steps:
        if step.extras:
            yield step.extras
        if step.loop is not None:
            yield from [loop.extras for loop in loops_of(step) if loop.extras]
        if step.router is not None:
            yield from [arc.extras for arc in step.router.arcs if arc.extras]
        yield from _extras_of_tasks(step.tasks)
    yield from _extras_of_tasks(tuple([task for _, task in playbook.workbook]))


def _extras_of_tasks(tasks: tuple[Task, ...]) -> Iterator[tuple[Sugar, ...]]:
    for task in tasks:
        if task.extras:
            yield task.extras
        if task.rules:
            yield from [rule.extras for rule in task.rules if rule.extras]


def sugar_kinds(playbook: Playbook) -> frozenset[type[Sugar]]:
    """The classes of sugar that a playbook has."""
    return frozenset([type(node) for node in sugar_in(playbook)])
