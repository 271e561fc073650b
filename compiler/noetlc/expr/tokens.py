"""The text of an expression to tokens, by Jinja2's lexical rules.

A token is `(kind, value, start, end)` with the kind named as in `noetlc.expr.grammar`. Words are keywords by
what stands around them: behind `.`, `|` and `is` any word is a name, as in Jinja2's parser.
"""

import re
import warnings
from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.records import NamedTuple
from noetlc.expr.errors import TemplateError

_Value: TypeAlias = bool | int | float | str | None
LexedToken: TypeAlias = tuple[str, _Value, int, int]

MAX_BRACKETS = 100
"""How deep brackets may nest in an expression; the same bound holds for the tree (`noetlc.expr.lalr`)."""

_SHOWN = 60
"""How long an expression is that a help repeats."""

END = "$END"

_TOKEN = r"""(?isx)(?P<SPACE>\s+)
    |(?P<FLOAT>(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+\-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+))
    |(?P<INT>0b(?:_?[0-1])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*)
    |(?P<WORD>(?:\w|[^\x00-\x7f\s])+)
    |(?P<STRING>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<OPEN>[(\[{])
    |(?P<CLOSE>[)\]}])
    |(?P<OPERATOR>\*\*|//|==|!=|>=|<=|[-+/*%~><=.:|,])"""
_KEYWORD_ARGUMENT = re.compile(r"\s*=(?!=)")

_OPERATORS = {
    "+": "PLUS", "-": "MINUS", "/": "SLASH", "//": "DOUBLE_SLASH", "*": "STAR", "**": "DOUBLE_STAR",
    "%": "PERCENT", "~": "TILDE", "==": "EQ", "!=": "NE", ">": "GT", ">=": "GE", "<": "LT", "<=": "LE",
    "=": "ASSIGN", ".": "DOT", ":": "COLON", "|": "PIPE", ",": "COMMA",
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE",
}  # fmt: skip
_CLOSER = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = {word: word.upper() for word in ("and", "or", "not", "in", "is", "if", "else")}
CONSTANTS: dict[str, bool | None] = {
    "true": True, "True": True, "false": False, "False": False, "none": None, "None": None,
}  # fmt: skip
_FOREIGN = {
    "&": "write `and`", "!": "write `not`, or `!=` to compare", "?": "write `a if condition else b`",
    "$": "a name stands alone between the braces, without `$`", ";": "an expression is one value",
    "`": "text stands in `'…'` or `\"…\"`", "'": "the quote is not closed", '"': "the quote is not closed",
    "@": "", "^": "write `**` for a power", "\\": "a backslash is legal only inside quotes",
}  # fmt: skip


class ExpressionTokens(NamedTuple):
    """The tokens of one expression, `END` last, and where its text ended (behind `}}` in a template)."""

    tokens: list[LexedToken]
    end: int
    closed: str


def tokens_of(text: str) -> list[LexedToken]:
    """The tokens of a text that is one expression."""
    return _scan(text, 0, None).tokens


def tokens_until_braces(text: str, start: int) -> ExpressionTokens:
    """The tokens from `start` up to the `}}` or `-}}` that closes the expression."""
    return _scan(text, start, _CLOSING)


def tokens_until_tag(text: str, start: int) -> ExpressionTokens:
    """The tokens from `start` up to the `%}`, `-%}` or `+%}` that closes a tag."""
    return _scan(text, start, _CLOSING_TAG)


_CLOSING = re.compile(r"-?\}\}")
_CLOSING_TAG = re.compile(r"[-+]?%\}")


def _scan(text: str, at: int, closing: "re.Pattern[str] | None") -> ExpressionTokens:
    tokens: list[LexedToken] = []
    brackets: list[tuple[str, int]] = []
    add = tokens.append
    match = re.compile(_TOKEN).match  # when it is needed: most files have plain expressions only
    first, size = at, len(text)
    while at < size:
        # Only outside of brackets: the `}}` of `{{ {'a': {}} }}` closes two mappings.
        if closing is not None and not brackets and (end := closing.match(text, at)):
            add((END, "", at, at))
            return ExpressionTokens(tokens, end.end(), end.group())
        found = match(text, at)
        if found is None:
            raise _stray(text, at, text[at])
        kind, start, at = found.lastgroup, at, found.end()
        if kind == "SPACE":
            continue
        if kind == "OPERATOR":
            word = found.group()
            add((_OPERATORS[word], word, start, at))
        elif kind == "WORD":
            word = found.group()
            word_kind = _kind_of(word, tokens, text, start, at)
            add((word_kind, CONSTANTS[word] if word_kind == "CONST" else word, start, at))
        elif kind == "STRING":
            add(("STRING", _unescaped(found.group()[1:-1], start, at), start, at))
        elif kind == "OPEN" or kind == "CLOSE":
            word = found.group()
            # A single `}` at this place is the half of an end, the most frequent slip in templates.
            if not brackets and word == "}" and closing is _CLOSING:
                raise TemplateError("`}` closes nothing", start, start + 1, _two_braces(text[first:start].strip()))
            _balance(brackets, word, start)
            add((_OPERATORS[word], word, start, at))
        else:
            add((str(kind), _number(found.group(), start, at), start, at))
    if closing is not None:
        raise TemplateError("`{{` is never closed", max(first - 2, 0), size, "close the expression with `}}`")
    if brackets:
        word, start = brackets[-1]
        raise TemplateError(f"`{word}` is never closed", start, start + 1, f"add the `{_CLOSER[word]}`")
    add((END, "", size, size))
    return ExpressionTokens(tokens, size, "")


