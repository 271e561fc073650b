"""The pairs of `set`, `set_vars` and their like: which name gets which value, in `ctx` or in `iter`."""

from noetlc.ast.playbook import Pairs
from noetlc.reading.reader import Reader
from noetlc.reading.values import read_pairs
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, key_as, mapping_at


def split_set(r: Reader, node: Node, word: str = "set") -> tuple[Pairs, Pairs]:
    """The pairs of `set` for `ctx` and for `iter`, by their prefix, or by the scope that a mapping of names stands
    under; `[{name, value}]` and one key an entry, too.
    """
    ctx, scratch = [], []
    for name, value in read_pairs(r, _prefixed(_unlisted(r, node, word), word), f"`{word}`"):
        scope, dot, rest = name.partition(".")
        if dot and scope == "iter":
            scratch.append((rest, value))
        else:
            ctx.append((rest if dot and scope in ("ctx", "vars", "step") else name, value))
    return tuple(ctx), tuple(scratch)


def _prefixed(node: Node, word: str) -> Node:
    """`{ctx: {a: …}}` as `{ctx.a: …}`: a scope with a mapping below it is where these names are set, no name."""
    if not isinstance(node, Mapping):
        return node
    entries: list[tuple[Scalar, Node]] = []
    for key, value in node.entries:
        if isinstance(value, Mapping) and key.text in _SCOPES and key.text != word:
            entries += [(key_as(name, f"{key.text}.{name.text}"), below) for name, below in value.entries]
        else:
            entries.append((key, value))
    return mapping_at(entries, node.span)


_SCOPES = ("ctx", "iter", "vars")


def _unlisted(r: Reader, node: Node, word: str) -> Node:
    """The mapping that a list of assignments says; the list itself where an entry is none."""
    if not isinstance(node, Sequence):
        return node
    entries: list[tuple[Scalar, Node]] = []
    for item in node.items:
        if not isinstance(item, Mapping):
            return node
        name, value = item.get("name"), item.get("value")
        if isinstance(name, Scalar) and value is not None and len(item.entries) == 2:
            entries.append((name, value))
        else:
            entries += item.entries
    r.respelt(node.span, f"`{word}` as a list", "a mapping")
    return mapping_at(entries, node.span)
