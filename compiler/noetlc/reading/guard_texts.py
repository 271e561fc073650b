"""Guards of older dialects that are texts: templates, words and comparisons side by side.

    {{ workload.action }} == tear-down          →  workload.action == 'tear-down'
    {{ vars.code }} != 200 and {{ vars.ok }}    →  vars.code | trim != '200' and vars.ok
    {{ workload.deploy }} == true               →  workload.deploy | lower == 'true'

The older engines rendered the text and compared what stood on the two sides of `==` or `!=`, trimmed: 200 and "200" are
alike, a boolean prints `true`, and a word outside of the braces is a text, never a name (REAL.md, values).
"""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.expr import Compare, Concat, Const, Expr, Filter, ListOf, Logic, Name, Not, Text, walk
from noetl_ir.patterns import LatePattern
from noetlc.expr.errors import TemplateError
from noetlc.expr.parser import parse_expression, parse_template
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import both, compared, path

_Side: TypeAlias = "list[str | Expr]"
_Piece: TypeAlias = "tuple[str, str | Expr]"
"""Kind and value: `text`, `expr`, `quoted`, `inside`, `op`, `and`, `or`, `not`, `other`."""

_WORD = LatePattern(
    r"(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<op>==|!=)|(?P<and>&&|(?<!\S)and(?!\S))|(?P<or>\|\||(?<!\S)or(?!\S))"
    r"|(?P<not>(?<!\S)not(?!\S))|(?P<other>[<>()\[\]{}|]|(?<!\S)(?:in|is)(?!\S))"
)
_QUOTED = LatePattern(r"(['\"])\{\{((?:(?!\}\}).)*)\}\}\1")
"""A template that is all that stands in quotes."""
_NUMBER = LatePattern(r"[-+]?\d+(\.\d+)?")


_RESULT_KEYS = frozenset({"exit_code", "stdout", "stderr", "rows", "row_count"})
"""Keys of results that are written bare where there are no braces."""

_ENDS = ListOf((Const("step.done"), Const("step.failed")))


class NoGuard(Exception):
    """A text that is no guard in any way; with a text, why."""


def text_guard(text: str) -> Expr:
    """The guard that a text with templates in it is. Raises NoGuard."""
    template, errors = parse_template(text)
    if errors or not isinstance(template, Text):
        raise NoGuard
    words = list(_words(template.parts))
    # Brackets and `in` outside of the braces mean an expression that was cut into pieces, not two texts side by side.
    if any(kind == "other" for kind, _ in words):
        return _without_braces(text)
    return _Pieces(words).guard()


def bare_guard(text: str, *, in_arc: bool) -> Expr:
    """The guard that a text without any template is: an expression over the result of the step. Raises NoGuard.

    The exit code of a program is asked on failures too, since every other code than 0 is one.
    """
    # No engine ran a guard in a shell (REAL.md, values); read as words it would be a comparison that is never true.
    if "$(" in text or "`" in text:
        raise NoGuard("a guard is no shell: run the command in a task before, and ask its result")
    if text.strip().lower() in ("true", "false"):
        return Const(text.strip().lower() == "true")
    try:
        expr = parse_expression(text, 0)
    except TemplateError:
        raise NoGuard from None
    made = rewritten(expr, _of_outcome if in_arc else _of_result)
    # An arc is asked about successes alone unless it names the failure, and a program with another code than 0 has
    # failed.
    return both(compared(path("event", "name"), "in", _ENDS), made) if in_arc and "exit_code" in _names(expr) else made


def _of_result(expr: Expr) -> Expr | None:
    """The keys of results under the old name of the result."""
    return path("result", expr.name) if isinstance(expr, Name) and expr.name in _RESULT_KEYS else None


def _of_outcome(expr: Expr) -> Expr | None:
    """The keys of the outcome in arcs, where the exit code is that of the outcome, of whichever kind the tool is."""
    if isinstance(expr, Name) and expr.name == "exit_code":
        return path("event", "outcome", "shell", "exit_code")
    return _of_result(expr)


def _without_braces(text: str) -> Expr:
    """The expression that a text is with all braces taken off, as long as every name in it stood inside of them. What
    stands in quotes is the text that a template renders.
    """
    text = _QUOTED.sub(r"{{ (\2) | string }}", text)
    template = parse_template(text).template
    if not isinstance(template, Text) or any(kind == "inside" for kind, _ in _words(template.parts)):
        raise NoGuard
    bare = " ".join(text.replace("{{", " ").replace("}}", " ").split())
    try:
        expr = parse_expression(bare, 0)
    except TemplateError:
        raise NoGuard from None
    inside = Counter(name for part in template.parts if not isinstance(part, str) for name in _names(part))
    # A name that stood outside of the braces was a word for the old engines; with the braces off it would become a
    # name.
    if Counter(_names(expr)) - inside:
        raise NoGuard
    return expr


def _names(expr: Expr) -> Iterator[str]:
    return (part.name for part in walk(expr) if isinstance(part, Name))


def _words(parts: tuple[str | Expr, ...]) -> Iterator[_Piece]:
    """The pieces of a guard, in order. Quotes may hold templates, which are pieces of the kind `inside` there."""
    quote = ""
    for number, part in enumerate(parts):
        if not isinstance(part, str):
            yield "inside" if quote else "expr", part
            continue
        at = 0
        if quote:
            end = part.find(quote)
            if end < 0:
                yield "quoted", part
                continue
            yield "quoted", part[:end]
            at, quote = end + 1, ""
        while at < len(part):
            found = _WORD.search(part, at)
            opened = _opening(part, at, found.start() if found is not None else len(part))
            # A quote may be closed behind a template: `'{{ a }} b' == c`. An apostrophe that nothing closes is text.
            if opened >= 0 and any(part[opened] in later for later in parts[number + 1 :] if isinstance(later, str)):
                yield from _pieces_of(part[at:opened])
                quote = part[opened]
                yield "quoted", part[opened + 1 :]
                break
            if found is None:
                yield "text", part[at:]
                break
            if found.start() > at:
                yield "text", part[at : found.start()]
            kind = str(found.lastgroup)
            yield kind, found[0][1:-1] if kind == "quoted" else found[0]
            at = found.end()


