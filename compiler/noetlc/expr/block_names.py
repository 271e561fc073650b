"""The names that the expressions of a block template (`{% %}`) read: each with the names that the template itself
binds there.

    {% for row in result.rows %}{{ row.id }} of {{ total }}{% endfor %}    reads `result`, and `total`

Scopes are those of Jinja2 3.1 ("Template Designer Documentation", "Scoping Behavior"): `for`, `with`, `macro`, `call`,
`filter` and a block `set` open one, and what a branch of `if` sets is known behind it. Comments and raw text read
nothing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from noetl_ir.expr import Block, Expr, ListTemplate, MapTemplate, Name, Template, expressions_of
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetlc.expr import lalr
from noetlc.expr.errors import TemplateError
from noetlc.expr.paths import accesses
from noetlc.expr.tokens import END, ExpressionTokens, LexedToken, tokens_until_braces, tokens_until_tag

Tokens = list[LexedToken]

_OPENING = LatePattern(r"\{(?:\{[-+]?|#|%[-+]?\s*(?P<word>\w*))")
_BEHIND = {"#": re.compile(r"#\}"), "raw": re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")}
_CALLEE = frozenset({"varargs", "kwargs", "caller"})
_NOT_NAMES = frozenset({"DOT", "PIPE", "IS"})


class BlockExpression(NamedTuple):
    """An expression in a block template, with offsets in the template's text, and the names that are bound there.

    `start` and `end` are where it stands, brackets around it too; both are 0 where no text of its own is in its place.
    """

    expr: Expr
    bound: frozenset[str]
    start: int = 0
    end: int = 0


class _Frame:
    """An open block: the names that it binds, and those that its branches before this one did."""

    __slots__ = ("branches", "names", "word")

    def __init__(self, word: str, names: frozenset[str] = frozenset()) -> None:
        self.word = word
        self.names = names
        self.branches: frozenset[str] = frozenset()


# Rules, lowering and the emitter ask for the same text one after another; block templates are few in a file.
@lru_cache(maxsize=256)
def expressions_inside(text: str) -> tuple[BlockExpression, ...]:
    """The expressions of a block template, in the order of its text. One that cannot be read is its names alone."""
    return tuple(_Walk(text).found())


def expressions_within(template: Template) -> Iterator[BlockExpression]:
    """Every expression of a template, those of its block templates too."""
    match template:
        case Block(text=text):
            yield from expressions_inside(text)
        case MapTemplate(items=pairs):
            for _, inner in pairs:
                yield from expressions_within(inner)
        case ListTemplate(items=items):
            for inner in items:
                yield from expressions_within(inner)
        case _:
            yield from (BlockExpression(expr, frozenset()) for expr in expressions_of(template))


def names_bound_in(text: str) -> frozenset[str]:
    """The names that a block template gives a meaning of its own before some expression in it."""
    return frozenset[str]().union(*(one.bound for one in expressions_inside(text)))


@lru_cache(maxsize=256)
def free_names(text: str) -> tuple[Name, ...]:
    """Every use of a name that the template does not bind itself, in the order of its text."""
    inside = expressions_inside(text)
    roots = (access.root for one in inside for access in accesses(one.expr) if access.root.name not in one.bound)
    return tuple(sorted(roots, key=lambda root: root.start))


class _Walk:
    """A position in the text of a block template, and the blocks that are open there, the outermost first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open = [_Frame("")]

    def found(self) -> Iterator[BlockExpression]:
        at = 0
        while (opening := _OPENING.search(self._text, at)) is not None:
            at, word = opening.end(), opening["word"]
            # Neither comments nor raw text hold names, whatever they look like.
            skipped = _BEHIND.get("#" if opening[0] == "{#" else word or "")
            if skipped is not None:
                ended = skipped.search(self._text, at)
                at = ended.end() if ended else len(self._text)
                continue
            # A tag that cannot be cut into tokens was reported by `blocks`; here it reads nothing, and reading goes
            # on behind it.
            run = self._run(at, word)
            if run is not None:
                at = run.end
                tokens = run.tokens[:-1]
                yield from self._read(tokens) if word is None else self._tag(word, tokens)

    def _run(self, at: int, word: str | None) -> ExpressionTokens | None:
        try:
            return tokens_until_braces(self._text, at) if word is None else tokens_until_tag(self._text, at)
        except TemplateError:
            return None

    # Tags

    def _tag(self, word: str, tokens: Tokens) -> Iterator[BlockExpression]:
        match word:
            case "for":
                yield from self._for(tokens)
            case "set":
                yield from self._set(tokens)
            case "if":
                yield from self._read(tokens)
                self._open.append(_Frame(word))
            case "elif" | "else":
                self._branch()
                yield from self._read(tokens)
            case "with":
                yield from self._with(tokens)
            case "macro":
                yield from self._macro(tokens)
            case "call":
                yield from self._call(tokens)
            case "filter":
                yield from self._filtered(tokens)
                self._open.append(_Frame(word))
            case "autoescape":
                yield from self._read(tokens)
                self._open.append(_Frame(word))
            case _ if word.startswith("end"):
                self._end()
            case _:
                yield from self._read(tokens)

    def _for(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """`for TARGETS in EXPRESSION if EXPRESSION recursive`."""
        # `recursive` is a word of the tag at its end, and a name anywhere else, also behind a dot or a pipe.
        if tokens and tokens[-1][1] == "recursive" and len(tokens) > 1 and tokens[-2][0] not in _NOT_NAMES:
            tokens = tokens[:-1]
        targets, listed = _cut(tokens, "IN")
        # The loop's own names are known to its condition and not to what it goes over.
        items, asked = _cut(listed, "IF")
        yield from self._read(items)
        names = _targets(targets)
        yield from self._read(asked, names)
        # Jinja2 gives every `for` a name `loop`.
        self._open.append(_Frame("for", names | {"loop"}))

    def _set(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """`set TARGETS = EXPRESSION`, or `set TARGET | FILTER` up to its end."""
        targets, value = _cut(tokens, "ASSIGN")
        # `set x` without `=` takes all up to `endset` as its value.
        is_block = not any(kind == "ASSIGN" for kind, *_ in tokens)
        if is_block:
            targets, _ = _cut(tokens, "PIPE")
            yield from self._filtered(tokens[len(targets) + 1 :])
        yield from self._read(value)
        parts = [part for part in _parts(targets) if len(part) == 1]
        # `set ns.x = 1` writes to a namespace: `ns` is read, and no name is bound.
        yield from (inside for part in _parts(targets) if len(part) > 1 for inside in self._read(part[:1]))
        names = frozenset(str(part[0][1]) for part in parts)
        self._open[-1].names |= names
        if is_block:
            self._open.append(_Frame("set"))

    def _with(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """`with NAME = EXPRESSION, …`: the values are those around it."""
        names = set[str]()
        for part in _parts(tokens):
            target, value = _cut(part, "ASSIGN")
            names |= _targets(target)
            yield from self._read(value)
        self._open.append(_Frame("with", frozenset(names)))

    def _macro(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """`macro NAME(NAME, NAME = EXPRESSION)`."""
        # A macro's name is known around it, its parameters only inside.
        self._open[-1].names |= _targets(tokens[:1])
        self._open.append(_Frame("macro", _CALLEE))
        for part in _parts(tokens[2:-1]):
            target, value = _cut(part, "ASSIGN")
            yield from self._read(value)
            self._open[-1].names |= _targets(target)

    def _call(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """`call(NAME) EXPRESSION`."""
        names: frozenset[str] = frozenset()
        if tokens and tokens[0][0] == "LPAR":
            targets, tokens = _cut(tokens[1:], "RPAR")
            names = _targets(targets)
        yield from self._read(tokens)
        self._open.append(_Frame("call", names | _CALLEE))

    def _filtered(self, tokens: Tokens) -> Iterator[BlockExpression]:
        """The arguments of filters that stand for themselves."""
        if tokens:
            start = tokens[0][2]
            # A constant in front makes an expression of filters that stand alone.
            yield from self._read([("CONST", None, start, start), ("PIPE", "|", start, start), *tokens])

    def _branch(self) -> None:
        """The next branch of an `if`, or what is done where a `for` had nothing."""
        frame = self._open[-1]
        # What a branch sets is unknown in the next branch, and known behind the whole: it may have been the one that
        # was taken.
        frame.branches |= frame.names if frame.word == "if" else frozenset()
        frame.names = frozenset()

    def _end(self) -> None:
        # An end without a beginning is reported elsewhere; the outermost frame stays.
        if len(self._open) > 1:
            frame = self._open.pop()
            self._open[-1].names |= frame.names | frame.branches if frame.word == "if" else frozenset()

    # Expressions

    def _read(self, tokens: Tokens, more: frozenset[str] = frozenset()) -> Iterator[BlockExpression]:
        """The expressions that tokens are, several with commas between them."""
        bound = more.union(*(frame.names for frame in self._open))
        for part in _parts(tokens):
            at = part[-1][3]
            # The constant in front of filters that stand alone has no text.
            first = part[0][2] if part[0][2] < part[0][3] else at
            try:
                yield BlockExpression(
                    lalr.parse([*part, (END, "", at, at)]), bound, *((first, at) if first < at else (0, 0))
                )
            # Jinja2 knows more than our grammar in tags; the names are taken from the tokens, so that no use of one
            # is overlooked.
            except TemplateError:
                yield from (BlockExpression(name, bound) for name in _names(part))


def _cut(tokens: Tokens, kind: str) -> tuple[Tokens, Tokens]:
    """The tokens before the first of a kind that stands in no brackets, and those behind it."""
    depth = 0
    for place, token in enumerate(tokens):
        # A closing bracket too many gives a depth below zero: the text is wrong, and still cut where it can be.
        if depth <= 0 and token[0] == kind:
            return tokens[:place], tokens[place + 1 :]
        depth += _deeper(token)
    return tokens, []


def _parts(tokens: Tokens) -> Iterator[Tokens]:
    """The tokens between commas that stand in no brackets."""
    while tokens:
        part, tokens = _cut(tokens, "COMMA")
        if part:
            yield part


def _deeper(token: LexedToken) -> int:
    return (token[0] in ("LPAR", "LSQB", "LBRACE")) - (token[0] in ("RPAR", "RSQB", "RBRACE"))


def _targets(tokens: Tokens) -> frozenset[str]:
    """The names among tokens that are given a value."""
    return frozenset(str(value) for kind, value, _, _ in tokens if kind in ("NAME", "KEY"))


def _names(tokens: Tokens) -> Iterator[Name]:
    """The names that tokens read, where they make no expression of ours."""
    before = ""
    for kind, value, start, end in tokens:
        if kind == "NAME" and before not in _NOT_NAMES:
            yield Name(str(value), start, end)
        before = "IS" if before == "IS" and kind == "NOT" else kind
