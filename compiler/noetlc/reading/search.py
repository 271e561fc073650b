"""Labels and search attributes: `metadata.labels`, `executor.spec.search: {name: "{{ … }}"}` or `{value, type}`."""

from noetl_ir.expr import ListTemplate, Literal, MapTemplate
from noetl_ir.plan import ATTRIBUTE_NAME, LONGEST_LABEL, MOST_SEARCH, SEARCH_TYPES
from noetl_ir.span import Span
from noetlc.ast.playbook import SearchAttribute, Value
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import choice_of, is_empty, is_misspelt, mapping_of, missing, wrong_shape
from noetlc.reading.values import read_value
from noetlc.source.nodes import Mapping, Node, Scalar

_KEYS = ("value", "type")
_NAMES = "letters, digits and `_ - . /`, a letter first, 63 characters at most"


def read_labels(r: Reader, node: Node) -> dict[str, str]:
    """The labels of a playbook by name."""
    mapping = mapping_of(r, node, "`metadata.labels`")
    found: dict[str, str] = {}
    for key, value in mapping.entries if mapping is not None else ():
        if not _is_name(r, key, "a label"):
            continue
        # `true` and `2` are texts here, as written: playbooks of before have such labels.
        text = value.text if isinstance(value, Scalar) and value.value is not None else None
        if text is None:
            wrong_shape(r, value, f"the label `{key.text}`", "text")
            continue
        r.meant[value.span] = "name"
        if "{{" in text or "{%" in text:
            help = f"a value of a run is a search attribute: write `executor: {{spec: {{search: {{{key.text}: …}}}}}}`"
            r.report("NL104", f"the label `{key.text}` is the same in all runs, and no template", value.span, help=help)
        elif len(text) > LONGEST_LABEL:
            r.report("NL104", f"the label `{key.text}` has more than {LONGEST_LABEL} characters", value.span)
        else:
            found[key.text] = text
    _check_count(r, found, "labels", node.span)
    return found


def read_search(r: Reader, node: Node) -> tuple[SearchAttribute, ...]:
    """The search attributes of a playbook."""
    mapping = None if is_empty(node) else mapping_of(r, node, "`executor.spec.search`")
    entries = () if mapping is None else mapping.entries
    found = [_attribute(r, key, value) for key, value in entries if not key.text.startswith("x-")]
    known = tuple([one for one in found if one is not None])
    _check_count(r, known, "search attributes", node.span)
    return known


def _attribute(r: Reader, key: Scalar, node: Node) -> SearchAttribute | None:
    if not _is_name(r, key, "a search attribute"):
        return None
    if not isinstance(node, Mapping):
        return _of(r, key, node, "string")
    stray_keys(r, "search", node, _KEYS)
    stated, written = node.get("type"), node.get("value")
    kind = "string" if stated is None else choice_of(r, stated, "`type`", SEARCH_TYPES)
    if written is None or is_empty(written):
        if not is_misspelt(node, "value", _KEYS):
            help = f'write an expression, as `{key.text}: {{value: "{{{{ workload.{key.text} }}}}"}}`'
            missing(r, f"`value` of the search attribute `{key.text}`", key.span, help=help)
        return None
    return None if kind is None else _of(r, key, written, kind)


def _of(r: Reader, key: Scalar, node: Node, kind: str) -> SearchAttribute | None:
    value: Value = read_value(r, node)
    template = value.template
    if isinstance(template, Literal) and isinstance(template.value, str) and "{{" in template.value:
        return None  # an expression that cannot be read, which was told
    if isinstance(template, Literal) and isinstance(template.value, str | int | float | bool):
        help = f"what is the same in all runs is a label: write `metadata: {{labels: {{{key.text}: …}}}}`"
        r.report("NL104", f"the search attribute `{key.text}` reads nothing of a run", node.span, help=help)
        return None
    if isinstance(template, MapTemplate | ListTemplate | Literal):
        wrong_shape(r, node, f"the search attribute `{key.text}`", "an expression")
        return None
    return SearchAttribute(key.text, kind, value)


def _is_name(r: Reader, key: Scalar, what: str) -> bool:
    if ATTRIBUTE_NAME.fullmatch(key.text):
        return True
    r.report("NL104", f"{what} cannot be named `{key.text}`", key.span, help=f"write {_NAMES}")
    return False


def _check_count(r: Reader, found: object, what: str, span: Span) -> None:
    if isinstance(found, dict | tuple) and len(found) > MOST_SEARCH:
        r.report("NL104", f"there are {len(found):,} {what}; at most {MOST_SEARCH} are kept", span)
