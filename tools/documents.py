"""A developer's script, never shipped: the generated parts of the documents that people write.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; the text around it is left as it is.
"""

import re
from collections.abc import Callable
from pathlib import Path

import error_codes
import pattern_page
from noetl_ir import registry
from noetl_ir.kinds import Field, Kind
from noetl_ir.scopes import table_markdown
from noetlc.emit.event import events_markdown
from noetlc.rules import every_code

ROOT = Path(__file__).resolve().parent.parent
_PART = re.compile(r"(<!-- generated: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def reference() -> str:
    """`schema/README.md` with its generated parts as they must be."""
    return filled((ROOT / "schema" / "README.md").read_text(encoding="utf-8"))


def authors() -> str:
    """`schema/playbook.md` with its generated parts as they must be."""
    return filled((ROOT / "schema" / "playbook.md").read_text(encoding="utf-8"))


def compiler_readme() -> str:
    """`compiler/README.md` with its generated parts as they must be."""
    return filled((ROOT / "compiler" / "README.md").read_text(encoding="utf-8"))


def patterns() -> str:
    """`schema/patterns.md` with its generated parts as they must be."""
    return filled((ROOT / "schema" / "patterns.md").read_text(encoding="utf-8"))


def codes_markdown() -> str:
    """Every code that a finding can have, with its severity; `noetlc explain CODE` has the page."""
    lines = ["| code | slug | severity | what it finds |", "|---|---|---|---|"]
    for code, entry in every_code().items():
        # A bar would end the cell of the table.
        shown = entry.title.replace("|", "\\|")
        lines.append(f"| {code} | `{entry.slug}` | {entry.severity} | {shown} |")
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """A document with its generated parts made anew. Raises KeyError for a part that nothing makes."""
    # The marks stay in the text, so that the next run finds the parts again.
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n{found[3]}", text)


def kinds_markdown() -> str:
    """The tool kinds with their fields: a `*` must be given, `|` separates those of which one must be."""
    kinds = _kinds()
    lines = ["| kind | what it does | fields | knobs in `spec` | outcome extras |", "|---|---|---|---|---|"]
    for kind in (kind for kind in kinds if kind.available):
        marks = [mark for mark, has in (("pure", kind.pure), ("parks", kind.parks)) if has]
        name = f"`{kind.name}`" + (f" ({', '.join(marks)})" if marks else "")
        extras = [f"`{key}.{attribute}`" for key, names in kind.extras.items() for attribute in names]
        cells = [name, kind.summary, _fields(kind), _listed(kind.knobs), " ".join(extras)]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    lines.append("")
    unavailable = " ".join(f"`{kind.name}`" for kind in kinds if not kind.available)
    lines.append(f"These compile with a warning, and a task of them fails with `kind.unavailable`: {unavailable}.")
    return "\n".join(lines) + "\n"


def fields_markdown() -> str:
    """A table of fields and knobs for each kind that runs, as authors read it."""
    parts = [_page(kind) for kind in _kinds() if kind.available]
    names = " ".join(f"`{kind.name}`" for kind in _kinds() if not kind.available)
    return "\n".join([*parts, f"Not run by this version, fail with `kind.unavailable`: {names}.\n"])


def _page(kind: Kind) -> str:
    lines = [f"### {kind.name}", "", kind.summary, "", "| field | takes | meaning |", "|---|---|---|"]
    chosen = {name: number for number, names in enumerate(kind.one_of) for name in names}
    for name, known in kind.fields.items():
        mark = "*" if known.required else " (one of them)" if name in chosen else ""
        lines.append(_row(f"`{name}`{mark}", known))
    lines += [_row(f"`spec.{name}`", known) for name, known in kind.knobs.items()]
    if not kind.fields and not kind.knobs:
        lines = lines[:3]
    extras = [f"`outcome.{key}.{attribute}`" for key, names in kind.extras.items() for attribute in names]
    lines += ["", *([f"Result: {kind.result}."] if kind.result else [])]
    lines += [f"Also in rules: {', '.join(extras)}.", ""] if extras else [""]
    return "\n".join(lines)


def _row(name: str, known: Field) -> str:
    takes = ", ".join(f"`{value}`" for value in known.values) or " or ".join(known.shapes)
    return f"| {name} | {takes} | {known.doc.replace('|', chr(92) + '|')} |"


def _kinds() -> list[Kind]:
    return [registry.load("noetl_ir.kinds", name, "KIND", Kind) for name in registry.names("noetl_ir.kinds")]


def _fields(kind: Kind) -> str:
    """The fields of a kind, sets of alternatives first."""
    grouped = {name for names in kind.one_of for name in names}
    sets = [" | ".join(f"`{name}`" for name in names) for names in kind.one_of]
    return ", ".join([*sets, *_words({n: f for n, f in kind.fields.items() if n not in grouped})])


def _listed(fields: dict[str, Field]) -> str:
    return ", ".join(_words(fields))


def _words(fields: dict[str, Field]) -> list[str]:
    return [f"`{name}`" + ("*" if known.required else "") for name, known in fields.items()]


PARTS: dict[str, Callable[[], str]] = {
    "controlflow": pattern_page.control_flow,
    "sources": pattern_page.sources,
    "pictures": pattern_page.pictures,
    "exceptions": pattern_page.exceptions,
    "codes": codes_markdown,
    "scopes": table_markdown,
    "kinds": kinds_markdown,
    "events": events_markdown,
    "fields": fields_markdown,
    "errors": error_codes.markdown,
}
