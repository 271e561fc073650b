"""Places under a key: `executor.spec.concurrency: {key, limit, on_conflict}` (EXTENSIONS §2)."""

from noetl_ir.expr import ListTemplate, Literal, MapTemplate
from noetl_ir.plan import CONFLICTS
from noetlc.ast.playbook import Concurrency, Value
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import choice_of, is_empty, is_misspelt, mapping_of, missing, whole_of, wrong_shape
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar

_KEYS = ("key", "limit", "on_conflict")


def read_concurrency(r: Reader, name: Scalar, node: Node) -> Concurrency | None:
    """The places that executions of the playbook ask for; None where they ask for none."""
    mapping = mapping_of(r, node, "`concurrency`")
    if mapping is None:
        return None
    stray_keys(r, "concurrency", mapping, _KEYS)
    limit = mapping.get("limit")
    most = 1 if limit is None else whole_of(r, limit, "`limit`", 1)
    stated = mapping.get("on_conflict")
    on_conflict = "queue" if stated is None else choice_of(r, stated, "`on_conflict`", CONFLICTS)
    key = mapping.get("key")
    if key is None or is_empty(key):
        if not is_misspelt(mapping, "key", _KEYS):
            missing(r, "`key` of `concurrency`", name.span, help='write a text, as `key: "import-{{ workload.day }}"`')
        return None
    value = _key(r, key)
    if value is None or most is None or on_conflict is None:
        return None
    return Concurrency(value, most, on_conflict, name.span)


def _key(r: Reader, node: Node) -> Value | None:
    value = read_value(r, node)
    template = value.template
    if isinstance(template, MapTemplate | ListTemplate) or (
        isinstance(template, Literal)
        and (not isinstance(template.value, str | int) or isinstance(template.value, bool))
    ):
        wrong_shape(r, node, "`key`", "a text")
        return None
    return value
