"""Text to expressions and templates.

Simple expressions never reach the tables (`noetlc.expr.quick`), and no text is parsed twice. A file in which all are
simple starts without the grammar, and one without tags without what knows tags.
"""

from noetl_ir.expr import Block, Expr, Literal, Native, Template, Text
from noetl_ir.records import NamedTuple
from noetlc.expr.errors import TemplateError
from noetlc.expr.known import check_known
from noetlc.expr.pieces import pieces_of
from noetlc.expr.quick import quick

CACHE_SIZE = 20_000
"""How many texts are remembered before the cache starts anew."""


class Parsed(NamedTuple):
    """A template and what is wrong with it. With errors, the wrong pieces are plain text in the template."""

    template: Template
    errors: tuple[TemplateError, ...]


_templates: dict[str, Parsed] = {}
_expressions: dict[str, Expr] = {}


def parse_template(text: str) -> Parsed:
    """The template that a text in a playbook is. Never raises.

    A lone `{{ expression }}`, white space and comments around it aside, is `Native`; other text with
    expressions is `Text`, without any `Literal`; with well-formed block tags it is `Block`.
    """
    # Most strings of a playbook hold no brace; they cost neither the cache's lookup nor its memory.
    if "{" not in text:
        return Parsed(Literal(text), ())
    found = _templates.get(text)
    if found is None:
        if len(_templates) >= CACHE_SIZE:
            # Emptied whole: to know which text is the oldest would cost something at every hit.
            _templates.clear()
        found = _templates[text] = _template(text)
    return found


def parse_expression(text: str, offset: int = 0) -> Expr:
    """The expression that a text without braces around it is. Raises TemplateError.

    `offset` is where the text stands in a larger one: it is added to all offsets.
    """
    if offset:
        # Offsets count from the larger text's start, so the white space stands for what is in front.
        padded = " " * offset + text
        return _expression(padded, offset)
    found = _expressions.get(text)
    if found is None:
        if len(_expressions) >= CACHE_SIZE:
            _expressions.clear()
        found = _expressions[text] = _expression(text, 0)
    return found


def is_expression(text: str) -> bool:
    """Whether a text without braces around it is an expression."""
    try:
        parse_expression(text)
    except TemplateError:
        return False
    return True


def _template(text: str) -> Parsed:
    parts, errors, block = pieces_of(text, _read)
    if block >= 0:
        from noetlc.expr.blocks import block_errors

        # A text that fails as a block is still given as pieces, so that the names in its good parts are checked.
        tags = tuple(block_errors(text, block, parse_expression))
        if not tags and not errors:
            return Parsed(Block(text), ())
        errors = tuple(sorted({*errors, *tags}, key=lambda error: (error.start, error.end, error.message)))
    lone = [part for part in parts if not isinstance(part, str)]
    # Only comments or wrong pieces were in the braces, so that nothing is left to compute.
    if not lone:
        return Parsed(Literal("".join(str(part) for part in parts)), errors)
    # White space around a lone expression comes from YAML's folding; the value keeps its type and is not made a text.
    if len(lone) == 1 and all(part is lone[0] or not str(part).strip() for part in parts):
        return Parsed(Native(lone[0], text), errors)
    return Parsed(Text(parts, text), errors)


def _read(text: str, start: int) -> tuple[Expr, int, str]:
    """The expression behind `{{`, where its `}}` ends, and that closer."""
    close = text.find("}}", start)
    if close >= 0:
        # A `}}` found by search may stand in a string, as in `{{ "}}" }}`; `quick` gives None for the half of a
        # string.
        expr = quick(text, start, close)
        if expr is not None:
            return expr, close + 2, "}}"
    from noetlc.expr import lalr
    from noetlc.expr.tokens import tokens_until_braces

    tokens, end, closer = tokens_until_braces(text, start)
    return _checked(lalr.parse(tokens)), end, closer


def _expression(text: str, start: int) -> Expr:
    # `quick` knows the filters and tests itself and reads no calls: what it gives needs no check.
    if (expr := quick(text, start, len(text))) is not None:
        return expr
    from noetlc.expr import lalr
    from noetlc.expr.tokens import tokens_of

    return _checked(lalr.parse(tokens_of(text)))


def _checked(expr: Expr) -> Expr:
    check_known(expr)
    return expr
