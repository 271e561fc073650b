"""Reducers: `executor.spec.ctx: {key: {reduce: …, initial: …}}` (EXTENSIONS §4)."""

from noetl_ir.expr import Literal
from noetl_ir.reducing import REDUCERS, start_fault
from noetlc.ast.playbook import Reducer, Value
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import choice_of, is_misspelt, mapping_of, missing
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar

_KEYS = ("reduce", "initial")


def read_reducers(r: Reader, node: Node) -> tuple[Reducer, ...]:
    """The keys of `ctx` that are made of contributions."""
    mapping = mapping_of(r, node, "`executor.spec.ctx`")
    entries = () if mapping is None else mapping.entries
    found = [_reducer(r, key, value) for key, value in entries if not key.text.startswith("x-")]
    return tuple([one for one in found if one is not None])


def _reducer(r: Reader, key: Scalar, node: Node) -> Reducer | None:
    if isinstance(node, Scalar) and node.text in REDUCERS:
        help = f"write `{key.text}: {{reduce: {node.text}}}`"
        r.report("NL102", f"`ctx.{key.text}`: expected a mapping, found text", node.span, help=help)
        return None
    mapping = mapping_of(r, node, f"`ctx.{key.text}`")
    if mapping is None:
        return None
    stray_keys(r, "reducer", mapping, _KEYS)
    stated = mapping.get("reduce")
    if stated is None:
        if not is_misspelt(mapping, "reduce", _KEYS):
            missing(r, f"`reduce` of `ctx.{key.text}`", key.span, help=f"one of {', '.join(REDUCERS)}")
        return None
    reduce = choice_of(r, stated, "`reduce`", REDUCERS)
    initial = mapping.get("initial")
    value = None if initial is None else read_value(r, initial)
    if reduce is None:
        return None
    if value is not None and not _starts(r, key.text, reduce, value):
        value = None
    return Reducer(key.text, key.span, reduce, value)


def _starts(r: Reader, key: str, reduce: str, value: Value) -> bool:
    """Whether a reducer may begin with a value, as far as it is known."""
    why = start_fault(reduce, value.template.value) if isinstance(value.template, Literal) else ""
    if why:
        r.report("NL104", f"`ctx.{key}`: {why}", value.span)
    return not why
