"""The authoring sugar `choose`, `while` and `until` in a task list (LANGUAGE §6)."""

from collections.abc import Iterator
from contextlib import contextmanager

from noetl_ir.span import Span
from noetlc.ast.bodies import Branch, Choose, Tasks, Until, While
from noetlc.ast.playbook import Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import is_empty, mapping_of, missing, name_of, sequence_of, wrong_shape
from noetlc.reading.task import read_task
from noetlc.reading.values import read_count, read_duration, read_guard
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_WHILE = ("when", "then", "max_iterations", "deadline")
_UNTIL = ("when", "then", "delay", "max_iterations", "deadline")


def read_choose(r: Reader, position: int, node: Mapping) -> Task | None:
    """`{name: …, choose: [{when, then}, …, {else}]}`."""
    name, key, body = _head(r, position, node, "choose")
    listed = sequence_of(r, body, "`choose`", "branches")
    if listed is None:
        return None
    branches: list[Branch] = []
    for number, item in enumerate(listed.items):
        if branches and branches[-1].when is None:
            r.report("NL502", "`else` must be the last branch: what follows is never asked", item.span)
        # Unnamed tasks of two branches would else both be `task_0`, and lowering puts them into one list.
        with _inside(r, f"{name}__case{number}__"):
            branch = _branch(r, item)
        if branch is not None:
            branches.append(branch)
    return _entry(name, key, Choose(tuple(branches), key.span))


def read_while(r: Reader, position: int, node: Mapping) -> Task | None:
    """`{name: …, while: {when, then, max_iterations, deadline}}`."""
    name, key, body = _head(r, position, node, "while")
    parts = _parts(r, body, "while", _WHILE)
    guard = read_guard(r, parts["when"], "the `when` of `while`") if "when" in parts else None
    tasks = _body(r, parts.get("then"), name)
    most, deadline = _bounds(r, parts)
    return None if guard is None else _entry(name, key, While(guard, tasks, most, deadline, key.span))


def read_until(r: Reader, position: int, node: Mapping) -> Task | None:
    """`{name: …, until: {when, then, delay, max_iterations, deadline}}`."""
    name, key, body = _head(r, position, node, "until")
    parts = _parts(r, body, "until", _UNTIL)
    guard = read_guard(r, parts["when"], "the `when` of `until`") if "when" in parts else None
    tasks = _body(r, parts.get("then"), name)
    most, deadline = _bounds(r, parts)
    delay = read_duration(r, parts["delay"], "`delay`") if "delay" in parts else None
    return None if guard is None else _entry(name, key, Until(guard, tasks, delay, most, deadline, key.span))


def _head(r: Reader, position: int, node: Mapping, word: str) -> tuple[str, Scalar, Node]:
    """The sugar's name, the key it is written with, and what stands behind the key."""
    key, body, named = node.key(word), node.get(word), node.get("name")
    assert key is not None and body is not None
    stray_keys(r, "task", node, ("name", "desc", word))
    name = None if named is None else name_of(r, named, f"the name of `{word}`")
    return name or f"{r.body}{word}_{position}", key, body


def _entry(name: str, key: Scalar, sugar: Sugar) -> Task:
    """The task that carries sugar: what it is lowered to begins with it."""
    from noetlc.expr.generated import PREFIX, noop

    return noop(f"{PREFIX}{name.removeprefix(PREFIX)}", key.span)._replace(extras=(sugar,))


@contextmanager
def _inside(r: Reader, body: str) -> Iterator[None]:
    """Tasks without a name are called after the body that they stand in."""
    before, r.body = r.body, body
    yield
    r.body = before


def _branch(r: Reader, node: Node) -> Branch | None:
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "a branch", "`{when: …, then: […]}` or `{else: {then: […]}}`")
        return None
    # `do` is told by itself, in one sentence.
    stray_keys(r, "rule", node, ("when", "then", "else", "do"))
    other, when = node.get("else"), node.get("when")
    if (do := node.key("do") or _decision(other) or _decision(node.get("then"))) is not None:
        r.report(
            "NL109", "a branch of `choose` has tasks: `do` decides in the rules of a task", do.span, help=_OF_TASKS
        )
        return None
    if node.key("else") is not None:
        if when is not None:
            r.report("NL109", "a branch has either `when` or `else`", node.span, help="make two branches of them")
        # `else: [tasks]`, `else: {then: [tasks]}` and `else:` beside `then` are all written.
        body = other.get("then") if isinstance(other, Mapping) else other
        if body is None or is_empty(body):
            body = node.get("then")
        return Branch(None, _tasks(r, body, node.span), node.span)
    if when is None:
        missing(r, "the branch's `when`", node.span, help='write `when: "{{ … }}"`, or `else:` for the last branch')
        return None
    guard = read_guard(r, when, "`when`")
    tasks = _tasks(r, node.get("then"), node.span)
    return None if guard is None else Branch(guard, tasks, node.span)


def _decision(node: Node | None) -> Scalar | None:
    """The `do` of a rule that stands where tasks do."""
    return node.key("do") if isinstance(node, Mapping) and node.get("kind") is None else None


_OF_TASKS = (
    "write `then: [{name: …, kind: …}]`; what a task comes to is decided by its own "
    "`spec: {policy: {rules: [{when: …, then: {do: …}}]}}`"
)


def _parts(r: Reader, node: Node, word: str, known: tuple[str, ...]) -> dict[str, Node]:
    mapping = mapping_of(r, node, f"`{word}`")
    if mapping is None:
        return {}
    stray_keys(r, word, mapping, known)
    if mapping.get("when") is None:
        missing(r, f"the `when` of `{word}`", mapping.span, help='write `when: "{{ … }}"`')
    return {key.text: value for key, value in mapping.entries}


def _body(r: Reader, node: Node | None, name: str) -> Tasks:
    with _inside(r, f"{name}__"):
        return () if node is None else _tasks(r, node, node.span)


def _tasks(r: Reader, node: Node | None, span: Span) -> Tasks:
    """The tasks of a body: a list, or one task."""
    if node is None or is_empty(node):
        missing(r, "the tasks in `then`", span, help="write `then: [{name: …, kind: …}]`")
        return ()
    # One task may stand without its list, as under `tool`.
    items = node.items if isinstance(node, Sequence) else (node,)
    found = [read_task(r, position, item) for position, item in enumerate(items)]
    return tuple(task for task in found if task is not None)


def _bounds(r: Reader, parts: dict[str, Node]) -> tuple[Value | None, Value | None]:
    most, message = parts.get("max_iterations"), "`max_iterations` must be a whole number of at least 1"
    count = None if most is None else read_count(r, most, "NL104", "max_iterations", message)
    deadline = read_duration(r, parts["deadline"], "`deadline`") if "deadline" in parts else None
    return count, deadline


ENTRIES = {"choose": read_choose, "while": read_while, "until": read_until}
