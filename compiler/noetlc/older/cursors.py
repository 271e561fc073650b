"""`loop.cursor` and `loop.spec.frame`: rows that workers claim (D11).

lower_cursor: `loop.cursor` becomes workers that claim rows until there are none (LANGUAGE §6, D11).

    loop: {cursor: {kind: postgres, claim: SQL}, iterator: row, spec: {max_in_flight: 8}}, tool: [work]
        →  loop: {in: range(8), iterator: __worker, mode: parallel}
           __s__claim   kind: postgres, command: SQL; break when no row came, else iter.row = the row
           work         an error counts in iter.__failed and leads on
           __s__next    jump to __s__claim

With a frame a claim takes several rows: `process: frame` gives them all to one pass, `row` one after the other.
"""

from noetl_ir.expr import Binary, Call, Const, Expr, Item, ListOf, Name, Slice
from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Loop, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import loops_of, replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.counting import whole
from noetlc.expr.generated import computed, generated_name, guard, jump, noop
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, filtered, negated, otherwise, path
from noetlc.expr.templates import pairs_with, task_with
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.field import read_field
from noetlc.reading.kinds import kind_of
from noetlc.reading.reader import Reader, stray_key, stray_keys
from noetlc.reading.shapes import choice_of, mapping_of, missing, text_of
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar


class Cursor(Sugar):
    """`loop.cursor`: rows that workers claim, one or a frame at a time, until none is left (D11)."""

    kind: str
    fields: tuple[tuple[str, Value], ...]
    span: Span


class Frame(Sugar):
    """`loop.spec.frame`: how many rows a claim takes, and whether a pass of the tasks has one row or the frame."""

    max_rows: Value | None
    process: str
    span: Span


_FRAME = ("max_rows", "process", "max_seconds", "max_bytes", "lease_seconds", "heartbeat_seconds", "row_concurrency")


