"""Assignments of steps and tasks in older dialects: `vars`, `set_ctx`, `set_iter`, `set`, `result`."""

from noetlc.older.state_nodes import ArcSet, Assign, Pairs, Result, RootVars, StepArgs, StepSet
from noetlc.reading.drafts import ArcDraft, DocumentDraft, StepDraft, TaskDraft, ThenDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import is_empty
from noetlc.reading.values import read_pairs, read_value
from noetlc.source.nodes import Mapping, Node, Scalar


def take_vars(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`vars` and `set_ctx`: keys of `ctx`."""
    r.legacy_seen = True
    draft.extras.append(Assign(f"`{key.text}`", tuple(read_pairs(r, node, f"`{key.text}`")), (), key.span))


def take_set_iter(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`set_iter` beside a task's kind."""
    r.legacy_seen = True
    draft.extras.append(Assign("`set_iter`", (), tuple(read_pairs(r, node, "`set_iter`")), key.span))


def take_step_set(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`set` of a step (D10)."""
    r.legacy_seen = True
    draft.extras.append(StepSet("`set`", *split_set(r, node), key.span))


def take_set(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """`set` (D10): `ctx.k`, `iter.k`; a bare key and `step.k` are keys of `ctx`."""
    r.legacy_seen = True
    ctx, scratch = split_set(r, node)
    draft.extras.append(Assign("`set`", ctx, scratch, key.span))


def split_set(r: Reader, node: Node) -> tuple[Pairs, Pairs]:
    """The pairs of `set` for `ctx` and for `iter`, by their prefix."""
    ctx, scratch = [], []
    for name, value in read_pairs(r, node, "`set`"):
        scope, dot, rest = name.partition(".")
        if dot and scope == "iter":
            scratch.append((rest, value))
        else:
            ctx.append((rest if dot and scope in ("ctx", "step") else name, value))
    return tuple(ctx), tuple(scratch)


def take_result(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`result: value`, or `{from: value}`."""
    if is_empty(node):
        return
    r.legacy_seen = True
    inner = node.get("from") if isinstance(node, Mapping) and len(node.entries) == 1 else None
    draft.extras.append(Result(read_value(r, inner or node), key.span))


def take_arc_set(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    """`set` of an arc (D10)."""
    r.legacy_seen = True
    ctx, scratch = split_set(r, node)
    draft.extras.append(ArcSet((*ctx, *scratch), key.span))


def take_rule_set(r: Reader, draft: ThenDraft, key: Scalar, node: Node) -> None:
    """`set` of a rule (D10): `set_ctx` and `set_iter`."""
    r.respelt(key.span, "`set`", "`set_ctx` and `set_iter`")
    ctx, scratch = split_set(r, node)
    draft.set_ctx += ctx
    draft.set_iter += scratch


def take_step_args(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`args` or `input` of a step."""
    r.legacy_seen = True
    draft.extras.append(StepArgs(f"`{key.text}`", tuple(read_pairs(r, node, f"`{key.text}`")), key.span))


def take_root_vars(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """Root `vars` and `ctx`."""
    r.legacy_seen = True
    draft.extras.append(RootVars(f"`{key.text}`", tuple(read_pairs(r, node, f"`{key.text}`")), key.span))


def take_root_hint(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """Root `tracing` and `assert`: nothing."""
    del draft, node
    r.respelt(key.span, f"root `{key.text}`", "nothing")
