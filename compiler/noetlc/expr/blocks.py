"""Whether the `{% … %}` tags of a text make a block template, before the worker's Jinja2 sees it."""

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from noetl_ir.expr import Expr
from noetl_ir.nearest import nearest
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetlc.expr.errors import TemplateError

Parse: TypeAlias = Callable[[str, int], Expr]

_HEAD = LatePattern(r"\{%[-+]?\s*([A-Za-z_]\w*)?")
_STOP = LatePattern(r"""%\}|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"]""", re.DOTALL)
"""What matters inside of a tag: its end, a whole string, or a quote that no other one closes.

Possessive quantifiers would say it in one pattern, but those of Python 3.11.0 to 3.11.4 do not match what they should.
"""
_SIGN = LatePattern(r"[-+]\Z")
_OPENERS = frozenset({"if", "for", "set", "filter", "with", "macro", "call", "autoescape"})
_PARTS = {"elif": ("if",), "else": ("if", "for")}
_SINGLE = frozenset({"do", "break", "continue"})
# These words load other templates or extend them, and a playbook has none to load.
_REFUSED = frozenset({"include", "import", "from", "extends", "block"})
_WORDS = sorted(_OPENERS | {f"end{word}" for word in _OPENERS} | set(_PARTS) | {"raw", "endraw"})


class _Tag(NamedTuple):
    """A tag: its word, what follows that up to its end, and where it stands."""

    word: str
    rest: str
    start: int
    end: int


def block_errors(text: str, first: int, parse: Parse) -> Iterator[TemplateError]:
    """The fault that keeps the tags from `first` on from being a block template; nothing if they are one.

    `parse` reads the expressions of conditions, as `noetlc.expr.parser.parse_expression` does.
    """
    opened: list[tuple[str, int]] = []
    at = first
    while (at := text.find("{%", at)) >= 0:
        found = _tag_at(text, at)
        if found is None:
            yield TemplateError(
                "`{%` opens a block tag that is never closed", at, at + 2,
                "write `{{ '{%' }}` or put the text between `{% raw %}` and `{% endraw %}`",
            )  # fmt: skip
            return
        if found.word == "raw":
            # Text in `raw` is for another program's braces, so nothing in it is looked at.
            at = _behind_raw(text, found.end)
            continue
        # All faults of a text are told at once, since each costs its author a run of the linter.
        yield from _tag_errors(found, opened)
        # `-%}` trims white space in Jinja2; left there it would be read as a minus.
        rest = _SIGN.sub("", found.rest)
        # Conditions alone are parsed: tags such as `for` and `set` have a grammar of their own, which only Jinja2
        # knows whole.
        if found.word in ("if", "elif") and rest.strip():
            try:
                parse(rest, found.end - 2 - len(found.rest))
            except TemplateError as error:
                yield error
        at = found.end
    for word, start in opened:
        yield TemplateError(f"`{{% {word} %}}` is never ended", start, start + 2, f"add `{{% end{word} %}}`")


def _behind_raw(text: str, at: int) -> int:
    ended = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}").search(text, at)
    return ended.end() if ended else len(text)


def _tag_at(text: str, start: int) -> _Tag | None:
    """The tag that begins at `start`; None when it never ends."""
    head = _HEAD.match(text, start)
    assert head is not None
    at = head.end()
    # A `%}` inside of quotes does not end the tag, so strings are jumped over whole; a lone quote never ends.
    while (stop := _STOP.search(text, at)) is not None and len(stop[0]) > 1:
        at = stop.end()
        if stop[0] == "%}":
            return _Tag(head[1] or "", text[head.end() : stop.start()], start, at)
    return None


def _tag_errors(found: _Tag, opened: list[tuple[str, int]]) -> Iterator[TemplateError]:
    word, start, end = found.word, found.start, found.end
    if word in _REFUSED:
        yield TemplateError(f"`{word}` is refused: a template stands alone in its field", start, end)
    elif word in _OPENERS:
        # `set x = 1` stands alone; `set x` without a value opens a block up to `endset`.
        if word != "set" or "=" not in found.rest:
            opened.append((word, start))
    elif word in _PARTS:
        if not opened or opened[-1][0] not in _PARTS[word]:
            yield TemplateError(f"`{word}` stands outside {' and '.join(_PARTS[word])}", start, end)
    elif word.startswith("end") and word[3:] in _OPENERS:
        if not opened or opened[-1][0] != word[3:]:
            yield TemplateError(f"`{word}` ends nothing", start, end)
        else:
            opened.pop()
    elif word not in _SINGLE:
        near = nearest(word, _WORDS)
        help = f"did you mean `{near}`?" if near else "put text with `{%` between `{% raw %}` and `{% endraw %}`"
        yield TemplateError(f"there is no block tag `{word}`", start, end, help)
