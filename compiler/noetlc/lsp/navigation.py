"""Where a name is declared, where it is used, and all of it under another name."""

import re
from collections.abc import Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.scopes import RESERVED
from noetl_ir.span import Span
from noetlc.ast.graph import END, ENTRY
from noetlc.lsp.cursor import touches
from noetlc.lsp.known import KnownFile
from noetlc.lsp.symbols import Occurrence, Symbol, scalars_in
from noetlc.lsp.tokens import language_of


class Refused(NamedTuple):
    """Why a name cannot be changed to another one."""

    reason: str


_NAME = re.compile(r"[A-Za-z_][\w./-]*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_WHAT = {
    "step": "a step", "task": "a task", "ctx": "a key of `ctx`", "iter": "a key of `iter`", "iterator": "an iterator",
    "workload": "a key of `workload`", "secret": "an entry of the keychain", "entry": "an entry of the workbook",
    "playbook": "a playbook",
}  # fmt: skip
_OF_CONTEXT = frozenset({"step", "task", "ctx", "iter", "iterator", "workload"})
"""The sorts of symbols that Python code reaches by name."""

_MAIN = re.compile(r"def\s+main\s*\(([^)]*)\)")
RENAMED = frozenset(_WHAT)
"""The sorts of symbols that can have another name."""


def occurrence_at(found: Sequence[Occurrence], line: int, column: int) -> Occurrence | None:
    """The occurrence at a place; a cursor behind the last character counts."""
    here = [one for one in found if touches(one.span, line, column)]
    return min(here, key=lambda one: _size(one.span), default=None)


def alike(found: Sequence[Occurrence], symbol: Symbol, *, declaring: bool | None = None) -> list[Occurrence]:
    """The occurrences of a symbol, of both kinds or only those that declare it or do not."""
    return [one for one in found if one.symbol == symbol and declaring in (None, one.declares)]


def refusal(found: Sequence[Occurrence], symbol: Symbol, name: str, *, has_entry: bool) -> Refused | None:
    """Why a symbol cannot get a name; None where it can. What would change the meaning of anything is refused.

    `has_entry` says that the playbook names the step that it begins at.
    """
    # Edits replace bare characters: a name that needs quotes would need them at each place, some of which are in
    # expressions.
    if not _NAME.fullmatch(name) or name.lower() in _YAML_WORDS:
        return Refused(f"`{name}` is no name that can stand without quotes")
    if name == symbol.name:
        return None
    if symbol.sort == "playbook":
        return None
    if name in RESERVED or name.startswith("__"):
        return Refused(f"`{name}` is a scope of expressions")
    if symbol.sort == "step" and symbol.name == ENTRY and not has_entry:
        return Refused(
            f"a run begins at `{ENTRY}` by its name: write `executor: {{spec: {{entry_step: {ENTRY}}}}}` first"
        )
    if symbol.sort == "step" and name == END:
        return Refused(f"an arc to `{END}` ends a token")
    own = alike(found, symbol)
    # Declared elsewhere, or by a lowered construct: the declaration would keep the old name.
    if not own or not any(one.declares for one in own):
        return Refused(f"`{symbol.name}` is not declared in this file")
    bare = [one for one in own if one.bare]
    # `steps['a-b']` may name any step; the names of other sorts are reached behind a dot or bare.
    if not _IDENTIFIER.fullmatch(name) and (bare or symbol.sort in ("task", "ctx", "iter", "iterator")):
        return Refused(f"`{name}` cannot stand in an expression, where `{symbol.name}` does")
    other = next((one for one in found if one.symbol.name == name and _shares(one.symbol, symbol)), None)
    if other is not None:
        return Refused(f"`{name}` is {_WHAT[other.symbol.sort]} already, in line {other.span.line}")
    return None


def line_of_code(known: KnownFile, symbol: Symbol) -> int:
    """The line of Python code that may ask for a symbol by its name, through `context` or as a parameter of `main`; 0
    where none does.
    """
    if symbol.sort not in _OF_CONTEXT:
        return 0
    word = re.compile(rf"\b{re.escape(symbol.name)}\b")
    for one in scalars_in(known.documents[symbol.document][0]):
        if one.is_key or language_of(one) != "code" or not word.search(one.scalar.text):
            continue
        # A word of the code's own looks the same: rather refused than another value in the next run.
        if "context" in one.scalar.text or any(word.search(found) for found in _MAIN.findall(one.scalar.text)):
            return one.scalar.span.line
    return 0


def _shares(one: Symbol, other: Symbol) -> bool:
    """Whether two symbols may be asked for by one word in one place."""
    return one.document == other.document and (not one.owner or not other.owner or one.owner == other.owner)


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column
