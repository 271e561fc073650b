"""The reads of a step's tasks, as its plan says them; and what a task is, to compare it with that of another plan.

An outcome that was recorded stands for a task in another execution only where the task is the same there and reads the
same. What is not written out (a block template, code that hands its names on) may read everything.
"""

from collections.abc import Iterator
from functools import lru_cache

from noetl_ir import registry
from noetl_ir.expr import Attribute, Block, Call, Expr, Literal, Template, expressions_of, walk
from noetl_ir.kinds.playbook import called_path
from noetl_ir.paths import paths_in, static_path
from noetl_ir.plan import Plan, Rule, Task, fields_of
from noetl_ir.plan_secrets import entries_for
from noetl_ir.python_names import CONTEXT, INPUTS, STATE, python_reads
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import RESERVED

PLAYBOOK, PYTHON = "playbook", "python"


class StepReads(NamedTuple):
    """The reads of the tasks of a step besides args, `iter` and results: keys of `ctx` and paths in `workload`, None
    for all of it; whether they read the execution's id.
    """

    ctx: frozenset[str] | None
    workload: frozenset[tuple[str, ...]] | None
    reads_id: bool


_EVERYTHING = StepReads(None, None, True)
_NOTHING = StepReads(frozenset(), frozenset(), False)


def step_reads(plan: Plan, step: int) -> StepReads:
    """All that the tasks of a step may read."""
    found = _NOTHING
    for number in plan.steps[step].tasks:
        found = _both(found, _of_task(plan, plan.tasks[number]))
    return found


def _both(one: StepReads, other: StepReads) -> StepReads:
    ctx = None if one.ctx is None or other.ctx is None else one.ctx | other.ctx
    workload = None if one.workload is None or other.workload is None else one.workload | other.workload
    return StepReads(ctx, workload, one.reads_id or other.reads_id)


def _of_task(plan: Plan, task: Task) -> StepReads:
    if task.kind not in _own_kinds():  # a tool that somebody else wrote may ask for any name
        return _EVERYTHING
    found = _of_code(plan, task) if task.kind == PYTHON else _NOTHING
    # What a credential is made of decides whose account a task has seen.
    used = entries_for(plan, task, _templates(plan, task))
    behind = [plan.templates[entry.fields] for entry in used if entry.fields >= 0]
    for template in (*_templates(plan, task), *behind):
        if _has_block(template):
            return _EVERYTHING
        for expr in expressions_of(template):
            for path in _paths(expr):
                found = _both(found, _of_path(path))
    return found


@lru_cache(1)
def _own_kinds() -> frozenset[str]:
    return frozenset(registry.names("noetl_ir.kinds"))


def _of_code(plan: Plan, task: Task) -> StepReads:
    """All that python code finds bound and may read; its args are those of the task."""
    fields = fields_of(plan, task)
    code = fields.get("code") if fields is not None and fields.keys().isdisjoint(("code_b64", "script")) else None
    if not isinstance(code, Literal) or not isinstance(code.value, str):
        return _EVERYTHING
    reads = python_reads(code.value)
    names = reads.words.intersection(STATE) | reads.parameters.difference(INPUTS)
    if CONTEXT in reads.words:
        if reads.keys is None or reads.rebound:
            return _EVERYTHING
        names |= reads.keys
    found = _NOTHING
    for name in names:
        found = _both(found, _of_path((name,)))
    return found


def _of_path(path: tuple[str, ...]) -> StepReads:
    match path:
        case ("workload",):
            return StepReads(frozenset(), None, False)
        case ("workload", *rest):
            return StepReads(frozenset(), frozenset([tuple(rest)]), False)
        case ("ctx",):
            return StepReads(None, frozenset(), False)
        case ("ctx", key, *_):
            return StepReads(frozenset([key]), frozenset(), False)
        case ("execution_id" | "job", *_):
            return StepReads(frozenset(), frozenset(), True)
        # A bare name may be a key of either. What comes before them in the look-up is compared as a whole.
        case (name, *_) if name not in RESERVED:
            return StepReads(frozenset([name]), frozenset([path]), False)
    return _NOTHING


