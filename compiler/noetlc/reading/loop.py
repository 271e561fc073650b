"""A step's loop and the loops nested in it (LANGUAGE §5)."""

from noetl_ir.expr import Json, Literal
from noetl_ir.nearest import nearest
from noetlc.ast.playbook import Loop, Value
from noetlc.diag.diagnostic import Fix
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.loop_ends import check_ends, take_enough, take_rest
from noetlc.reading.loop_signals import check_signals, grows, take_close, take_complete, take_more, without_idle
from noetlc.reading.reader import Reader, Table, no_effect, take_all
from noetlc.reading.shapes import choice_of, is_empty, is_misspelt, mapping_of, missing, name_of
from noetlc.reading.specs import PolicyKeys, attempt_limit, lifetime, take_policy, take_spec
from noetlc.reading.values import read_count, read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, key_as, mapping_at


def read_loop(r: Reader, node: Node) -> Loop | None:
    """A loop level with the levels inside it; their depth is bounded by that of the document."""
    mapping = mapping_of(r, node, "`loop`")
    if mapping is None and is_empty(node):
        return None
    # A loop that is no mapping was told; an empty one keeps the step a loop, so that nothing else follows from it.
    mapping = mapping or mapping_at([], node.span)
    draft = LoopDraft()
    mapping = _renamed(r, mapping)
    take_all(r, "loop", r.tables.loop, draft, mapping)
    refused = any(key.text in r.legacy.get("loop", {}) for key, _ in mapping.entries)
    if not refused and not (draft.paged and draft.items is None) and isinstance(node, Mapping):
        _check_whole(r, draft, mapping)
    check_ends(r, draft)
    check_signals(r, draft)
    return Loop(
        draft.items or Value(Literal([]), mapping.span, None),  # told, and still a loop for all that looks at it
        draft.iterator,
        draft.iterator_span,
        draft.mode,
        draft.max_in_flight,
        draft.exec,
        draft.inner,
        mapping.span,
        tuple(draft.knobs),
        tuple(draft.extras),
        draft.lifecycle_timeout,
        draft.timeout,
        draft.enough,
        draft.rest,
        draft.rest_span,
        without_idle(draft),
    )


_MISNAMED = {
    "over": "in", "each": "in", "foreach": "in", "for": "in", "list": "in", "range": "in",
    "as": "iterator", "item": "iterator", "var": "iterator", "variable": "iterator", "name": "iterator",
}  # fmt: skip


def _renamed(r: Reader, mapping: Mapping) -> Mapping:
    """The loop with `in` and `iterator` for keys that were meant so: told at the key, and nothing else follows."""
    known, entries = r.tables.loop, []
    for key, value in mapping.entries:
        name = key.text
        if name in known or name in r.legacy.get("loop", {}) or name.startswith("x-"):
            entries.append((key, value))
            continue
        meant = _MISNAMED.get(name) or nearest(name, tuple(known))
        # Other slips are told with all unknown keys. These two are read on, since each use of the iterator would be
        # unknown.
        if meant in ("in", "iterator") and mapping.key(meant) is None:
            fix = Fix(key.span, meant, f"write `{meant}`", safe=False)
            r.report("NL101", f"unknown key `{name}` in `loop`", key.span, help=f"did you mean `{meant}`?", fix=fix)
            key = key_as(key, meant)
        entries.append((key, value))
    return mapping_at(entries, mapping.span) if r.findings else mapping


def _check_whole(r: Reader, draft: LoopDraft, mapping: Mapping) -> None:
    known, spec = r.tables.loop, mapping.get("spec")
    # A `more` that could not be read was meant to bring the items, too.
    brings = grows(draft) or (isinstance(spec, Mapping) and spec.get("more") is not None)
    if draft.items is None and mapping.get("in") is None and not brings and not is_misspelt(mapping, "in", known):
        missing(r, "the loop's `in`", mapping.span, help='write `in: "{{ … }}"`, an expression that gives a list')
    if not draft.iterator and mapping.get("iterator") is None and not is_misspelt(mapping, "iterator", known):
        missing(r, "the loop's `iterator`", mapping.span, help="name the current item, as in `iterator: item`")


def _in(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    value = read_value(r, node)
    template = value.template
    # A list that is written out is a literal, and has items.
    # Text with braces that could not be read is told as that.
    unread = isinstance(node, Scalar) and "{{" in node.text
    if isinstance(node, Sequence | Mapping) or not isinstance(template, Literal) or unread:
        draft.items = value
        return
    r.report(
        "NL310",
        f"`in`: {_kind_of(template.value)} is nothing to loop over",
        node.span,
        help='give a list, a mapping, or one expression: `in: "{{ … }}"`',
    )


def _kind_of(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}"
        case _:
            return "text"


def _iterator(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    name = name_of(r, node, "`iterator`")
    draft.iterator_span = node.span
    if name is None:
        return
    # Narrower than other names: an iterator is read bare in expressions, where `a-b` is a subtraction.
    if not name.isidentifier():
        r.report(
            "NL120",
            f"the iterator `{name}` must be usable as a name in expressions",
            node.span,
            help="use letters, digits and `_`",
        )
        return
    draft.iterator = name


def _inner(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    draft.inner = read_loop(r, node)


def _spec(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`loop.spec`")
    if mapping is not None:
        take_spec(r, "loop_spec", r.tables.loop_spec, draft, draft.knobs, mapping)


def _policy(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`loop.spec.policy`")
    if mapping is not None:
        take_policy(r, "loop_policy", r.tables.loop_policy, draft, mapping)


def _mode(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and node.text in ("async", "cursor"):
        r.respelt(node.span, f"`mode: {node.text}`", "`mode: parallel`")
        draft.mode = "parallel"
        return
    draft.mode = choice_of(r, node, "`mode`", ("sequential", "parallel")) or "sequential"


def _max_in_flight(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    message = "`max_in_flight` must be a whole number of at least 1"
    value = read_count(r, node, "NL505", "max_in_flight", message)
    if value is not None:
        draft.max_in_flight = value


def _exec(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    draft.exec = choice_of(r, node, "`exec`", ("distributed", "local")) or "distributed"


KEYS: Table[LoopDraft] = {"in": _in, "iterator": _iterator, "spec": _spec, "loop": _inner}
SPEC_KEYS: Table[LoopDraft] = {
    "mode": _mode,
    "max_in_flight": _max_in_flight,
    "timeout": attempt_limit,
    "more": take_more,
    "close": take_close,
    "complete": take_complete,
    "policy": _policy,
    "reducers": no_effect,
    "backpressure": no_effect,
    "partitioning": no_effect,
    "ordering": no_effect,
}
POLICY_KEYS: Table[LoopDraft] = {
    "exec": _exec,
    "lifecycle": PolicyKeys("lifecycle", {"timeout_s": lifetime("an iteration")}),
    "enough": take_enough,
    "rest": take_rest,
    "mode": _mode,
    "max_in_flight": _max_in_flight,
    "reducers": no_effect,
    "backpressure": no_effect,
    "partitioning": no_effect,
    "ordering": no_effect,
    "results": no_effect,  # results keep the order of the items in any case
}
