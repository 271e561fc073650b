"""Semantic tokens: the names, texts and operators inside of templates, and the words of embedded Python and SQL.

YAML itself is left to the editor; what it cannot know is which scalar is a template and which is code.
"""

import re
from collections.abc import Iterator
from keyword import kwlist, softkwlist
from typing import TYPE_CHECKING

from noetl_ir.records import NamedTuple
from noetl_ir.scopes import RESERVED
from noetl_ir.scopes.vocabulary import FILTERS, FUNCTIONS, TESTS
from noetlc.lsp.known import KnownFile
from noetlc.lsp.symbols import Scalars, scalars_in
from noetlc.reading.kinds import kind_of
from noetlc.source.nodes import Mapping, Scalar

if TYPE_CHECKING:
    from noetlc.lsp.positions import Positions

TYPES = ("variable", "property", "function", "string", "number", "keyword", "operator", "comment", "parameter")
"""The types of tokens, by whose numbers the protocol tells them."""

# Patterns and no parser: a token is wanted in a text that is half typed, too, where a parser has nothing.
_TEMPLATE = re.compile(r"\{\{[-+]?(.*?)[-+]?\}\}|\{%[-+]?(.*?)[-+]?%\}", re.DOTALL)
_EXPRESSION = re.compile(
    r"(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")"
    r"|(?P<number>\b\d[\d_.]*\b)|(?P<word>[^\W\d]\w*)|(?P<operator>\*\*|//|==|!=|>=|<=|[-+/*%~><|])"
)
_EXPRESSION_WORDS = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"}
    | {"for", "endfor", "endif", "elif", "set", "endset", "filter", "endfilter", "macro", "endmacro", "with", "endwith"}
)
_PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*)|(?P<string>[rbfRBF]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"))|(?P<number>\b\d[\w.]*)|(?P<call>[^\W\d]\w*(?=\())|(?P<word>[^\W\d]\w*)",
    re.DOTALL,
)
_PYTHON_WORDS = frozenset(kwlist) | (frozenset(softkwlist) - {"_", "type"})
_SQL = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<string>'[^']*(?:''[^']*)*')|(?P<parameter>(?<![:\w]):[A-Za-z_]\w*|\$\d+|%\(\w+\)s)"
    r"|(?P<number>\b\d[\d.]*\b)|(?P<call>[A-Za-z_]\w*(?=\())|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL,
)
_SQL_TEXT = """
    add all alter and any as asc attach begin between by case cast check column commit conflict constraint copy create
    cross database default delete desc describe detach distinct do drop else end except exclude exists explain extension
    false filter first for foreign from full function group having if ilike in index inner insert install intersect into
    is join key last lateral left like limit load materialized natural not nothing null nulls of offset on or order
    outer over partition pragma primary qualify references rename replace returning right rollback row rows schema
    select sequence set show summarize table temp temporary then to transaction trigger true truncate union unique
    unnest update use using values view when where window with
"""
_SQL_WORDS = frozenset(_SQL_TEXT.split())


class SemanticToken(NamedTuple):
    """A token in one line, by its offset in the text of the file and its length, both in code points."""

    start: int
    length: int
    type: str


def tokens_in(known: KnownFile) -> list[SemanticToken]:
    """The tokens of a file in its order, none over another."""
    found: list[SemanticToken] = []
    for root, _ in known.documents:
        for one in scalars_in(root):
            if not one.is_key:
                found += _tokens(known, one)
    out: list[SemanticToken] = []
    # An aliased scalar is met again at each use, at the place of its anchor.
    for token in sorted(set(found)):
        if not out or token.start >= out[-1].start + out[-1].length:
            out.append(token)
    return out


def encoded(tokens: list[SemanticToken], at: "Positions") -> list[int]:
    """The tokens as the protocol has them: each by its distance from the one before, in positions."""
    data: list[int] = []
    line = column = 0
    for token in tokens:
        place = at.between(token.start, token.start + token.length)
        start = place.start
        # Columns are relative within a line alone, as the protocol has it.
        data += [start.line - line, start.character - (column if start.line == line else 0)]
        data += [place.end.character - start.character, TYPES.index(token.type), 0]
        line, column = start.line, start.character
    return data