def _opening(text: str, start: int, stop: int) -> int:
    """Where a quote opens what the same piece of text does not close, from `start` to before `stop`; -1 for nowhere."""
    return min((at for at in (text.find("'", start, stop), text.find('"', start, stop)) if at >= 0), default=-1)


def _pieces_of(text: str) -> Iterator[_Piece]:
    if text:
        yield "text", text


class _Pieces:
    """A position in the pieces of a guard."""

    def __init__(self, words: list[_Piece]) -> None:
        self._words = [(kind, value) for kind, value in words if kind != "text" or str(value)]
        self._at = 0

    def guard(self) -> Expr:
        """The whole of it. Raises NoGuard."""
        made = self._joined("or")
        if self._at < len(self._words):
            raise NoGuard
        return made

    def _joined(self, word: str) -> Expr:
        """The parts between `or`, or between `and`."""
        made = self._joined("and") if word == "or" else self._one()
        while self._takes(word):
            made = Logic(word, made, self._joined("and") if word == "or" else self._one())
        return made

    def _one(self) -> Expr:
        """A comparison, or what is asked for its own truth."""
        self._skip_space()
        if self._takes("not"):
            return Not(self._one())
        left = self._side()
        if self._at < len(self._words) and self._words[self._at][0] == "op":
            op = str(self._words[self._at][1])
            self._at += 1
            return _compared(left, op, self._side())
        return _truth(left)

    def _skip_space(self) -> None:
        while self._at < len(self._words) and self._words[self._at][0] == "text" and not _plain(self._words[self._at]):
            self._at += 1

    def _takes(self, kind: str) -> bool:
        taken = self._at < len(self._words) and self._words[self._at][0] == kind
        self._at += taken
        return taken

    def _side(self) -> _Side:
        """The pieces up to the next word that joins or compares, without white space around them."""
        side: _Side = []
        quoted = False
        while self._at < len(self._words) and self._words[self._at][0] in ("text", "expr", "quoted", "inside"):
            kind, value = self._words[self._at]
            quoted = quoted or kind in ("quoted", "inside")
            side.append(value)
            self._at += 1
        # White space in quotes belongs to the text that is compared.
        if side and isinstance(side[0], str) and not quoted:
            side[0] = side[0].lstrip()
        if side and isinstance(side[-1], str) and not quoted:
            side[-1] = side[-1].rstrip()
        return [part for part in side if part != "" and not (quoted and isinstance(part, str) and not part.strip())]


def _plain(word: _Piece) -> str:
    return word[1].strip() if isinstance(word[1], str) else ""


def _truth(side: _Side) -> Expr:
    """A guard that is asked for its own truth: one expression, or the word `true` or `false`."""
    if len(side) == 1 and not isinstance(side[0], str):
        return side[0]
    word = _literal(side)
    if word is not None and word.lower() in ("true", "false"):
        return Const(word.lower() == "true")
    raise NoGuard


def _literal(side: _Side) -> str | None:
    """The text of a side without expressions."""
    texts = [part for part in side if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(side) else None


def _compared(left: _Side, op: str, right: _Side) -> Expr:
    word, other = _literal(left), _literal(right)
    if word is not None and other is not None:
        # Two words are compared now: nothing of the run is in it.
        return Const((word == other) == (op == "=="))
    if word is not None:
        # The word is put on the right, so that one case serves both orders.
        left, right, other = right, left, word
    expr = _joined(left)
    if other is None:
        return Compare(_text(expr), ((op, _text(_joined(right))),))
    return _with_word(expr, op, other)


def _joined(side: _Side) -> Expr:
    """The one expression of a side, or all its pieces in one text."""
    parts = tuple([Const(part) if isinstance(part, str) else part for part in side])
    return parts[0] if len(parts) == 1 else Concat(parts)


def _with_word(expr: Expr, op: str, word: str) -> Expr:
    """A comparison with a word."""
    lowered = word.lower()
    if lowered in ("true", "false"):
        # A boolean of Python printed `True`, one of JSON `true`; both were meant.
        return Compare(Filter(_trimmed(expr), "lower", (), ()), ((op, Const(lowered)),))
    if lowered in ("none", "null"):
        absent = Filter(expr, "default", (Const(None),), ())
        found = Filter(_trimmed(absent), "lower", (), ())
        return Compare(found, (("in" if op == "==" else "not in", ListOf((Const("none"), Const("null")))),))
    if not word:
        absent = Filter(expr, "default", (Const(None),), ())
        # What is missing printed nothing, and so was equal to an empty text.
        return Compare(absent, (("in" if op == "==" else "not in", ListOf((Const(None), Const("")))),))
    return Compare(_text(expr) if _NUMBER.fullmatch(word) else _trimmed(expr), ((op, Const(word)),))


def _text(expr: Expr) -> Expr:
    """The text that a value prints as, trimmed."""
    return Filter(expr, "trim", (), ())


def _trimmed(expr: Expr) -> Expr:
    """The text beside a word; what the workload holds is written without white space around it."""
    found = list(accesses(expr))
    return expr if len(found) == 1 and found[0].root.name == "workload" and found[0].keys else _text(expr)
