"""Writing files of tests: YAML that people go on with, and that reads back as the values it was written of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*( [\w./-]+)*", re.ASCII)
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "none"})
_WIDTH = 110
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
"""What has an escape of its own in double quotes: output of programs is full of line ends, and people read it here."""


class WrittenCase(NamedTuple):
    """A case to be written: `remark` stands above it, and `expect_remark` above what it expects."""

    name: str
    remark: str
    payload: dict[str, Json]
    outcomes: Sequence[Json]
    signals: Sequence[Json]
    expect: dict[str, Json]
    expect_remark: str


def suite_text(
    head: str,
    playbook: str,
    cases: Sequence[WrittenCase],
    real: Sequence[str] | None = None,
    keychain: Mapping[str, dict[str, Json]] = MappingProxyType({}),
) -> str:
    """The text of a file of tests; `head` is its first comment. `keychain` has the secrets of all cases."""
    lines = [f"# {line}" for line in head.splitlines()]
    lines += [f"playbook: {flow(playbook)}"]
    if real is not None:
        lines.append(f"real: {flow([*real])}")
    if keychain:
        lines.append("keychain:")
        lines += [f"  {flow(name)}: {flow(fields)}" for name, fields in keychain.items()]
    lines.append("cases:")
    for case in cases:
        lines += _case(case)
    return "\n".join(lines) + "\n"


def _case(case: WrittenCase) -> Iterator[str]:
    if case.remark:
        yield from (f"  # {line}" for line in case.remark.splitlines())
    yield f"  - case: {flow(case.name)}"
    if case.payload:
        yield f"    payload: {flow(case.payload)}"
    for key, rows in (("outcomes", case.outcomes), ("signals", case.signals)):
        if rows:
            yield f"    {key}:"
            for row in rows:
                yield from _item(row)
    yield from (f"    # {line}" for line in case.expect_remark.splitlines())
    yield "    expect:"
    yield from (f"      {key}: {flow(value)}" for key, value in case.expect.items())


def _item(row: Json) -> Iterator[str]:
    """An item of a list: on one line where it fits there, else key by key."""
    text = flow(row)
    if len(text) <= _WIDTH or not isinstance(row, dict):
        yield f"      - {text}"
        return
    for number, (key, value) in enumerate(row.items()):
        yield f"      {'- ' if number == 0 else '  '}{key}: {flow(value)}"


def flow(value: Json) -> str:
    """A value on one line: as JSON, which is YAML, but for texts that need no quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
        return value if is_plain else f'"{"".join(map(_quoted, value))}"'
    text = json.dumps(value)
    # YAML 1.1 takes no number without a point for a float: `5e-324` would be a text.
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _quoted(char: str) -> str:
    """A character of a text in double quotes, as YAML escapes it."""
    if char in _SHORT:
        return _SHORT[char]
    # JSON writes a character beyond the first 65,536 as two, which YAML does not put together again.
    return char if char.isprintable() else f"\\U{ord(char):08x}"
