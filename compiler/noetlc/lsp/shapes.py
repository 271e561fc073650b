"""The shape of values as far as a playbook shows it: keys of the workload, args, what rules set, results of tasks."""

import re
from collections.abc import Iterable, Mapping

from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.python_code import code_of
from noetlc.reading.kinds import kind_of
from noetlc.source.nodes import Mapping as MappingNode
from noetlc.source.nodes import Node, Scalar, Sequence


class ValueShape(NamedTuple):
    """A value: `what` it is, in words, and the keys that are known of it."""

    what: str
    keys: "Mapping[str, ValueShape]" = {}  # noqa: RUF012  (never written to)


ERROR = ValueShape(
    "the error, null after a success",
    {
        "code": ValueShape("the error's code, as `http.status`"),
        "kind": ValueShape("the sort of error: `timeout`, `connection`, `rate_limit`, …, else its code"),
        "message": ValueShape("what happened, in words"),
        "retryable": ValueShape("whether another attempt may succeed"),
        "response": ValueShape("of a request that failed: what was answered, in few words"),
    },
)
_META = ValueShape(
    "when and how often it was tried",
    {name: ValueShape(f"`{name}` of the attempt") for name in ("attempt", "duration", "started", "ended", "trace_id")},
)
_KEYS = re.compile(r"\{([^{}]*)\}")


def shape_of_node(node: Node | None, what: str) -> ValueShape:
    """The shape of a value as it is written."""
    if isinstance(node, MappingNode):
        return ValueShape(what, {key.text: shape_of_node(inner, _shown(inner)) for key, inner in node.entries})
    return ValueShape(what)


def shape_of_value(value: Value | None, what: str) -> ValueShape:
    """The shape of a value of a playbook."""
    return shape_of_node(value.node if value is not None else None, what)


def shape_of_input(schema: Mapping[str, object], what: str) -> ValueShape:
    """The shape that a JSON Schema describes."""
    properties = schema.get("properties")
    inner = properties if isinstance(properties, dict) else {}
    said = str(schema.get("description") or what)
    return ValueShape(
        said, {key: shape_of_input(one if isinstance(one, dict) else {}, "a value") for key, one in inner.items()}
    )


def result_of_task(task: Task) -> ValueShape:
    """The result of a task, by its kind, its code or its args."""
    kind = kind_of(task.kind)
    said = f"the result of `{task.name}` (`{task.kind}`)" + (
        f": {kind.result}" if kind is not None and kind.result else ""
    )
    if task.kind == "noop":
        written = dict(task.fields).get("result") or task.args
        return shape_of_value(written, said)
    if task.kind == "python":
        return ValueShape(
            said, {key: ValueShape("a key that the code gives") for key in keys_of_code(code_of(task) or "")}
        )
    # The kinds say what a result is in one sentence, with its keys in braces: there is no second list of them to keep.
    text = kind.result if kind is not None else ""
    keys = [key.strip() for group in _KEYS.findall(text) for key in group.split(",")]
    return ValueShape(said, {key: ValueShape(f"`{key}` of the result") for key in keys if key.isidentifier()})


def result_of_step(step: Step) -> ValueShape:
    """The result of a step: that of its last task, of a loop the list of them."""
    if step.loop is not None:
        return ValueShape(f"the results of the loop `{step.name}`, a list in the order of the items")
    last = result_of_task(step.tasks[-1]) if step.tasks else ValueShape("")
    return ValueShape(f"the result of step `{step.name}`: {last.what.removeprefix('the result of ')}", last.keys)


def outcome_of(task: Task | None, word: str = "") -> ValueShape:
    """The outcome of a task's attempt; of one that is not known yet `word` is the kind."""
    kind = kind_of(task.kind if task is not None else word)
    extras = kind.extras if kind is not None else {}
    keys = {
        "status": ValueShape("`ok` or `error`"),
        "result": result_of_task(task) if task is not None else ValueShape("the result"),
        "error": ERROR,
        "meta": _META,
        **{
            key: ValueShape(f"`{key}` of the outcome", {name: ValueShape(f"`{name}`") for name in names})
            for key, names in extras.items()
        },
    }
    return ValueShape("the outcome of the attempt", keys)


def ctx_of(playbook: Playbook) -> dict[str, ValueShape]:
    """The keys of `ctx`, with who sets each."""
    found: dict[str, ValueShape] = {
        one.key: ValueShape(f"made by the reducer `{one.reduce}`") for one in playbook.executor.reducers
    }
    for step in playbook.steps:
        for task in step.tasks:
            found = _with_set(found, (pair for rule in task.rules for pair in rule.set_ctx), step)
    return found


def iter_of(step: Step) -> dict[str, ValueShape]:
    """The keys of `iter` that the rules of a step set."""
    return _with_set({}, (pair for task in step.tasks for rule in task.rules for pair in rule.set_iter), step)


def keys_of_code(code: str) -> list[str]:
    """The keys of the mappings that Python code gives as its result, where they are written out."""
    import ast  # few questions are about code

    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    results: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            # The two ways in which a python task gives its result.
            case ast.Assign(targets=[ast.Name(id="result")], value=value) | ast.Return(value=ast.Dict() as value):
                results.append(value)
    keys = [
        key.value for one in results if isinstance(one, ast.Dict) for key in one.keys if isinstance(key, ast.Constant)
    ]
    return [key for key in dict.fromkeys(keys) if isinstance(key, str)]


def _with_set(found: dict[str, ValueShape], pairs: Iterable[tuple[str, Value]], step: Step) -> dict[str, ValueShape]:
    for key, value in pairs:
        shape = shape_of_value(value, f"set by step `{step.name}`")
        old = found.get(key)
        # Rules of several steps may set one key: which ran last is not known, so the keys of all are offered.
        if old is not None and old.what != shape.what:
            shape = ValueShape(f"{old.what}, {shape.what}", {**old.keys, **shape.keys})
        found[key] = shape
    return found


def _shown(node: Node) -> str:
    if isinstance(node, Scalar):
        return f"`{node.text[:60]}`" if node.text else "null"
    return "a list" if isinstance(node, Sequence) else "a mapping"
