"""The sources that a plan and those that it embeds were compiled from, beside the plan: as bytes, and with their plans.

    magic "NOETLSRC" · version (1 byte) · how many there are (4 bytes)
    · for each the digest of its plan (32 bytes), its length (4 bytes) and the source
    · the plan itself, where it goes the same way

Numbers are big-endian. Sources are for people to read and no part of a plan: its digest is the same without them, and
whoever has only the plan runs the same. Plans whose sources differ in what means nothing have one digest.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from noetl_ir.plan import Child, Plan
from noetl_ir.plan_format import PlanError, digest_of, digests_in, open_plan
from noetl_ir.records import NamedTuple

MAGIC = b"NOETLSRC\x01"

ENDING = ".sources"
"""What the name of a plan's file has behind it where it is that of its sources."""

MAX_BYTES = 32 << 20
"""The most bytes of a source."""

MAX_SOURCES = 10_000

_COUNT, _DIGEST, _LENGTH = 4, 32, 4


class BadSources(Exception):
    """Bytes that are no sources; the text says why."""


class SourcedPlan(NamedTuple):
    """A plan with the source that it was compiled from."""

    digest: str
    data: bytes
    source: bytes


def write_sources(sources: Mapping[str, bytes], plan: bytes = b"") -> bytes:
    """The bytes of sources by the digests of their plans; in front of a plan, where one goes with them."""
    parts = [MAGIC, len(sources).to_bytes(_COUNT, "big")]
    for digest in sorted(sources):
        parts += [bytes.fromhex(digest), len(sources[digest]).to_bytes(_LENGTH, "big"), sources[digest]]
    return b"".join([*parts, plan])


def is_sources(data: bytes) -> bool:
    """Whether bytes begin as sources do, of whatever version."""
    return data.startswith(MAGIC[:-1])


def read_sources(data: bytes) -> tuple[dict[str, bytes], bytes]:
    """The sources by the digests of their plans, and what is behind them. Raises BadSources."""
    at = len(MAGIC) + _COUNT
    if not is_sources(data):
        raise BadSources("these are no sources of plans")
    if not data.startswith(MAGIC) or len(data) < at:
        raise BadSources("they are cut off, or another version wrote them")
    count, found = int.from_bytes(data[len(MAGIC) : at], "big"), dict[str, bytes]()
    if count > MAX_SOURCES:
        raise BadSources(f"they are more than {MAX_SOURCES:,}")
    for _ in range(count):
        text = at + _DIGEST + _LENGTH
        length = int.from_bytes(data[at + _DIGEST : text], "big")
        if length > MAX_BYTES:
            raise BadSources(f"one has more than {MAX_BYTES:,} bytes")
        if text + length > len(data):
            raise BadSources("they are cut off")
        found[data[at : at + _DIGEST].hex()] = data[text : text + length]
        at = text + length
    return found, data[at:]


def sourced_plans(data: bytes, sources: Mapping[str, bytes], plan: Plan | None = None) -> Iterator[SourcedPlan]:
    """The plans among one and those that it embeds whose sources are there. A source of any other plan is left out:
    nobody says with a plan of theirs what the plan of somebody else was compiled from. `plan` is the first one, where
    it was read already.
    """
    lacking = {*sources}
    for here in _family(data, plan):
        if (digest := digest_of(here)) in lacking:
            lacking.discard(digest)
            yield SourcedPlan(digest, here, sources[digest])
        # Others are opened only as long as a source is left over: nearly all plans lie one level deep.
        if not lacking:
            return


def _family(data: bytes, plan: Plan | None) -> Iterator[bytes]:
    """A plan and those that it embeds, each once, level by level."""
    level, seen = [data], {digest_of(data)}
    yield data
    while level:
        inner = list[bytes]()
        for here in level:
            for child in plan.children if plan is not None else _children_of(here):
                if child.digest not in seen:
                    seen.add(child.digest)
                    inner.append(child.data)
                    yield child.data
            plan = None
        level = inner


def _children_of(data: bytes) -> tuple[Child, ...]:
    """The plans that one embeds; none where it is damaged, which is told when it is started."""
    try:
        return open_plan(data).children if any(True for _ in islice(digests_in(data), 1, None)) else ()
    except PlanError:
        return ()
