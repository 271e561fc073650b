"""Tools of the first dialects: `type:` and `tool: <kind>` with the tool's fields beside them, `call`, and a tool
inside of a task, `{name, tool: {…}}`.

All of them are read as the one mapping `{kind: …, fields}` that they stand for; every node in it keeps its place.
"""

from noetlc.reading.data_names import with_names
from noetlc.reading.reader import Reader, no_effect
from noetlc.source.nodes import Mapping, Node, Scalar, key_as, mapping_at, scalar_at

STEP_KEYS = frozenset({
    "step", "desc", "spec", "next", "loop", "case", "vars", "when", "pass", "save", "sink", "retry", "result", "set",
    "set_ctx", "set_iter", "assert", "on_error", "poll", "case_mode", "eval_mode", "branch_order", "next_policy",
    "end_loop", "output",
})  # fmt: skip
"""What stays a key of a step whose tool is a word."""

_OTHER_NAMES = {"playbooks": "playbook", "end": "noop", "router": "noop", "http_request": "http"}

_CALLS = ("playbook", "playbooks")


def has_word_tool(node: Mapping) -> bool:
    """Whether the tool of a step or task is a word."""
    tool = node.get("tool")
    return node.get("type") is not None or (isinstance(tool, Scalar) and isinstance(tool.value, str))


def tool_of_words(r: Reader, node: Mapping) -> tuple[Mapping, list[tuple[Scalar, Node]]]:
    """The tool that the keys of a step make, and the keys that stay the step's."""
    key, kind = _kind_of(r, node)
    own = [entry for entry in node.entries if entry[0].text in STEP_KEYS]
    rest = [entry for entry in node.entries if entry[0].text not in STEP_KEYS and entry[0] is not key]
    if isinstance(kind, Scalar) and kind.text == "http":
        rest = with_names(r, node, rest)
    return mapping_at([(key_as(key, "kind"), kind), *rest], node.span), own


def sink_of_words(r: Reader, node: Mapping) -> tuple[Scalar, Mapping] | None:
    """The fields that a step of the type `save` stores, and the key that says so; None for other steps."""
    word = "type" if node.get("type") is not None else "tool"
    key, kind = node.key(word), node.get(word)
    if key is None or not isinstance(kind, Scalar) or kind.text != "save":
        return None
    r.respelt(key.span, f"`{word}: save`", "`save` of a step without a tool")
    rest = [entry for entry in node.entries if entry[0].text not in STEP_KEYS and entry[0] is not key]
    return key, mapping_at(rest, node.span)


def tool_of_call(r: Reader, key: Scalar, node: Node) -> Mapping | None:
    """`call: {task, with}` as a task of the workbook."""
    if not isinstance(node, Mapping):
        return None
    r.respelt(key.span, "`call`", "a `workbook` task")
    kind = scalar_at("workbook", "workbook", style="", span=key.span, source=(0, 0))
    return mapping_at([(key_as(key, "kind"), kind), *node.entries], node.span)


def unwrapped(r: Reader, node: Mapping) -> Mapping:
    """A task as one mapping with its kind: a tool inside of it is taken out, a word becomes the kind."""
    # Today's form, and the end of most calls.
    if node.get("kind") is not None:
        return node
    tool = node.get("tool")
    if isinstance(tool, Mapping):
        key = node.key("tool")
        assert key is not None
        r.respelt(key.span, "`tool` inside of a task", "the task's own fields")
        inner = as_reference(unwrapped(r, tool))  # beside it stands the task's own name
        outer = [entry for entry in node.entries if entry[0].text != "tool"]
        # A key outside wins over one of the inner tool: it is nearer to the task's own name.
        taken = {key.text for key, _ in outer}
        return mapping_at([*outer, *(entry for entry in inner.entries if entry[0].text not in taken)], node.span)
    if has_word_tool(node):
        key, kind = _kind_of(r, node)
        rest = [entry for entry in node.entries if entry[0] is not key]
        return mapping_at([(key_as(key, "kind"), kind), *rest], node.span)
    return node


_LIFTED = {
    "container": (
        "runtime",
        ("image",),
        frozenset(
            {
                "command",
                "arguments",
                "env",
                "resources",
                "namespace",
                "service_account",
                "backoff_limit",
                "restart_policy",
                "timeout_seconds",
            }
        ),
    ),
    **dict.fromkeys(
        ("postgres", "duckdb", "sqlite", "snowflake"),
        ("with", ("commands", "command", "query", "sql", "statement", "script"), frozenset({"database", "params"})),
    ),
}
"""Kind → the key under which older files have fields of it, one of which must be there, and which others may be."""
_CLUSTER = {
    "activeDeadlineSeconds": "timeout_seconds",
    "backoffLimit": "backoff_limit",
    "restartPolicy": "restart_policy",
    "serviceAccount": "service_account",
    "serviceAccountName": "service_account",
}
"""Words of Kubernetes → the fields of a container."""
_ENGINE = frozenset({"engine", "network", "pull"})
"""What a container has under `runtime` today."""
_WHOLE = frozenset({"with"})
"""Keys of args: with anything else under them, all of it is args."""


