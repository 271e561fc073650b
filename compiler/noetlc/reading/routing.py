"""A step's router and its arcs (v10 §5.5)."""

from noetl_ir.expr import Literal
from noetlc.ast.playbook import Arc, Router
from noetlc.reading.drafts import ArcDraft, RouterDraft
from noetlc.reading.reader import Reader, Table, no_effect, take_all
from noetlc.reading.shapes import choice_of, is_misspelt, mapping_of, missing, reference_of, sequence_of, whole_of
from noetlc.reading.specs import take_policy
from noetlc.reading.values import read_args, read_duration, read_guard
from noetlc.source.nodes import Mapping, Node, Scalar


def read_router(r: Reader, node: Node) -> Router | None:
    """The router `{spec, arcs}` of a step; None where there is none."""
    mapping = mapping_of(r, node, "`next`")
    if mapping is None:
        return None
    draft = RouterDraft()
    take_all(r, "next", r.tables.next, draft, mapping)
    if draft.arcs is None:
        # Each line excludes what was told already: an older key, arcs that could not be read, a slip, a dash without
        # its space.
        if (
            not any(key.text in r.legacy.get("next", {}) for key, _ in mapping.entries)
            and mapping.key("arcs") is None
            and not is_misspelt(mapping, "arcs", r.tables.next)
            and not any(key.text.startswith("-") for key, _ in mapping.entries)
        ):
            missing(r, "`arcs` of the router", mapping.span, help="leave `next` out where the step is a leaf")
        return None
    return Router(draft.mode, tuple(draft.arcs), mapping.span)


def _arcs(r: Reader, draft: RouterDraft, key: Scalar, node: Node) -> None:
    listed = sequence_of(r, node, "`arcs`", "arcs")
    if listed is None:
        return
    if not listed.items:
        r.report(
            "NL607",
            "`arcs` is empty: the step is a leaf and its token ends there",
            key.span,
            help="leave `next` out",
        )
    found = [_arc(r, item) for item in listed.items]
    draft.arcs = [arc for arc in found if arc is not None]


def _arc(r: Reader, node: Node) -> Arc | None:
    mapping = mapping_of(r, node, "an arc")
    if mapping is None:
        return None
    draft = ArcDraft()
    take_all(r, "arc", r.tables.arc, draft, mapping)
    if mapping.get("step") is None and not is_misspelt(mapping, "step", r.tables.arc):
        missing(r, "the arc's `step`", mapping.span, help="write `- {step: name}`")
    # An arc without its guard would always be taken: it is left out, as its fault is told.
    if not draft.target or (draft.guarded and draft.when is None):
        return None
    extras = tuple(draft.extras)
    return Arc(
        draft.target, draft.target_span, draft.when, draft.args, draft.delay, draft.priority, mapping.span, extras
    )


def _next_spec(r: Reader, draft: RouterDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`next.spec`")
    if mapping is not None:
        take_all(r, "next_spec", r.tables.next_spec, draft, mapping)


def _mode(r: Reader, draft: RouterDraft, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and node.text == "parallel":
        r.respelt(node.span, "`mode: parallel`", "`mode: inclusive`")
        draft.mode = "inclusive"
        return
    draft.mode = choice_of(r, node, "`mode`", ("exclusive", "inclusive")) or "exclusive"


def _next_policy(r: Reader, draft: RouterDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`next.spec.policy`")
    if mapping is not None:
        hints: Table[RouterDraft] = {"priority": no_effect, "dedupe": no_effect, "partitioning": no_effect}
        take_policy(r, "next_spec", hints, draft, mapping)


def _step(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    draft.target_span = node.span
    # The net is built before the run, and every arc has its target in it.
    if isinstance(node, Scalar) and "{{" in node.text:
        r.refuse("a template as the target of an arc", node.span, help="write one guarded arc per target")
        return
    draft.target = reference_of(r, node, "the arc's `step`") or ""


def _when(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    draft.guarded = True
    draft.when = read_guard(r, node, "the arc's `when`")


def _args(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    draft.args = read_args(r, node, "the arc's `args`")


def _arc_spec(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`arc.spec`")
    if isinstance(mapping, Mapping):
        take_all(r, "arc_spec", r.tables.arc_spec, draft, mapping)


def _delay(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    value = read_duration(r, node, "`delay`")
    # No delay at all needs no timer.
    draft.delay = None if value is not None and value.template == Literal(0) else value


def _priority(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    draft.priority = whole_of(r, node, "`priority`", -1_000_000) or 0


KEYS: Table[RouterDraft] = {"spec": _next_spec, "arcs": _arcs}
SPEC_KEYS: Table[RouterDraft] = {
    "mode": _mode,
    "policy": _next_policy,
    "on_no_match": no_effect,
    "dedupe": no_effect,
    "partitioning": no_effect,
}
ARC_KEYS: Table[ArcDraft] = {"step": _step, "when": _when, "args": _args, "spec": _arc_spec}
ARC_SPEC_KEYS: Table[ArcDraft] = {
    "delay": _delay,
    "priority": _priority,
    "dedupe": no_effect,
    "partitioning": no_effect,
    "policy": no_effect,
}