def take_cursor(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`cursor: {kind, auth, claim}`: the fields are those of the kind, `claim` is its command."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, "`cursor`")
    if mapping is None:
        return
    word = mapping.get("kind")
    name = text_of(r, word, "`kind`") if word is not None else None
    kind = kind_of(name) if name is not None else None
    if name is None or kind is None or mapping.get("claim") is None:
        missing(r, "the `kind` or `claim` of the cursor", key.span, help="write `cursor: {kind: postgres, claim: SQL}`")
        return
    fields = []
    for entry, value in mapping.entries:
        field = "command" if entry.text == "claim" else entry.text
        if field in kind.fields:
            fields.append((field, read_field(r, kind.fields[field], field, value)))
        elif field not in ("kind", "options"):
            stray_key(r, "loop", entry, ("kind", "claim", "options", *kind.fields))
    # A loop must have items to be read as one. The empty list is a placeholder, and `lower_cursor` puts the workers
    # in its place.
    draft.items = computed(ListOf(()), key.span)
    draft.extras.append(Cursor(name, tuple(fields), key.span))


def take_frame(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`frame: {max_rows, process}`; leases are the workers' affair."""
    mapping = mapping_of(r, node, "`frame`")
    if mapping is None:
        return
    stray_keys(r, "loop_spec", mapping, _FRAME)
    rows, process = mapping.get("max_rows"), mapping.get("process")
    how = choice_of(r, process, "`process`", ("row", "frame")) if process is not None else None
    draft.extras.append(Frame(read_value(r, rows) if rows is not None else None, how or "row", key.span))


BY = "lower_cursor"

WORKER, ROWS, FAILED = "__worker", "__rows", "__failed"


def lower_cursor(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without cursors."""
    return replace_steps(playbook, lambda step: _lowered(step, record))


def _lowered(step: Step, record: RecordChange) -> Step:
    loop = step.loop
    if loop is None:
        return step
    cursor = next((extra for extra in loop.extras if isinstance(extra, Cursor)), None)
    frame = next((extra for extra in loop.extras if isinstance(extra, Frame)), None)
    inner = [extra for level in loops_of(step)[1:] for extra in level.extras if isinstance(extra, Cursor)]
    if (cursor is not None and loop.inner is not None) or inner:
        at = cursor.span if cursor is not None else inner[0].span
        # Workers claim until there is nothing left: beside another level, the first of its items would take all rows,
        # and the others none.
        why = "a cursor is the only level of its loop: make a step of what is done with each row"
        record(Change(BY, at, "`loop.cursor` beside another level", "refused", why))
        return step._replace(loop=_without_cursors(loop))
    if cursor is None:
        return step._replace(loop=_without_cursors(loop))
    # The leases and heartbeats of a frame have no counterpart here: the class asks a person to look at the claim.
    record(Change(BY, cursor.span, "`loop.cursor`", "review", "workers that claim rows until there are none"))
    return step._replace(loop=_workers(loop, cursor.span), tasks=_claiming(step, loop, cursor, frame))


def _without_cursors(loop: Loop) -> Loop:
    inner = None if loop.inner is None else _without_cursors(loop.inner)
    rest = tuple(extra for extra in loop.extras if not isinstance(extra, Cursor | Frame))
    return loop if inner is loop.inner and rest == loop.extras else loop._replace(inner=inner, extras=rest)


def _workers(loop: Loop, span: Span) -> Loop:
    # The number of iterations is that of workers, each of which goes round by a jump to its claim. It is not the
    # number of rows, which nobody knows before.
    count: Expr = Const(1) if loop.max_in_flight is None else whole(loop.max_in_flight)
    items = filtered(_range(count), "list")
    return loop._replace(
        items=computed(items, span), iterator=WORKER, mode="parallel", max_in_flight=loop.max_in_flight, extras=()
    )


def _range(count: Expr) -> Expr:
    return Call(Name("range"), (count,), ())


def _claiming(step: Step, loop: Loop, cursor: Cursor, frame: Frame | None) -> Tasks:
    span, name, row = cursor.span, step.name, loop.iterator
    claim, again = generated_name(name, "claim"), generated_name(name, "next")
    by_row = frame is not None and frame.process == "row"
    rows = path("outcome", "result", "rows")
    rest = path("iter", ROWS)
    # Under `process: frame` the iterator is the list of claimed rows, also where there is one; else it is a single
    # row.
    first: Expr = rows if frame is not None and not by_row else Item(rows, Const(0))
    patch = [(row, computed(first, span))]
    if by_row:
        patch.append((ROWS, computed(Slice(rows, Const(1), None, None), span)))
    # An empty list of rows is false: the claim found nothing, which ends this worker. A claim that fails must not
    # look like that, or a broken database would end as a success.
    got = guard(both(OUTCOME_OK, rows), span)
    rules = (
        Rule(guard(both(OUTCOME_OK, negated(rows)), span), "break", span),
        Rule(got, "continue", span, set_iter=tuple(patch)),
        Rule(None, "fail", span),
    )
    fields = pairs_with(cursor.fields, _frame_rows(frame))
    taking = Task(claim, span, cursor.kind, span, span, "", fields, None, (), None, rules, False, True)
    work = tuple(_counted(task_with(task, _row(row)), again) for task in step.tasks)
    onward: tuple[Rule, ...] = (jump(claim, span),)
    if by_row:
        left = guard(rest, span)
        others = computed(Slice(rest, Const(1), None, None), span)
        following = ((row, computed(Item(rest, Const(0)), span)), (ROWS, others))
        onward = (jump(work[0].name, span, when=left, set_iter=following), *onward)
    return (taking, *work, noop(again, span, onward))


def _frame_rows(frame: Frame | None) -> Replace:
    """`__frame_max_rows` in the claim is the frame's size."""
    size = Const(1) if frame is None or frame.max_rows is None else whole(frame.max_rows)
    return lambda expr: size if isinstance(expr, Name) and expr.name == "__frame_max_rows" else None


def _row(row: str) -> Replace:
    """The bare iterator is what the worker claimed."""
    return lambda expr: path("iter", row) if isinstance(expr, Name) and expr.name == row else None


def _counted(task: Task, again: str) -> Task:
    """A failing row is counted, and the worker goes on with the next."""
    span = task.span
    count = Binary("+", otherwise(path("iter", FAILED), Const(0)), Const(1))
    counted = ((FAILED, computed(count, span)),)
    failing = jump(again, span, when=guard(OUTCOME_ERROR, span), set_iter=counted)
    if not task.rules:
        return task._replace(rules=(failing, Rule(None, "continue", span)))

    def onward(rule: Rule) -> Rule:
        if rule.directive not in ("fail", "break"):
            return rule
        patch = (*rule.set_iter, *counted) if rule.directive == "fail" else rule.set_iter
        return jump(again, rule.span, when=rule.when, set_iter=patch)._replace(set_ctx=rule.set_ctx)

    return task._replace(rules=tuple(onward(rule) for rule in task.rules))
