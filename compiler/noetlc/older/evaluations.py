"""`eval`, `expr`, `pipe` and `catch` (D6, D7): rules and task lists in their first spelling."""

from noetlc.reading.drafts import TaskDraft
from noetlc.reading.policy import read_policy
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import sequence_of
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, key_as, mapping_at, sequence_at


def take_eval(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """`eval: [{expr, do, …}, {else: {do, …}}]`: the rules of the task's policy."""
    listed = sequence_of(r, node, "`eval`", "rules")
    if listed is None:
        return
    r.respelt(key.span, "`eval`", "the rules of `spec.policy`")
    rules = sequence_at([_rule(item) for item in listed.items], listed.span)
    read_policy(r, draft, mapping_at([(key_as(key, "rules"), rules)], key.span))


def _rule(node: Node) -> Node:
    """`{expr, do, …}` as `{when, then: {do, …}}`; anything else as it is."""
    if not isinstance(node, Mapping):
        return node
    condition = node.key("expr") or node.key("cond") or node.key("when")
    if condition is None or node.get("then") is not None:
        return node
    value = node.get(condition.text)
    assert value is not None
    then = mapping_at([(k, v) for k, v in node.entries if k is not condition], node.span)
    return mapping_at([(key_as(condition, "when"), value), (key_as(condition, "then"), then)], node.span)


def piped(r: Reader, key: Scalar, node: Node) -> tuple[Node, ...]:
    """The tasks of `pipe`; the rules of its `catch`, in it or beside it, stand in each of them, as `eval`."""
    r.respelt(key.span, "`pipe`", "a list of tasks")
    catch: Node | None = None
    if isinstance(node, Mapping) and (inner := node.get("pipe")) is not None:
        for other, _ in node.entries:
            if other.text not in ("pipe", "catch"):
                stray_key(r, "case", other, ("pipe", "catch"))
        catch, node = node.get("catch"), inner
    tasks: Node | None = node
    if isinstance(node, Mapping):
        tasks, catch = node.get("steps") or node.get("tasks"), catch or node.get("catch")
    listed = sequence_of(r, node if tasks is None else tasks, "`pipe`", "tasks")
    cond = catch.get("cond") if isinstance(catch, Mapping) else catch
    caught = None if cond is None else sequence_of(r, cond, "`catch`", "rules")
    return tuple(_catching(item, key, caught) for item in listed.items) if listed is not None else ()


def _catching(node: Node, at: Scalar, caught: Sequence | None) -> Node:
    if caught is None or not isinstance(node, Mapping):
        return node
    if node.get("kind") is None and len(node.entries) == 1 and isinstance(node.entries[0][1], Mapping):
        label, inner = node.entries[0]
        return mapping_at([(label, _catching(inner, at, caught))], node.span)
    return mapping_at([*node.entries, (key_as(at, "eval"), caught)], node.span)
