"""Loops of older dialects: other names of keys, what is done to the items.

lower_loop: what older loops do to their items becomes part of `in`, and a first task (LANGUAGE §6).

loop: {in: xs, iterator: x, order_by: n, limit: 3, batch_size: 2}   →  in: ((xs | sort(attribute='n'))[:3]) | batch(2)
loop: {in: xs, iterator: x, where: g}                               →  __s__where: break unless g, in each iteration
loop: {…, on_error: continue}                                       →  failure.mode: best_effort
loop: {pagination: p}                                               →  no loop; the step repeats its task for pages
"""

from collections.abc import Set

from noetl_ir.expr import Block, Const, Expr, Filter, ListOf, Literal, Slice
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Loop, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import loops_of, replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import computed, expression_of, generated_name, noop
from noetlc.expr.shorthand import filtered
from noetlc.older.loose import read_loose_guard
from noetlc.older.page_nodes import Pages
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.loop import KEYS, SPEC_KEYS
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import choice_of, is_empty
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar


class Slicing(Sugar):
    """`order_by`, `limit`, `chunk` or `batch_size` of a loop; `value` is how many, or by what."""

    word: str
    value: Value
    span: Span


class Where(Sugar):
    """`where` or `filter`: an item for which it is false is left out."""

    when: Guard
    span: Span


class LoopOnError(Sugar):
    """`on_error` of a loop."""

    mode: str
    span: Span


