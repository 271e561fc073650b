"""`assert` of a step, a task or an entry of the workbook: what it expects, and what its result has (REAL.md, flow)."""

from noetlc.ast.sugar import Declared, DeclaredName
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.reader import Reader, no_effect
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_LISTS = ("expects", "returns")


def take_assert(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`assert: {expects: [name, …], returns: [name, …]}`; anything else under it is noted."""
    if not isinstance(node, Mapping):
        no_effect(r, draft, key, node)
        return
    for inner, value in node.entries:
        if inner.text not in _LISTS:
            no_effect(r, draft, inner, value)
    expects, returns = _names(node.get("expects")), _names(node.get("returns"))
    draft.extras.append(Declared(expects, returns, key.span, node))


def _names(node: Node | None) -> tuple[DeclaredName, ...]:
    """The names of a list, or the keys of a mapping of names to what they are."""
    if isinstance(node, Mapping):
        return tuple(DeclaredName(key.text, key.span) for key, _ in node.entries)
    items = node.items if isinstance(node, Sequence) else () if node is None else (node,)
    return tuple(DeclaredName(item.text, item.span) for item in items if isinstance(item, Scalar) and item.text)
