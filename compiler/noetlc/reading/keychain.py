"""The keychain section: declared credentials (v10 §2.1, LANGUAGE §7)."""

from noetlc.ast.playbook import KeychainEntry
from noetlc.diag.diagnostic import Related
from noetlc.reading.reader import Reader, unknown
from noetlc.reading.shapes import missing, name_of, sequence_of, text_of, wrong_shape
from noetlc.reading.values import read_value
from noetlc.source.nodes import Mapping, Node

KEYCHAIN_KINDS = (
    "env",
    "file",
    "static",
    "bearer",
    "postgres_credential",
    "credential",
    "secrets",
    "secret",
    "secret_manager",
    "oauth2",
    "google_id_token",
)


def read_keychain(r: Reader, node: Node) -> list[KeychainEntry]:
    """The entries of the section, each name once."""
    listed = sequence_of(r, node, "`keychain`", "entries `{name: …, kind: …}`")
    entries: dict[str, KeychainEntry] = {}
    for item in listed.items if listed is not None else ():
        entry = _entry(r, item)
        if entry is None:
            continue
        # The first one stays, so that everything else is checked against an entry that exists.
        first = entries.setdefault(entry.name, entry)
        if first is not entry:
            r.report(
                "NL211",
                f"the keychain has two entries `{entry.name}`",
                entry.name_span,
                related=(Related(first.name_span, "the first one"),),
            )
    return list(entries.values())


def _entry(r: Reader, node: Node) -> KeychainEntry | None:
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "a keychain entry", "`{name: …, kind: …}`")
        return None
    name_node, kind_node = node.get("name"), node.get("kind")
    if kind_node is None and node.get("type") is not None:
        return _typed(r, node)
    if name_node is None:
        missing(r, "the entry's `name`", node.span)
    if kind_node is None:
        missing(r, "the entry's `kind`", node.span, help="one of " + ", ".join(KEYCHAIN_KINDS))
    if name_node is None or kind_node is None:
        return None
    name, kind = name_of(r, name_node, "the entry's `name`"), text_of(r, kind_node, "`kind`")
    if name is None or kind is None:
        return None
    if kind not in KEYCHAIN_KINDS:
        unknown(r, "NL107", f"unknown keychain kind `{kind}`", kind_node.span, name=kind, known=KEYCHAIN_KINDS)
    # Fields of kinds are not checked here: a resolver of another package may take any.
    fields = [(key, read_value(r, item)) for key, (_, item) in node.index.items() if key not in ("name", "kind")]
    return KeychainEntry(name, name_node.span, kind, tuple(fields), node.span)


def _typed(r: Reader, node: Mapping) -> KeychainEntry | None:
    """`{name, type, ref}` of older playbooks: `ref` names a stored credential, and `type` says what it is for."""
    type_key, ref_key = node.key("type"), node.key("ref")
    name_node, type_node = node.get("name"), node.get("type")
    assert type_key is not None and type_node is not None
    if name_node is None:
        missing(r, "the entry's `name`", node.span)
        return None
    name, kind = name_of(r, name_node, "the entry's `name`"), text_of(r, type_node, "`type`")
    if name is None or kind is None:
        return None
    is_known = kind in KEYCHAIN_KINDS
    r.respelt(type_key.span, "`type` of a keychain entry", f"`kind: {kind if is_known else 'credential'}`", "safe")
    if ref_key is not None:
        r.respelt(ref_key.span, "`ref` of a keychain entry", "`credential`, the name of a stored one", "safe")
    words = {"ref": "credential"}
    fields = [(words.get(key, key), read_value(r, item)) for key, (_, item) in node.index.items() if key not in _TYPED]
    return KeychainEntry(name, name_node.span, kind if is_known else "credential", tuple(fields), node.span)


_TYPED = ("name", "type")
