"""The secrets of a file of tests: invented ones, which stand in for what the keychain would give.

keychain: {orders_api: a token of tests, warehouse: {user: etl, password: none of ours}}

They stand in this file in clear, and nowhere else: what a run records, and what is said of it, has markers. So each has
to be a text that is long enough to be found again. No message here holds a value, and excerpts of the file mask them.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json
from noetl_ir.secret_fields import ADDRESSES, PUBLIC, SHORTEST
from noetlc.reading.reader import Reader, unknown
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of
from noetlc.source.text import Source
from noetlc.suites.known import KnownSteps
from noetlc.suites.table import has_rows

_HELP = "write `{NAME: a text}`, or `{NAME: {field: a text}}`"


def read_keychain(r: Reader, known: KnownSteps, both: list[dict[str, Node]]) -> dict[str, dict[str, Json]]:
    """The fields of each entry: a case's own entries replace those of all cases, entry by entry."""
    found: dict[str, dict[str, Json]] = {}
    for each in reversed(both):
        if (node := each.get("keychain")) is None:
            continue
        if not isinstance(node, Mapping):
            r.report("NL102", "`keychain`: expected a mapping of entries", node.span, help=_HELP)
            continue
        for key, value in node.entries:
            found[key.text] = _fields(r, known, key, value)
    return found


def _fields(r: Reader, known: KnownSteps, key: Scalar, value: Node) -> dict[str, Json]:
    names = tuple(known.secrets.fields)
    if key.text not in names and not known.secrets.computed:
        unknown(r, "NL104", f"the playbook asks for no secret `{key.text}`", key.span, name=key.text, known=names)
    if isinstance(value, Mapping):
        if not value.entries:
            r.report("NL103", f"the fields of `{key.text}` are missing", value.span, help=_HELP)
        _check_mapping(r, value)
        plain = value_of(value)
        assert isinstance(plain, dict)
        return plain
    _check(r, "", value)
    return {known.secrets.single.get(key.text, "value"): value_of(value)}


def _check_mapping(r: Reader, mapping: Mapping) -> None:
    for key, value in mapping.entries:
        if isinstance(value, Mapping):
            _check_mapping(r, value)
        # A user's name or a port is no secret, and too common in what is recorded to be hidden there.
        elif key.text not in PUBLIC | ADDRESSES:
            _check(r, f" `{key.text}`", value)


def _check(r: Reader, field: str, value: Node) -> None:
    """Report what could not be hidden where it is recorded."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str):
        help = "write it in quotes: only texts are hidden in what is recorded"
        r.report("NL102", f"the secret{field}: expected text", value.span, help=help)
    elif len(value.value) < SHORTEST:
        help = f"invent a longer one: texts of less than {SHORTEST} characters are not hidden in what is recorded"
        r.report("NL104", f"the secret{field} has less than {SHORTEST} characters", value.span, help=help)


def secret_texts(source: Source, node: Node | None) -> tuple[str, ...]:
    """The secrets that a file of tests holds, as values and as they are written: what no excerpt may show."""
    scalars = list(_under(node, "keychain"))
    # A secret that comes from a row stands in the table.
    if any(has_rows(each.text) for each in scalars):
        scalars += _under(node, "table")
    # As written as well: with escapes or over two lines the text of the file is another one than the value.
    written = [source.text[slice(*each.source)] for each in scalars]
    return tuple(dict.fromkeys([*(each.text for each in scalars), *written]))


def _under(node: Node | None, wanted: str, *, within: bool = False) -> Iterator[Scalar]:
    """The scalars below every key of a name, but for fields that are no secret."""
    # Depth is bounded by the reader of YAML.
    if isinstance(node, Mapping):
        for key, value in node.entries:
            inside = within or key.text == wanted
            if not (inside and isinstance(value, Scalar) and key.text in PUBLIC):
                yield from _under(value, wanted, within=inside)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _under(item, wanted, within=within)
    elif isinstance(node, Scalar) and within:
        yield node
