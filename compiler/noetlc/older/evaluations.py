"""`eval` and `expr` (D6, D7): rules of a task in their first spelling."""

from noetlc.reading.drafts import TaskDraft
from noetlc.reading.policy import read_policy
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import sequence_of
from noetlc.source.nodes import Mapping, Node, Scalar, key_as, mapping_at, sequence_at


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
