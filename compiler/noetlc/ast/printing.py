"""A playbook as canonical source text: `apiVersion: noetl.io/v2`, named tasks, one order of keys.

Reading the text gives the same tree up to places: what is written is what the tree holds, defaults left out.
`tree_of` is what is written with the places that it comes from; `document` has plain values.
"""

import json
from typing import TypeAlias

from noetl_ir.expr import Json, ListTemplate, Literal, MapTemplate, Template
from noetl_ir.patterns import LatePattern
from noetl_ir.span import Span
from noetlc.ast.placeholders import is_placeholder
from noetlc.ast.playbook import (
    Admit,
    AdmitRule,
    Arc,
    Concurrency,
    Executor,
    Guard,
    Interrupt,
    KeychainEntry,
    Lock,
    Loop,
    LoopSignal,
    Merge,
    Playbook,
    Reducer,
    Router,
    Rule,
    SearchAttribute,
    Step,
    StepSpec,
    Task,
    TaskDefaults,
    Value,
)
from noetlc.ast.walk import failure_mode_of
from noetlc.ast.yaml_text import yaml_text
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of

VERSION = "noetl.io/v2"


class Placed(dict[str, "Tree"]):
    """A mapping that says where the construct stands in the file that it prints."""

    __slots__ = ("span",)

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


Tree: TypeAlias = "dict[str, Tree] | list[Tree] | Value | Guard | bool | int | float | str | None"
"""What is written: plain values, but values and guards of the playbook as they are."""

Keys: TypeAlias = dict[str, Tree]


def printed(playbook: Playbook) -> str:
    """The canonical source text of a playbook."""
    return yaml_text(document(playbook))


def document(playbook: Playbook) -> dict[str, Json]:
    """The playbook as plain values, in the order in which they are written."""
    return {key: plain_tree(value) for key, value in tree_of(playbook).items()}


def tree_of(playbook: Playbook) -> Placed:
    """The playbook as plain values with its guards, and the place of each construct."""
    found = Placed(playbook.span)
    found.update({"apiVersion": VERSION, "kind": "Playbook", "metadata": _metadata(playbook)})
    _put(found, "keychain", [_credential(entry) for entry in playbook.keychain])
    _put(found, "executor", _executor(playbook.executor))
    _put(found, "workload", _pairs(playbook.workload))
    found["workflow"] = [_step(step) for step in playbook.steps]
    _put(found, "workbook", [_task(task) for _, task in playbook.workbook])
    found.update((key, as_tree(value_of(node))) for key, node in playbook.extensions)
    return found


def plain_tree(tree: Tree) -> Json:
    """A tree as plain values."""
    match tree:
        case Value(template=template, node=None):
            return _made(template)
        case Value(template=template, node=node):
            return plain(template, node)
        # `when: true` was a boolean in the file, and braces around it would make it a text there.
        case Guard(node=Scalar(value=bool(always))):
            return always
        case Guard(text=text):
            return f"{{{{ {text} }}}}"
        case dict():
            return {key: plain_tree(value) for key, value in tree.items()}
        case list():
            return [plain_tree(item) for item in tree]
        case _:
            return tree


def as_tree(value: Json) -> Tree:
    """A plain value as a tree."""
    match value:
        case dict():
            return {key: as_tree(item) for key, item in value.items()}
        case list():
            return [as_tree(item) for item in value]
        case _:
            return value


def _metadata(playbook: Playbook) -> Tree:
    """The well-known keys first."""
    first = [key for key in ("name", "path", "version", "description") if key in playbook.metadata]
    return {key: as_tree(playbook.metadata[key]) for key in [*first, *playbook.metadata]}


def _put(into: Keys, key: str, value: Tree) -> None:
    """Parts that are empty are left out."""
    if value not in (None, "", {}, []):
        into[key] = value


def _put_value(into: Keys, key: str, value: Value | None) -> None:
    if value is not None:
        into[key] = value


def plain(template: Template, node: Node | None = None) -> Json:
    """A template as it is written in a file; `node` is where it was read, if it was."""
    match template:
        case Literal(value=value):
            return raw(value, node)
        case MapTemplate(items=pairs):
            return {key: plain(item, _under(node, key)) for key, item in pairs}
        case ListTemplate(items=items):
            return [plain(item, _at(node, number)) for number, item in enumerate(items)]
        case _:
            return template.text


def _made(template: Template) -> Json:
    """A template that a pass made: where it is a text, or a list, its texts may be those of a program, and stay."""
    match template:
        case Literal(value=str() | list() as value):
            return value
        case ListTemplate(items=items):
            return [item.value if isinstance(item, Literal) else plain(item) for item in items]
        case _:
            return plain(template)


