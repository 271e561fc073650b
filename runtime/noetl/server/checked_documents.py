"""Documents that a person writes beside playbooks: their parts, checked, and what is wrong told with its key."""

import json
import re
from collections.abc import Collection, Mapping

from noetl_ir import codec
from noetl_ir.correlation import HALF, is_storable
from noetl_ir.expr import Json
from noetl_ir.kinds import MAX_SECONDS, seconds_of
from noetl_ir.nearest import nearest

API_VERSION = "noetl.io/v2"
LONGEST_NAME = 100
MOST_BYTES = 64 << 10
"""Bytes of a document; its payload is for each start."""

SECOND = 1_000_000

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")
_TOP = ("apiVersion", "kind", "metadata", "spec")


class BadDocument(ValueError):
    """A document that is none of its kind; the text names the key, says what is wrong, and what to write. `key` is the
    path of that key, empty for the whole.
    """

    def __init__(self, text: str, key: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.key = key


def spec_of(document: Json, kind: str, known: Collection[str]) -> tuple[str, dict[str, Json]]:
    """The name and the `spec` of a document of a kind, whose spec has some known keys. Raises BadDocument."""
    whole = mapping_of(document, (), f"a {kind.lower()}", _TOP)
    for key, value in (("apiVersion", API_VERSION), ("kind", kind)):
        if whole.get(key) != value:
            raise BadDocument(f"`{key}` is not `{value}`", (key,))
    name = mapping_of(whole.get("metadata"), ("metadata",), "`metadata`", ("name",)).get("name")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not _NAME.issuperset(name):
        raise BadDocument(
            f"`metadata.name` is 1 to {LONGEST_NAME} letters, digits and `.`, `_`, `-`, `/`", ("metadata", "name")
        )
    spec = mapping_of(whole.get("spec"), ("spec",), "`spec`", known)
    if len(codec.pack(document)) > MOST_BYTES:
        raise BadDocument(f"it is larger than {MOST_BYTES:,} bytes")
    # A start with such a text could never be stored.
    if not is_storable(json.dumps(document, ensure_ascii=False)):
        raise BadDocument(f"a text in it {HALF}")
    return name, spec


def mapping_of(value: Json, path: tuple[str, ...], what: str, known: Collection[str]) -> dict[str, Json]:
    """A mapping that has none but known keys. Raises BadDocument."""
    if not isinstance(value, dict):
        raise BadDocument(f"{what} is a mapping with {', '.join(known)}", path)
    for key in value:
        if key not in known:
            near = nearest(key, [*known])
            hint = f"; did you mean `{near}`?" if near else ""
            raise BadDocument(f"{what} has no key `{key}`{hint}", (*path, key))
    return value


def text_of(spec: Mapping[str, Json], path: tuple[str, ...], what: str) -> str:
    """The text at the last key of a path, empty where it is absent. Raises BadDocument."""
    value = spec.get(path[-1])
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise BadDocument(f"`{'.'.join(path)}` is {what}", path)
    return value.strip()


def whole_of(spec: Mapping[str, Json], path: tuple[str, ...], least: int, most: int, default: int | None) -> int | None:
    """The whole number at the last key of a path. Raises BadDocument."""
    value = spec.get(path[-1], default)
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise BadDocument(f"`{'.'.join(path)}` is a whole number from {least} to {most:,}", path)
    return value


def micros_of(spec: Mapping[str, Json], path: tuple[str, ...], least: int = 0) -> int:
    """The duration at the last key of a path, in microseconds, 0 where it is absent. Raises BadDocument."""
    if path[-1] not in spec:
        return 0
    value = spec[path[-1]]
    seconds = seconds_of(value)
    if seconds is None and _is_too_long(value):
        raise BadDocument(f"`{'.'.join(path)}` is longer than {MAX_SECONDS / 31_556_952:.0f} years", path)
    if seconds is None or round(seconds * SECOND) < least:
        least_text = ", of a second at least" if least else ""
        raise BadDocument(f"`{'.'.join(path)}` is a duration{least_text}, as in `15m`", path)
    return round(seconds * SECOND)


def _is_too_long(value: Json) -> bool:
    if isinstance(value, int | float):
        return value > MAX_SECONDS
    found = re.fullmatch(r"[\d.]+([a-z]+)", value) if isinstance(value, str) else None
    return found is not None and seconds_of(f"1{found[1]}") is not None
