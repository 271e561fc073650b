"""Loops of older dialects: keys of the loop itself, other names, and what is done to the items."""

from noetlc.older.loop_nodes import EndLoop, LoopOnError, Slicing, Where
from noetlc.older.loose import read_loose_guard
from noetlc.reading import loop
from noetlc.reading.drafts import LoopDraft, StepDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import choice_of, is_empty, reference_of
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar


def take_collection(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`collection`: `in`."""
    r.respelt(key.span, f"`{key.text}`", "`in`")
    loop.KEYS["in"](r, draft, key, node)


def take_element(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`element`: `iterator`."""
    r.respelt(key.span, f"`{key.text}`", "`iterator`")
    loop.KEYS["iterator"](r, draft, key, node)


def take_mode(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`mode` of the loop itself, and `async` for `parallel`."""
    r.respelt(key.span, "`loop.mode`", "`loop.spec.mode`")
    mode = choice_of(r, node, "`mode`", ("sequential", "parallel", "async", "cursor"))
    draft.mode = "sequential" if mode in (None, "sequential") else "parallel"


def take_in_flight(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`max_in_flight` of the loop itself, and `concurrency`."""
    r.respelt(key.span, f"`loop.{key.text}`", "`loop.spec.max_in_flight`")
    loop.SPEC_KEYS["max_in_flight"](r, draft, key, node)


def take_policy(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`policy` of the loop itself."""
    r.respelt(key.span, "`loop.policy`", "`loop.spec.policy`")
    loop.SPEC_KEYS["policy"](r, draft, key, node)


def take_slicing(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`order_by`, `limit`, `chunk`, `batch_size`."""
    r.legacy_seen = True
    if not is_empty(node):
        draft.extras.append(Slicing(key.text, read_value(r, node), key.span))


def take_where(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`where` or `filter`; an empty one means none."""
    r.legacy_seen = True
    if is_empty(node) or (isinstance(node, Scalar) and node.text.strip() in ("", "{{}}", "{{ }}")):
        return
    guard = read_loose_guard(r, node, f"`{key.text}`")
    if guard is not None:
        draft.extras.append(Where(guard, key.span))


def take_on_error(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`on_error` of a loop."""
    r.legacy_seen = True
    mode = choice_of(r, node, "`on_error`", ("fail", "continue", "ignore"))
    if mode is not None:
        draft.extras.append(LoopOnError(mode, key.span))


def take_end_loop(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`end_loop` of a step: the loop whose body ends before it."""
    r.legacy_seen = True
    name = reference_of(r, node, "the step with the loop")
    if name is not None:
        draft.extras.append(EndLoop(name, key.span))


def take_nothing(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """Hints that ask for nothing: `enumerate` (`loop_index` always is there), `distribution`."""
    del draft, node
    r.respelt(key.span, f"`loop.{key.text}`", "nothing")


LOOP_KEYS = {
    "collection": take_collection,
    "items": take_collection,
    "element": take_element,
    "mode": take_mode,
    "max_in_flight": take_in_flight,
    "concurrency": take_in_flight,
    "policy": take_policy,
    "where": take_where,
    "filter": take_where,
    "order_by": take_slicing,
    "limit": take_slicing,
    "chunk": take_slicing,
    "batch_size": take_slicing,
    "on_error": take_on_error,
    "enumerate": take_nothing,
    "distribution": take_nothing,
}
"""Keys of a loop."""

SPEC_KEYS = {
    "batch_size": take_slicing,
    "chunk": take_slicing,
    "limit": take_slicing,
    "order_by": take_slicing,
    "on_error": take_on_error,
}
"""Keys of `loop.spec`."""