def _paths(expr: Expr) -> Iterator[tuple[str, ...]]:
    """The chains of keys in an expression; of the call of a method the value that it is called of."""
    methods = {id(here.callee) for here in walk(expr) if isinstance(here, Call) and isinstance(here.callee, Attribute)}
    return paths_in(expr, lambda here: None if id(here) in methods else (static_path(here) or None))


def _has_block(template: Template) -> bool:
    waiting: list[Template] = [template]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Block):
            return True
        inner = getattr(here, "items", ())
        waiting += [part[1] if isinstance(part, tuple) else part for part in inner]
    return False


def _templates(plan: Plan, task: Task) -> Iterator[Template]:
    numbers = [task.fields, task.args, task.knobs, task.timeout]
    for rule in task.rules:
        numbers += [rule.when, rule.delay, rule.max_delay, rule.code, rule.message]
        numbers += [number for _, number in (*rule.set_iter, *rule.set_ctx)]
    return (plan.templates[number] for number in numbers if number >= 0)


def written_keys(plan: Plan, step: int) -> frozenset[str]:
    """The keys of `ctx` that the tasks of a step may write."""
    rules = [rule for number in plan.steps[step].tasks for rule in plan.tasks[number].rules]
    return frozenset(key for rule in rules for key, _ in rule.set_ctx)


def is_same_task(old: Plan, old_task: int, new: Plan, new_task: int) -> bool:
    """Whether a task of one plan does what one of another plan does, given the same values."""
    return _definition(old, old_task) == _definition(new, new_task)


def has_same_keychain(old: Plan, new: Plan) -> bool:
    """Whether two plans declare the same credentials."""
    one, other = [[(e.name, e.kind, _template(plan, e.fields)) for e in plan.keychain] for plan in (old, new)]
    return one == other


def _definition(plan: Plan, number: int) -> tuple[object, ...]:
    task = plan.tasks[number]
    templates = tuple(_template(plan, index) for index in (task.fields, task.args, task.knobs, task.timeout))
    return (
        task.name, task.kind, templates, tuple(_rule(plan, rule) for rule in task.rules),
        _name(plan, task.following), task.generated, task.passes_errors, plan.edition > 1,
        tuple(loop.iterator for loop in plan.steps[task.step].loops), _children(plan, task), _keychain(plan, task),
    )  # fmt: skip


def _template(plan: Plan, index: int) -> Template | None:
    return plan.templates[index] if index >= 0 else None


def _name(plan: Plan, task: int) -> str:
    return plan.tasks[task].name if task >= 0 else ""


def _rule(plan: Plan, rule: Rule) -> tuple[object, ...]:
    parts = [_template(plan, index) for index in (rule.when, rule.delay, rule.max_delay, rule.code, rule.message)]
    patches = [(key, _template(plan, index)) for key, index in (*rule.set_iter, ("", -1), *rule.set_ctx)]
    plain = rule.directive, rule.attempts, rule.backoff, rule.multiplier, rule.jitter, _name(plan, rule.to)
    return (*parts, *patches, *plain)


def _children(plan: Plan, task: Task) -> tuple[tuple[str, str], ...]:
    """The versions of the children that a task may call, as far as the plan has them."""
    if task.kind != PLAYBOOK:
        return ()
    path = called_path(plan.templates[task.fields]) if task.fields >= 0 else ""
    return tuple((child.path, child.digest) for child in plan.children if not path or child.path == path)


def _keychain(plan: Plan, task: Task) -> tuple[tuple[object, ...], ...]:
    """The declared credentials that a task may use."""
    used = entries_for(plan, task, _templates(plan, task))
    return tuple((entry.name, entry.kind, _template(plan, entry.fields)) for entry in used)
