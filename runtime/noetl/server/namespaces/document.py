"""The document of a namespace, read and checked: what a person writes, and what stands in the store."""

from noetl.ports.namespaces import OPEN, STARTS, NamespaceRow
from noetl.server.checked_documents import BadDocument, mapping_of, spec_of, text_of, whole_of
from noetl_ir.expr import Json

KIND = "Namespace"
BURST = "burst"
MOST, MOST_STARTS, HEAVIEST = 1_000_000_000, 1_000_000, 1_000
"""The largest numbers of open executions and of starts a minute, and the largest weight."""

LONGEST_PREFIX = 200
_SPEC = ("prefix", "quotas", "weight")
_QUOTAS = (OPEN, STARTS, BURST)
_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")


def namespace_of(document: Json) -> NamespaceRow:
    """The namespace that a document is. Raises BadDocument."""
    name, spec = spec_of(document, KIND, _SPEC)
    assert isinstance(document, dict)
    quotas = mapping_of(spec.get("quotas", {}), ("spec", "quotas"), "`spec.quotas`", _QUOTAS)
    at = "spec", "quotas"
    starts = whole_of(quotas, (*at, STARTS), 1, MOST_STARTS, None)
    burst = whole_of(quotas, (*at, BURST), 1, MOST_STARTS, None)
    if burst is not None and starts is None:
        raise BadDocument(f"`spec.quotas.{BURST}` goes with `{STARTS}`", (*at, BURST))
    return NamespaceRow(
        name, document, _prefix(spec), weight=whole_of(spec, ("spec", "weight"), 1, HEAVIEST, 1) or 1,
        open_executions=whole_of(quotas, (*at, OPEN), 1, MOST, None) or 0,
        starts_per_minute=starts or 0, burst=burst or starts or 0,
    )  # fmt: skip


def _prefix(spec: dict[str, Json]) -> str:
    path = "spec", "prefix"
    prefix = text_of(spec, path, "the beginning of the paths of playbooks, as in `team-a/`")
    if not prefix:
        raise BadDocument("`spec.prefix` is missing: write the beginning of paths, as in `team-a/`", ("spec",))
    # Without it `team-a` would be the beginning of `team-ab/load`, too.
    if not prefix.endswith("/"):
        raise BadDocument(f"`spec.prefix` ends in a slash: write `{prefix}/`", path)
    if len(prefix) > LONGEST_PREFIX or not _SIGNS.issuperset(prefix) or prefix[0] == "/" or "//" in prefix:
        text = f"`spec.prefix` is 2 to {LONGEST_PREFIX} letters, digits and `.`, `_`, `-`, with single slashes between"
        raise BadDocument(text, path)
    return prefix