def raw(value: Json, node: Node | None = None) -> Json:
    """A value whose texts are read back as they are: those with braces stand between raw tags."""
    # Texts of a file that stand there as they are may be program text, and are no templates where they stand.
    if node is not None and value_of(node) == value:
        return value
    match value:
        case str() if _OPENING.search(value):
            # A text that would end the raw part can be a constant in an expression.
            ends = _RAW_END.search(value) is not None
            return f"{{{{ {json.dumps(value, ensure_ascii=False)} }}}}" if ends else f"{{% raw %}}{value}{{% endraw %}}"
        case dict():
            return {key: raw(item, _under(node, key)) for key, item in value.items()}
        case list():
            return [raw(item, _at(node, number)) for number, item in enumerate(value)]
        case _:
            return value


def _under(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, Mapping) else None


def _at(node: Node | None, number: int) -> Node | None:
    return node.items[number] if isinstance(node, Sequence) and number < len(node.items) else None


_OPENING = LatePattern(r"\{[{%#]")
_RAW_END = LatePattern(r"\{%[-+]?\s*endraw")


def _pairs(pairs: tuple[tuple[str, Value], ...]) -> Keys:
    return dict(pairs)


def _credential(entry: KeychainEntry) -> Tree:
    found = Placed(entry.span)
    found.update({"name": entry.name, "kind": entry.kind})
    found.update(_pairs(entry.fields))
    return found


def _executor(executor: Executor) -> Keys:
    policy: Keys = {}
    if executor.reference_first:
        policy["results"] = {"reference_first": True}
    _put(policy, "limits", dict(executor.limits))
    _put_failure(policy, executor.failure_mode)
    lifecycle: Keys = {}
    _put_value(lifecycle, "timeout_s", executor.lifecycle_timeout)
    _put_value(lifecycle, "after_s", executor.after)
    _put(policy, "lifecycle", lifecycle)
    spec: Keys = {}
    _put(spec, "entry_step", executor.entry_step)
    _put(spec, "pool", executor.pool)
    if executor.inputs is not None:
        spec["inputs"] = {one.name: as_tree(value_of(one.node)) for one in executor.inputs}
    _put_value(spec, "result", executor.result)
    _put_value(spec, "timeout", executor.timeout)
    if executor.tasks:
        spec["tasks"] = {one.kind: {"spec": _defaults(one)} for one in executor.tasks}
    spec.update({phase.name: phase.step for phase in executor.phases})
    if executor.compensate_on is not None:
        spec["compensate_on"] = list(executor.compensate_on)
    if executor.concurrency is not None:
        spec["concurrency"] = _concurrency(executor.concurrency)
    if executor.search:
        spec["search"] = {one.name: _search_attribute(one) for one in executor.search}
    if executor.reducers:
        spec["ctx"] = {one.key: _reducer(one) for one in executor.reducers}
    spec.update(_pairs(executor.knobs))
    _put(spec, "policy", policy)
    found: Keys = {key: as_tree(value) for key, value in executor.plain.items()}
    _put(found, "spec", spec)
    return found


def _concurrency(concurrency: Concurrency) -> Keys:
    found: Keys = {"key": concurrency.key}
    if concurrency.limit != 1:
        found["limit"] = concurrency.limit
    if concurrency.on_conflict != "queue":
        found["on_conflict"] = concurrency.on_conflict
    return found


def _search_attribute(one: SearchAttribute) -> Value | Keys:
    return one.value if one.type == "string" else {"value": one.value, "type": one.type}


def _reducer(reducer: Reducer) -> Keys:
    found: Keys = {"reduce": reducer.reduce}
    _put_value(found, "initial", reducer.initial)
    return found


def _put_failure(policy: Keys, mode: str, default: str = "fail_fast") -> None:
    if mode != default:
        policy["failure"] = {"mode": mode}


def _put_lifecycle(policy: Keys, timeout: Value | None) -> None:
    lifecycle: Keys = {}
    _put_value(lifecycle, "timeout_s", timeout)
    _put(policy, "lifecycle", lifecycle)


def _step(step: Step) -> Keys:
    found = Placed(step.span)
    found["step"] = step.name
    _put(found, "desc", step.desc)
    _put(found, "spec", _step_spec(step.spec, failure_mode_of(step.loop)))
    if step.loop is not None:
        found["loop"] = _loop(step.loop)
    if not _is_router(step):
        found["tool"] = [_task(task) for task in step.tasks]
    if step.router is not None:
        found["next"] = _router(step.router)
    return found


def _is_router(step: Step) -> bool:
    """Whether the only task is the noop that a step without a tool gets."""
    return len(step.tasks) == 1 and is_placeholder(step, step.tasks[0])


def _lock(lock: Lock) -> "Tree":
    if not lock.through:
        return lock.name
    return {"name": lock.name, "through": [step.name for step in lock.through]}


