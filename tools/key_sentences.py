"""A developer's script, never shipped: what each key means, as a table, from the tables of `schema/playbook.md`.

`tools/gen` writes it to `noetlc/emit/key_sentences.py`, for schemas and editors.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from noetlc.dialects import canonical
from noetlc.reading.reader import no_effect

PAGE = Path(__file__).resolve().parent.parent / "schema" / "playbook.md"
_SECTION = re.compile(r"<!-- keys: ([\w ]+) -->\n(.*?)(?=^<!-- keys|^#)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (?!key|entry|-)(.+?) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
_SEE = re.compile(r" \(?see (below|there)\)?")
_IDLE = "Accepted, noted by lint, and without effect."

_HEAD = '''"""Scope and key → what the key means, as `schema/playbook.md` says it; written by `tools/gen`.

A key inside a value that is no scope of its own stands with its path: `lifecycle.timeout_s`.
"""

# fmt: off
SENTENCES: dict[tuple[str, str], str] = {
'''


def table() -> str:
    """The text of `noetlc/emit/key_sentences.py`."""
    found: dict[tuple[str, str], str] = {}
    for scopes, text in _SECTION.findall(PAGE.read_text("utf-8")):
        for place, sentence in _rows(scopes.split(), text):
            found.setdefault(place, sentence)
    for scope, keys in canonical()._asdict().items():
        found.update({(scope, key): _IDLE for key, take in keys.items() if take is no_effect})
    rows = "".join(f"    {_quoted(scope, key)}: {_text(said)},\n" for (scope, key), said in sorted(found.items()))
    return _HEAD + rows + "}\n"


def _rows(scopes: list[str], text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """The places of a section's rows, each with its sentence."""
    for row in _ROW.findall(text):
        cells = [cell.strip() for cell in re.split(r" \| ", row.replace("| |", "|  |"))]
        way: list[str] = []
        for name in re.findall(r"`([\w. -]+)`", cells[0]):
            parts = name.split(".")
            # A name beside another one stands in the same place: `spec.policy.mode` `max_in_flight`.
            way = parts if len(parts) > 1 or not way else [*way[:-1], name]
            yield _place(scopes, way), _sentence(cells)


def _place(scopes: list[str], way: list[str]) -> tuple[str, str]:
    """The scope of a path as the page writes it, and what is left of it as the key."""
    base = scopes[0].partition("_")[0]
    rest = way[1:] if way[0] == base and len(way) > 1 else way
    if len(rest) == 1 or rest[0] != "spec":
        return scopes[0], ".".join(rest)
    # `spec.policy.x` stands in the scope of policies, and `spec.policy` in that of specs.
    if rest[1] == "policy" and len(rest) > 2:
        return f"{base}_policy", ".".join(rest[2:])
    return f"{base}_spec", ".".join(rest[1:])


def _sentence(cells: list[str]) -> str:
    meaning, left_out = cells[1], cells[2] if len(cells) > 3 else ""
    said = _SEE.sub("", _LINK.sub(r"\1", meaning))
    said = said[0].upper() + said[1:] if said[:1].islower() else said
    out = _SEE.sub("", " " + _LINK.sub(r"\1", left_out)).strip()
    if out.startswith("must be given"):
        return f"{said}. {out[0].upper()}{out[1:]}."
    return f"{said}. Left out: {out}." if out and not out.startswith("see ") else f"{said}."


def _quoted(scope: str, key: str) -> str:
    return f'("{scope}", "{key}")'


def _text(said: str) -> str:
    return '"' + said.replace("\\", "\\\\").replace('"', '\\"') + '"'