def _two_braces(inner: str) -> str:
    shown = inner if inner and len(inner) <= _SHOWN and "\n" not in inner else "…"
    return f"a template ends with two braces: `{{{{ {shown} }}}}`"


def _kind_of(word: str, tokens: list[LexedToken], text: str, start: int, end: int) -> str:
    if not word.isidentifier():
        raise TemplateError(f"`{word}` is not a name", start, end, "names have letters, digits and `_`")
    before = tokens[-1][0] if tokens else ""
    if before == "DOT" or before == "PIPE":
        return "NAME"
    # Behind `is` every word but `not` is a test's name, `in` and `none` among them.
    if before == "IS":
        return "NOT" if word == "not" else "NAME"
    if before == "NOT" and len(tokens) > 1 and tokens[-2][0] == "IS":
        return "NAME"
    # Behind a bracket or comma a name with one `=` is a parameter's, even where it is a keyword: `f(if=1)`.
    if before in ("LPAR", "COMMA") and _KEYWORD_ARGUMENT.match(text, end):
        return "KEY"
    if word in KEYWORDS:
        # Jinja2 takes such a word for the test's argument, or refuses it: the two readings must not differ.
        if word in ("in", "not", "is", "if") and _is_test_name(tokens):
            raise TemplateError(f"`{word}` cannot follow a test directly", start, end, "put the test in parentheses")
        return KEYWORDS[word]
    return "CONST" if word in CONSTANTS else "NAME"


def _is_test_name(tokens: list[LexedToken]) -> bool:
    """Whether the last token is the name of a test, which may be dotted, so that Jinja2 wants its argument."""
    at = len(tokens) - 1
    while at >= 2 and tokens[at][0] == "NAME" and tokens[at - 1][0] == "DOT":
        # A dotted name is walked back over two tokens a part.
        at -= 2
    if at < 1 or tokens[at][0] != "NAME":
        return False
    if tokens[at - 1][0] == "IS":
        return True
    return at >= 2 and tokens[at - 1][0] == "NOT" and tokens[at - 2][0] == "IS"


def _balance(brackets: list[tuple[str, int]], word: str, start: int) -> None:
    if word in _CLOSER:
        # Counted here already, before a deep text has cost a parse.
        if len(brackets) >= MAX_BRACKETS:
            raise TemplateError(
                f"brackets nest deeper than {MAX_BRACKETS} levels", start, start + 1,
                "compute parts of it in a task of their own",
            )  # fmt: skip
        brackets.append((word, start))
        return
    if not brackets:
        raise TemplateError(f"`{word}` closes nothing", start, start + 1)
    opened, where = brackets.pop()
    if _CLOSER[opened] != word:
        raise TemplateError(
            f"expected `{_CLOSER[opened]}`, found `{word}`", start, start + 1,
            f"the `{opened}` at column {where + 1} of the text is still open",
        )  # fmt: skip


def _number(word: str, start: int, end: int) -> int | float:
    # Jinja2 allows `1_000`, as Python does.
    digits = word.replace("_", "").lower()
    if "." in digits or ("e" in digits and not digits.startswith("0x")):
        value = float(digits)
        # `1e999` is infinite in Python; JSON has no such number.
        if value in (float("inf"), float("-inf")):
            raise TemplateError("the number is too large", start, end)
        return value
    try:
        return int(digits, 0)
    # Python refuses to read more than 4,300 digits.
    except ValueError:
        raise TemplateError("the number has more digits than can be read", start, end) from None


def _unescaped(body: str, start: int, end: int) -> str:
    if "\\" not in body:
        return body
    with warnings.catch_warnings():
        # An unknown escape stays as written, as in Jinja2; Python would warn about it.
        warnings.simplefilter("ignore")
        try:
            # Jinja2's own way, so that every escape gives the same text here and in a block template of the worker.
            return body.encode("ascii", "backslashreplace").decode("unicode-escape")
        except UnicodeDecodeError as error:
            raise TemplateError(f"bad escape in the text: {error.reason}", start, end) from None


def _stray(text: str, at: int, character: str) -> TemplateError:
    help = _FOREIGN.get(character, "")
    if text.startswith("||", at):
        help = "write `or`"
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    if character in "'\"":
        return TemplateError("the text is never closed", at, len(text), help)
    return TemplateError(f"unexpected `{shown}`", at, at + 1, help)


def words_of(tokens: list[LexedToken]) -> Iterator[str]:
    """The names among the tokens, as written."""
    return (str(value) for kind, value, _, _ in tokens if kind == "NAME")
