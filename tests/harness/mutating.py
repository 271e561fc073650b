"""Plans and messages that no compiler and no worker makes: some values are changed, and the digest made anew."""

import hashlib
import random
from collections.abc import Iterator
from typing import Any

import msgpack

from noetl_ir.plan_format import HEADER, MAGIC

WORDS = ("", "start", "take", "now", "report", "all", "taken", "count", "in", "run", "error", "break", "wait", "noop")


def sealed(body: bytes, children: bytes = b"", version: int = 1) -> bytes:
    """Any body under a head that fits it."""
    head = MAGIC + version.to_bytes(2, "big") + len(body).to_bytes(8, "big")
    return head + hashlib.sha256(head + body + children).digest() + body + children


def mutants(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` times one to three values of a plan's body changed: (what was changed, the bytes)."""
    chance = random.Random(seed)
    length = int.from_bytes(data[len(MAGIC) + 2 : len(MAGIC) + 10], "big")
    body, children = data[HEADER : HEADER + length], data[HEADER + length :]
    version = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "big")
    for _ in range(count):
        changed, told = altered(body, chance)
        yield told, sealed(changed, children, version)


def altered(packed: bytes, chance: random.Random) -> tuple[bytes, str]:
    """One to three values of a packed tree changed: (the bytes, what was changed)."""
    tree = msgpack.unpackb(packed, strict_map_key=False)
    places = list(_leaves(tree))
    told = []
    for _ in range(chance.choice((1, 1, 1, 2, 3)) if places else 0):
        holder, key, path = chance.choice(places)
        before = holder[key]
        holder[key] = _other(before, chance)
        told.append(f"{path}: {before!r} → {holder[key]!r}")
    return msgpack.packb(tree), "; ".join(told)


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    rows = enumerate(tree) if isinstance(tree, list) else tree.items()
    for key, value in list(rows):
        if isinstance(value, list | dict):
            yield from _leaves(value, f"{path}.{key}")
        else:
            yield tree, key, f"{path}.{key}"


def _other(value: Any, chance: random.Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return chance.choice((value + 1, value - 1, 0, -1, chance.randrange(12), value + chance.randrange(100)))
        case float():
            return chance.choice((0.0, -1.0, 1e308, value * 2))
        case str():
            return chance.choice((*WORDS, value + "x", value[:-1]))
        case _:
            return chance.choice((0, "", True, None))
