"""The document of a namespace, read and checked: what a person writes, and what stands in the store."""

from noetl.ports.namespaces import OPEN, STARTS, NamespaceRow
from noetl.ports.scopes import pool_trouble
from noetl.server.checked_documents import BadDocument, mapping_of, spec_of, text_of, whole_of
from noetl_ir.expr import Json

KIND = "Namespace"
BURST = "burst"
MOST, MOST_STARTS, HEAVIEST = 1_000_000_000, 1_000_000, 1_000
"""The largest numbers of open executions and of starts a minute, and the largest weight."""

LONGEST_PREFIX = 200
MOST_POOLS = 100
"""Pools in which one namespace may have a limit: each has a queue of its own."""

_SPEC = ("prefix", "quotas", "weight", "pools")
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
    pool_limits(document)
    return NamespaceRow(
        name, document, _prefix(spec), weight=whole_of(spec, ("spec", "weight"), 1, HEAVIEST, 1) or 1,
        open_executions=whole_of(quotas, (*at, OPEN), 1, MOST, None) or 0,
        starts_per_minute=starts or 0, burst=burst or starts or 0,
    )  # fmt: skip


def pool_limits(document: dict[str, Json]) -> dict[str, int]:
    """How much of a namespace may be at work at once, by pool; of other pools any number. Raises BadDocument."""
    spec = document.get("spec")
    pools, at = spec.get("pools", {}) if isinstance(spec, dict) else {}, ("spec", "pools")
    if not isinstance(pools, dict) or len(pools) > MOST_POOLS:
        raise BadDocument(f"`spec.pools` is a mapping of at most {MOST_POOLS} pools: write `pools: {{gpu: 4}}`", at)
    found = dict[str, int]()
    for pool in pools:
        if why := pool_trouble(pool):
            raise BadDocument(f"`spec.pools` has names of pools: {why}", at)
        most = whole_of(pools, (*at, pool), 1, MOST, None)
        if most is None:
            raise BadDocument(f"`spec.pools.{pool}` is how many may run at once: write `{pool}: 4`", (*at, pool))
        found[pool] = most
    return found


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