def _tokens(known: KnownFile, one: Scalars) -> Iterator[SemanticToken]:
    text = one.scalar.text
    language = language_of(one)
    if language == "code":
        yield from _placed(known, one.scalar, _words(text, _PYTHON, _PYTHON_WORDS, 0))
    elif language == "sql":
        # A template in a statement is one before it is SQL.
        templates = [(found.start(), found.end()) for found in _TEMPLATE.finditer(text)]
        words = [
            word
            for word in _words(text, _SQL, _SQL_WORDS, 0)
            if not any(start <= word.start < end for start, end in templates)
        ]
        yield from _placed(known, one.scalar, words)
    # Code is never a template: its braces are its own.
    if language != "code" and "{" in text:
        for found in _TEMPLATE.finditer(text):
            group = 1 if found[1] is not None else 2
            yield from _placed(known, one.scalar, _expression(found[group], found.start(group)))


def language_of(one: Scalars) -> str:
    """How the kind of the task around reads a scalar: `code`, `sql`, or "" for a template."""
    node, key = (one.levels[-1].node, one.levels[-1].key) if one.levels else (None, None)
    if isinstance(key, int) and len(one.levels) > 1:
        node, key = one.levels[-2].node, one.levels[-2].key  # one of several statements
    word = node.get("kind") if isinstance(node, Mapping) else None
    kind = kind_of(word.text) if isinstance(word, Scalar) else None
    field = kind.fields.get(key) if kind is not None and isinstance(key, str) else None
    return field.text if field is not None and field.text in ("code", "sql") else ""


def _words(text: str, pattern: "re.Pattern[str]", keywords: frozenset[str], offset: int) -> Iterator[SemanticToken]:
    for found in pattern.finditer(text):
        sort = found.lastgroup or ""
        if sort in ("word", "call"):
            is_keyword = found[0] in keywords or (pattern is _SQL and found[0].lower() in keywords)
            sort = "keyword" if is_keyword else "function" if sort == "call" else ""
        if sort:
            yield SemanticToken(offset + found.start(), len(found[0]), sort)


def _expression(text: str, offset: int) -> Iterator[SemanticToken]:
    """The tokens of an expression; names behind a dot are keys, behind a bar filters."""
    before = ""
    for found in _EXPRESSION.finditer(text):
        word, sort = found[0], found.lastgroup or ""
        if sort == "word":
            dotted = text[: found.start()].rstrip().endswith(".")
            if dotted:
                sort = "property"
            elif (before == "|" and word in FILTERS) or (before in ("is", "not") and word in TESTS):
                sort = "function"
            elif word in _EXPRESSION_WORDS:
                sort = "keyword"
            elif word in FUNCTIONS and text[found.end() :].lstrip().startswith("("):
                sort = "function"
            else:
                sort = "parameter" if word in RESERVED else "variable"
        before = word
        yield SemanticToken(offset + found.start(), len(word), sort)


def _placed(
    known: KnownFile, scalar: Scalar, words: "Iterator[SemanticToken] | list[SemanticToken]"
) -> Iterator[SemanticToken]:
    """Tokens of a scalar's text as tokens of the file, each in one line."""
    for word in words:
        span = known.source.inner_span(scalar, word.start, word.start + word.length)
        # Where the text cannot be found in the file, the span is that of the whole scalar.
        if span == scalar.span and word.length != len(scalar.text):
            continue
        for line in range(span.line, span.end_line + 1):
            text = known.source.line_text(line)
            first = span.column if line == span.line else len(text) - len(text.lstrip()) + 1
            last = span.end_column if line == span.end_line else len(text) + 1
            if last > first:
                yield SemanticToken(known.source.offset_of(line, first), last - first, word.type)