def _step_spec(spec: StepSpec, failure_mode: str) -> Keys:
    """`failure_mode` is the one that the step has where it names none."""
    policy: Keys = {}
    if spec.admit is not None:
        policy["admit"] = _admit(spec.admit)
    # `join: any` that its author wrote stays written, though it is the default.
    if spec.join != "any" or spec.join_span is not None:
        policy["join"] = {"tokens": spec.join.tokens} if isinstance(spec.join, Merge) else spec.join
    _put_lifecycle(policy, spec.lifecycle_timeout)
    _put_failure(policy, spec.failure_mode, failure_mode)
    _put(policy, "terminate", spec.terminate)
    if spec.compensate is not None:
        how = spec.compensate
        policy["compensate"] = {"step": how.step, "on": "started"} if how.started else how.step
    locks = [_lock(each) for each in spec.locks]
    _put(policy, "lock", locks[0] if len(locks) == 1 else locks)
    _put(policy, "cancels", [target.name for target in spec.cancels])
    if spec.interrupt is not None:
        policy["interrupt"] = _heard(spec.interrupt)
    found: Keys = {}
    _put(found, "pool", spec.pool)
    _put_value(found, "timeout", spec.timeout)
    found.update(_pairs(spec.knobs))
    _put(found, "policy", policy)
    return found


def _admit(admit: Admit) -> Keys:
    found: Keys = {"on_deny": "wait"} if admit.waits else {}
    found["rules"] = [_admit_rule(rule) for rule in admit.rules]
    return found


def _admit_rule(rule: AdmitRule) -> Keys:
    return _branch(rule.when, {"allow": rule.allow}, rule.span)


def _branch(when: Guard | None, then: Keys, span: Span) -> Keys:
    found = Placed(span)
    found.update({"else": {"then": then}} if when is None else {"when": when, "then": then})
    return found


def _heard(signal: LoopSignal | Interrupt) -> Keys:
    found: Keys = {}
    _put(found, "events", list(signal.events))
    _put_value(found, "timers", signal.timers)
    return found


def _loop(loop: Loop) -> Keys:
    found = Placed(loop.span)
    found.update({"in": loop.items, "iterator": loop.iterator})
    spec: Keys = {}
    if loop.mode != "sequential":
        spec["mode"] = loop.mode
    _put_value(spec, "max_in_flight", loop.max_in_flight)
    _put_value(spec, "timeout", loop.timeout)
    for signal in loop.signals:
        spec[signal.verb] = _heard(signal)
    spec.update(_pairs(loop.knobs))
    policy: Keys = {}
    if loop.exec != "distributed":
        policy["exec"] = loop.exec
    _put_lifecycle(policy, loop.lifecycle_timeout)
    _put_value(policy, "enough", loop.enough)
    _put(policy, "rest", loop.rest)
    _put(spec, "policy", policy)
    _put(found, "spec", spec)
    if loop.inner is not None:
        found["loop"] = _loop(loop.inner)
    return found


def _task(task: Task) -> Keys:
    found = Placed(task.span)
    found.update({"name": task.name, "kind": task.kind})
    _put(found, "desc", task.desc)
    found.update(_pairs(task.fields))
    _put_value(found, "args", task.args)
    _put(found, "spec", _defaults(task))
    return found


def _defaults(of: Task | TaskDefaults) -> Keys:
    """The `spec` of a task, or of all of a kind."""
    spec: Keys = _pairs(of.knobs)
    _put_value(spec, "timeout", of.timeout)
    if of.rules:
        policy: Keys = {"on_unmatched": "continue"} if of.on_unmatched_written else {}
        policy["rules"] = [_rule(rule) for rule in of.rules]
        spec["policy"] = policy
    return spec


def _rule(rule: Rule) -> Keys:
    then: Keys = {"do": rule.directive}
    # A retry says how often, though three is the default; elsewhere only what was written against its own directive
    # is left.
    if rule.directive == "retry" or rule.attempts != 3:
        then["attempts"] = rule.attempts
    if rule.backoff != "none":
        then["backoff"] = rule.backoff
    _put_value(then, "delay", rule.delay)
    if rule.multiplier != 2.0:
        then["multiplier"] = rule.multiplier
    _put_value(then, "max_delay", rule.max_delay)
    if rule.jitter:
        then["jitter"] = True
    if rule.to is not None:
        then["to"] = rule.to
    _put_value(then, "code", rule.code)
    _put_value(then, "message", rule.message)
    _put(then, "set_iter", _pairs(rule.set_iter))
    _put(then, "set_ctx", _pairs(rule.set_ctx))
    return _branch(rule.when, then, rule.span)


def _router(router: Router) -> Keys:
    found = Placed(router.span)
    if router.mode != "exclusive":
        found["spec"] = {"mode": router.mode}
    found["arcs"] = [_arc(arc) for arc in router.arcs]
    return found


def _arc(arc: Arc) -> Keys:
    found = Placed(arc.span)
    found["step"] = arc.target
    if arc.when is not None:
        found["when"] = arc.when
    _put_value(found, "args", arc.args)
    spec: Keys = {}
    _put_value(spec, "delay", arc.delay)
    if arc.priority:
        spec["priority"] = arc.priority
    _put(found, "spec", spec)
    return found