def take_collection(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`collection`: `in`."""
    r.respelt(key.span, f"`{key.text}`", "`in`")
    KEYS["in"](r, draft, key, node)


def take_element(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`element`: `iterator`."""
    r.respelt(key.span, f"`{key.text}`", "`iterator`")
    KEYS["iterator"](r, draft, key, node)


def take_mode(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`mode` of the loop itself, and `async` for `parallel`."""
    r.respelt(key.span, "`loop.mode`", "`loop.spec.mode`")
    mode = choice_of(r, node, "`mode`", ("sequential", "parallel", "async", "cursor"))
    draft.mode = "sequential" if mode in (None, "sequential") else "parallel"


def take_in_flight(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`max_in_flight` of the loop itself, and `concurrency`."""
    r.respelt(key.span, f"`loop.{key.text}`", "`loop.spec.max_in_flight`")
    SPEC_KEYS["max_in_flight"](r, draft, key, node)


def take_policy(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`policy` of the loop itself."""
    r.respelt(key.span, "`loop.policy`", "`loop.spec.policy`")
    SPEC_KEYS["policy"](r, draft, key, node)


def take_slicing(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`order_by`, `limit`, `chunk`, `batch_size`."""
    r.legacy_seen = True
    if not is_empty(node):
        draft.extras.append(Slicing(key.text, read_value(r, node), key.span))


def take_where(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`where` or `filter`; an empty one means none."""
    r.legacy_seen = True
    if is_empty(node) or (isinstance(node, Scalar) and node.text.strip() in ("", "{{}}", "{{ }}")):
        r.respelt(key.span, f"an empty `{key.text}`", "no filter: no item is left out")
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


def take_nothing(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """Hints that ask for nothing: `enumerate` (`loop_index` always is there), `distribution`."""
    del draft
    if key.text == "enumerate":
        r.respelt(key.span, "`loop.enumerate`", "nothing: `loop_index` is there without it", "safe")
        return
    said = "nothing: any free worker takes the next item"
    r.respelt(key.span, f"`loop.{key.text}`", said, "safe" if is_empty(node) else "review")


BY = "lower_loop"

_ORDER = ("order_by", "limit", "chunk", "batch_size")
"""In which order they are applied."""


def lower_loop(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook with canonical loops."""
    written = [(key, value.template) for key, value in playbook.workload]
    lists = {key for key, template in written if isinstance(template, Literal) and isinstance(template.value, list)}
    return replace_steps(playbook, lambda step: _lowered(step, lists, record))


def _lowered(step: Step, lists: Set[str], record: RecordChange) -> Step:
    if step.loop is None:
        return step
    first: list[Task] = []
    mode = step.spec.failure_mode
    pages = tuple(extra for extra in step.loop.extras if isinstance(extra, Pages))
    if pages:
        return _lowered(_paged(step, step.loop, pages), lists, record)
    for number, loop in enumerate(loops_of(step)):
        for extra in loop.extras:
            if isinstance(extra, Where):
                record(Change(BY, extra.span, "`where`", "safe", "a first task that ends the iteration"))
                first.append(_asking(step, "where" if not number else f"where{number}", extra))
            elif isinstance(extra, LoopOnError):
                record(Change(BY, extra.span, "`on_error` of a loop", "exact", "`failure.mode`"))
                mode = "fail_fast" if extra.mode == "fail" else "best_effort"
    spec = step.spec if mode == step.spec.failure_mode else step.spec._replace(failure_mode=mode)
    return step._replace(loop=_with_items(step.loop, lists, record), spec=spec, tasks=(*first, *step.tasks))


def _paged(step: Step, loop: Loop, pages: tuple[Pages, ...]) -> Step:
    """The step whose task repeats for pages; a loop that was nothing else is none."""
    inner = tuple(extra for extra in loop.extras if not isinstance(extra, Pages))
    return step._replace(extras=(*step.extras, *pages), loop=loop._replace(extras=inner) if loop.iterator else None)


def _asking(step: Step, word: str, where: Where) -> Task:
    rules = (Rule(where.when, "continue", where.span), Rule(None, "break", where.span))
    return noop(generated_name(step.name, word), where.span, rules)


def _with_items(loop: Loop, lists: Set[str], record: RecordChange) -> Loop:
    """The loop and those inside of it, with what is done to their items in `in`."""
    slices = sorted((e for e in loop.extras if isinstance(e, Slicing)), key=lambda e: _ORDER.index(e.word))
    items = loop.items
    after = any(isinstance(extra, Where) for extra in loop.extras)
    for slicing in slices if not isinstance(items.template, Block) else ():  # told where it is checked
        # Which items `where` leaves out is known only in their iterations, and the list is cut before them: they
        # count, which a person is to know.
        first = after and slicing.word != "order_by"
        said = "a part of the loop's `in`" + (": what `where` leaves out counts too" if first else "")
        record(Change(BY, slicing.span, f"`{slicing.word}`", "review" if first else "exact", said))
        whole = expression_of(items.template)
        is_list = isinstance(whole, ListOf | Slice | Filter) or _is_declared(whole, lists)
        if slicing.word != "limit" and not is_list:
            # A slice of a mapping is an error; a filter would take its keys for the items.
            whole = Slice(whole, None, None, None)
        items = computed(_sliced(whole, slicing), items.span)
    gone = (Slicing, Where, LoopOnError)
    extras = tuple(extra for extra in loop.extras if not isinstance(extra, gone))
    inner = None if loop.inner is None else _with_items(loop.inner, lists, record)
    return loop._replace(items=items, extras=extras, inner=inner)


def _is_declared(items: Expr, lists: Set[str]) -> bool:
    """Whether it is a value of the workload that is declared as a list."""
    here = static_path(items)
    return (here[1:] if here[:1] == ("workload",) else here) in [(name,) for name in lists]


def _sliced(items: Expr, slicing: Slicing) -> Expr:
    amount = expression_of(slicing.value.template)
    match slicing.word:
        case "order_by":
            name, down = _key(slicing.value)
            named = ((("reverse", Const(True)),) if down else ()) + ((("attribute", Const(name)),) if name else ())
            return Filter(items, "sort", (), named)
        case "limit":
            return Slice(items, None, amount, None)
        case _:
            return filtered(filtered(items, "batch", amount), "list")


def _key(value: Value) -> tuple[str, bool]:
    """The attribute to sort by, "" for the item itself, and whether downwards: `-n`, `n desc`."""
    text = str(value.template.value) if isinstance(value.template, Literal) else ""
    down = text.startswith("-") or text.lower().endswith(" desc")
    return text.removeprefix("-").split(" ")[0], down