def lifted(r: Reader, node: Mapping) -> Mapping:
    """A task with the fields of its kind beside it that older files have one level deeper."""
    kind = node.get("kind")
    place, needed, others = _LIFTED.get(kind.text if isinstance(kind, Scalar) else "", ("", (), frozenset[str]()))
    inner, key = node.get(place), node.key(place)
    # Where the task has one of these fields itself, the mapping below is something else, as args.
    if key is None or not isinstance(inner, Mapping) or any(node.get(name) is not None for name in needed):
        return node
    if not any(inner.get(name) is not None for name in needed):
        return node
    # Beside fields of the task its own keys would be lost, as `network: none`.
    if place == "runtime" and any(entry[0].text in _ENGINE for entry in inner.entries):
        return node
    inside = _of_cluster(r, inner) if place == "runtime" else inner.entries
    up = [entry for entry in inside if entry[0].text in (*needed, *others)]
    if place in _WHOLE and len(up) < len(inside):
        return node
    r.respelt(key.span, f"fields of the task under `{place}`", "fields of the task")
    for name, value in inside:
        if name.text not in (*needed, *others):
            no_effect(r, None, name, value)
    taken = {name.text for name, _ in node.entries}
    outer = [entry for entry in node.entries if entry[0] is not key]
    return mapping_at([*outer, *(entry for entry in up if entry[0].text not in taken)], node.span)


def _of_cluster(r: Reader, inner: Mapping) -> list[tuple[Scalar, Node]]:
    """The fields of a container with their own names in the places of those of Kubernetes."""
    entries: list[tuple[Scalar, Node]] = []
    for name, value in inner.entries:
        own = _CLUSTER.get(name.text)
        if own is None or inner.get(own) is not None:
            entries.append((name, value))
            continue
        said = f"`{own}`"
        if own == "timeout_seconds":
            said += ", which bounds one attempt: the cluster bounded all of a job's"
        r.respelt(name.span, f"`{name.text}`", said, "safe")
        entries.append((key_as(name, own), value))
    return entries


def as_reference(node: Mapping) -> Mapping:
    """A lone `workbook` task names its entry by `name` or `task`."""
    kind = node.get("kind")
    # With both `name` and `task` the first is the task's own.
    if not isinstance(kind, Scalar) or kind.text != "workbook" or node.get("task") is not None:
        return node
    entries = [(key_as(key, "task") if key.text == "name" else key, value) for key, value in node.entries]
    return mapping_at(entries, node.span)


def _kind_of(r: Reader, node: Mapping) -> tuple[Scalar, Node]:
    """The key that names the kind, and the kind under the name it has today."""
    word = "type" if node.get("type") is not None else "tool"
    key, kind = node.key(word), node.get(word)
    assert key is not None and kind is not None
    if (
        isinstance(kind, Scalar)
        and kind.text in _CALLS
        # Old engines did not wait for a child unless it was asked for; the reading here is told for review.
        and node.get("return_step") is None
        and node.get("wait") is None
    ):
        said = "`kind`: it waits for the child, where old engines went on when no `return_step` was asked for"
        r.respelt(key.span, f"`{word}: <kind>`", said, "review")
    else:
        r.respelt(key.span, f"`{word}: <kind>`", "`kind`")
    if isinstance(kind, Scalar) and kind.text in _OTHER_NAMES:
        name = _OTHER_NAMES[kind.text]
        kind = scalar_at(name, name, style="", span=kind.span, source=(0, 0))
    return key, kind


def named_entry(r: Reader, node: Node) -> Node:
    """An entry of the workbook; the first files name it by `task`, as the steps do that call it."""
    key = node.key("task") if isinstance(node, Mapping) else None
    # A `workbook` task has a `task` of its own, which names the entry that it calls.
    if key is None or not isinstance(node, Mapping) or node.get("name") is not None or not _has_kind(node):
        return node
    r.respelt(key.span, "`task` of an entry of the workbook", "its `name`")
    return mapping_at([(key_as(key, "name") if at is key else at, value) for at, value in node.entries], node.span)


def _has_kind(node: Mapping) -> bool:
    """Whether a mapping has the kind of its tool, which is none that has a `task` itself."""
    inner = node.get("tool")
    kinds = (node.get("kind"), node.get("type"), inner, inner.get("kind") if isinstance(inner, Mapping) else None)
    named = [kind.text for kind in kinds if isinstance(kind, Scalar)]
    return bool(named) and "workbook" not in named
