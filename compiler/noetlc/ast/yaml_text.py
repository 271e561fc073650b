"""Plain values as YAML text that reads back as the same values, whatever they are: block style, stable, no library."""

from collections.abc import Iterator
from re import compile as pattern

from noetl_ir.expr import Json

_PLAIN = pattern(r"[A-Za-z_][A-Za-z0-9_\-./]*( [A-Za-z0-9_\-./]+)*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""What YAML 1.1 reads as something else than text."""

_ESCAPED = pattern('[\\x00-\\x1f"\\\\\\x7f-\\xa0\\u2028\\u2029\\ud800-\\udfff\\ufeff\\ufffe\\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A literal block has no escapes, so what is invisible or ends a line for YAML 1.1 alone goes into quotes.
_UNFIT_FOR_BLOCK = pattern("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff\\ufeff\\ufffe\\uffff]")
STEP = "  "


def yaml_text(value: Json) -> str:
    """The document, with a line break at its end. Depth is that of the value, which the reader bounds."""
    return "\n".join(_lines(value, "")).lstrip("\n") + "\n"


def _lines(value: Json, indent: str) -> Iterator[str]:
    """Lines of a value that begins on a line of its own."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from entry_lines(f"{indent}{scalar_text(key)}:", item, indent)
        case list() if value:
            for item in value:
                yield from _item(item, indent)
        case _:
            yield f"{indent}{inline_text(value)}"


def entry_lines(head: str, value: Json, indent: str) -> Iterator[str]:
    """Lines of a value behind `head`, which ends in `:` or is a dash; `indent` is that of the head."""
    if (isinstance(value, dict) and value) or (isinstance(value, list) and value):
        yield head
        yield from _lines(value, indent + STEP)
    # Programs of several lines stay readable as blocks.
    elif isinstance(value, str) and _fits_block(value):
        yield from _block(head, value, indent + STEP)
    else:
        yield f"{head} {inline_text(value)}"


def _item(value: Json, indent: str) -> Iterator[str]:
    """Lines of an item of a list: its first line stands behind the dash."""
    if isinstance(value, str) and _fits_block(value):
        yield from _block(f"{indent}-", value, indent + STEP)
        return
    inner = _lines(value, indent + STEP)
    yield f"{indent}- {next(inner)[len(indent) + len(STEP) :]}"
    yield from inner


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """A literal block; the indentation is written out where the first line would hide it."""
    body = text.rstrip("\n")
    breaks = len(text) - len(body)
    # YAML takes the indentation from the first line with text, so one that begins with white space needs the number.
    hint = str(len(STEP)) if text[0] in " \n\t" else ""
    # `-` for no break at the end, nothing for one, `+` for several (YAML 1.1 §9.1.1).
    yield f"{head} |{hint}{'-' if breaks == 0 else '' if breaks == 1 else '+'}"
    for line in [*body.split("\n"), *[""] * (breaks - 1)]:
        # No blanks on empty lines: editors take them away, and the file would change.
        yield f"{indent}{line}" if line else ""


def _fits_block(text: str) -> bool:
    # A text of white space alone has no line that shows its indentation.
    return "\n" in text and bool(text.strip()) and _UNFIT_FOR_BLOCK.search(text) is None


def inline_text(value: Json) -> str:
    """A value without anything inside, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case str():
            return scalar_text(value)
        case dict():
            return "{}"
        case _:
            return "[]"


def scalar_text(text: str) -> str:
    """Text on one line: plain where YAML cannot mistake it, else in double quotes."""
    # Only words are plain, and nothing that begins with a digit: a date or a version must not become another type.
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + _ESCAPED.sub(lambda found: _escape(found.group()), text) + '"'


def _escape(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _float_text(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    mantissa, mark, exponent = repr(value).partition("e")
    if mark and "." not in mantissa:  # YAML 1.1 asks for the point
        mantissa += ".0"
    return f"{mantissa}{mark}{exponent}"
