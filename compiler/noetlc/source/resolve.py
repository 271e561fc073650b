"""The meaning of a plain scalar: YAML 1.1 as PyYAML reads it, and where YAML 1.2 would read something else.

Differences from PyYAML's SafeLoader (LANGUAGE §1): timestamps, `=` and `<<` are text; numbers that JSON
cannot carry (`.inf`, `.nan`, an exponent that overflows) and integers of more than `MAX_DIGITS` characters
are refused; text that PyYAML takes for a number and then fails to read (`0x_`, `0b_`) is text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Fix
from noetlc.source.text import Source

ScalarValue: TypeAlias = "bool | int | float | str | None"

MAX_DIGITS = 1000
"""Longest integer, in characters: Python prints at most 4,300 digits, and an identifier has far fewer."""

WORDS: dict[str, ScalarValue] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    **{form: word in ("yes", "true", "on")
       for word in ("yes", "no", "true", "false", "on", "off")
       for form in (word, word.title(), word.upper())},
}  # fmt: skip
"""Every plain scalar that is null or a boolean in YAML 1.1."""

# The words that YAML 1.1 and 1.2 read alike: nothing is said of them.
_BOTH = frozenset(word for word in WORDS if word.lower() not in ("yes", "no", "on", "off"))
# One look at the first character spares the patterns for nearly all text of a playbook.
_NUMBER_STARTS = frozenset("0123456789+-.")
_INT = re.compile(
    r"[-+]?(?:(?P<two>0b[01_]+)|(?P<eight>0[0-7_]+)|(?P<ten>0|[1-9][0-9_]*)|(?P<sixteen>0x[0-9a-fA-F_]+)"
    r"|(?P<sixty>[1-9][0-9_]*(?::[0-5]?[0-9])+))"
)
_FLOAT = LatePattern(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# The core schema of YAML 1.2 (§10.3.2), to tell where editors and other tools read something else than PyYAML does.
_INT_12 = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT_12 = LatePattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class ScalarReading(NamedTuple):
    """The value of a plain scalar. `code` and `message` say what to report about it, if anything."""

    value: ScalarValue
    code: str = ""
    message: str = ""


def resolve(text: str) -> ScalarReading:
    """Read a plain scalar without a tag."""
    if text in WORDS:
        value = WORDS[text]
        return ScalarReading(value) if text in _BOTH else _ambiguous(text, value, text)
    if text[0] not in _NUMBER_STARTS:
        return ScalarReading(text)
    if match := _INT.fullmatch(text):
        # Python refuses to print an integer of more than 4,300 digits, and its conversion costs the square of the
        # length.
        if len(text) > MAX_DIGITS:
            return ScalarReading(text, "NL015", f"an integer of {len(text)} characters; at most {MAX_DIGITS} are read")
        return _integer(text, match)
    if _FLOAT.fullmatch(text):
        return _float(text)
    # Behind the two patterns, so that a long number keeps its finding; what is left is text, whatever a reader of 1.2
    # says.
    if len(text) > MAX_DIGITS:
        return ScalarReading(text)
    other = _read_12(text)
    return ScalarReading(text) if other is text else _ambiguous(text, text, other)


def read_tagged(kind: str, text: str) -> ScalarReading:
    """Read a scalar that is tagged `!!kind`; text that does not fit the tag is kept and reported as NL012."""
    try:
        return _TAGGED[kind](text)
    except (KeyError, ValueError, OverflowError):
        return ScalarReading(text, "NL012", f"`{shortened(text)}` is no value for the tag `!!{kind}`")


def _integer(text: str, match: re.Match[str]) -> ScalarReading:
    try:
        value = _int_of(text)
    except ValueError:  # `0x_`: the resolver's pattern is wider than the reader behind it
        return ScalarReading(text)
    other = _read_12(text)
    # A leading zero is an octal number here and a decimal one in YAML 1.2: a file mode or a postal code, and never
    # both.
    if match["eight"] is not None or other is text or other != value:
        return _ambiguous(text, value, other)
    return ScalarReading(value)


def _float(text: str) -> ScalarReading:
    reading = _finite(text)
    if reading.code:
        return reading
    value = reading.value
    other = _read_12(text)
    if other is text or other != value:
        return _ambiguous(text, value, other)
    digits = text.lower().partition("e")[0]
    # `1.10` as a version loses its zero; `1.0` is the common way to write a number and is left alone.
    if digits[-1] == "0" and digits[-2] != "." and digits == text:
        return ScalarReading(value, "NL017", f"`{text}` is the number {value}: the last 0 is lost")
    return reading


def _finite(text: str) -> ScalarReading:
    value = _float_of(text)
    # True for infinities and NaN alike, without an import of `math`.
    if value - value != 0:  # infinite, or not a number
        return ScalarReading(text, "NL014", f"`{shortened(text)}` is no number that JSON can carry")
    return ScalarReading(value)


def _int_of(text: str) -> int:
    """PyYAML's `construct_yaml_int`: signs, underscores, base 2, 8, 16 and 60."""
    digits = text.replace("_", "")
    sign = -1 if digits[:1] == "-" else 1
    digits = digits[1:] if digits[:1] in ("+", "-") and digits else digits
    # A tagged scalar comes here without the check of `resolve`.
    if len(digits) > MAX_DIGITS:
        raise ValueError(digits)
    if digits == "0":
        return 0
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits.startswith("0"):
        return sign * int(digits, 8)
    total = 0
    for part in digits.split(":"):
        total = total * 60 + int(part)
    return sign * total


def _float_of(text: str) -> float:
    """PyYAML's `construct_yaml_float`: signs, underscores, base 60, infinity and NaN."""
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits[:1] == "-" else 1.0
    digits = digits[1:] if digits[:1] in ("+", "-") and digits else digits
    if digits in (".inf", ".nan"):
        return sign * float(digits[1:])
    if ":" not in digits:
        return sign * float(digits)
    # From the least digit up, as PyYAML adds, so that rounding comes out the same.
    parts: list[float] = [float(part) for part in reversed(digits.split(":"))]
    return sign * sum((part * 60.0**power for power, part in enumerate(parts)), 0.0)


def _read_12(text: str) -> ScalarValue:
    """The value that YAML 1.2's core schema reads; the very same `text` where that is text."""
    if _INT_12.fullmatch(text):
        if text.startswith("0o"):
            return int(text[2:], 8)
        return int(text[2:], 16) if text.startswith("0x") else int(text)
    return float(text) if _FLOAT_12.fullmatch(text) else text


def _ambiguous(text: str, value: ScalarValue, other: ScalarValue) -> ScalarReading:
    if value == text:
        return ScalarReading(value, "NL016", f"`{shortened(text)}` is read as text; YAML 1.2 reads {_json(other)}")
    if other == text:
        return ScalarReading(value, "NL016", f"`{shortened(text)}` is read as {_json(value)}; YAML 1.2 reads text")
    if other == value:
        return ScalarReading(
            value, "NL016", f"`{shortened(text)}` is read as {_json(value)}: the leading zeros are lost"
        )
    return ScalarReading(
        value, "NL016", f"`{shortened(text)}` is read as {_json(value)}; YAML 1.2 reads {_json(other)}"
    )


def _json(value: ScalarValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return shortened(str(value))


def shortened(text: str) -> str:
    """The beginning of a long text, for messages."""
    return text if len(text) <= 40 else text[:39] + "…"


_TAGGED: dict[str, Callable[[str], ScalarReading]] = {
    "str": ScalarReading,
    "int": lambda text: ScalarReading(_int_of(text)),
    "float": _finite,
    "bool": lambda text: ScalarReading(_BOOL[text.lower()]),
    "null": lambda text: ScalarReading(None),
}
_BOOL: dict[str, bool] = {word: value for word, value in WORDS.items() if isinstance(value, bool)}
TAGS = frozenset(_TAGGED)
"""The scalar tags that are honoured, without `tag:yaml.org,2002:`."""


# Below: findings about plain scalars that depend on what the readers take them for, and fixes that spare anchors.
_DIFFERS = frozenset({"NL016", "NL017"})
_PROPERTIES = LatePattern(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")


def as_meant(found: Iterable[Diagnostic], meant: Mapping[Span, str]) -> Iterator[Diagnostic]:
    """The findings about scalars that YAML 1.1 and 1.2 read differently, by what the readers took each scalar for.

    A name is taken as written, so that its finding is dropped. A boolean must not get quotes: its advice is `true` or
    `false`. All other findings stay as they are. `meant` is `Reader.meant`.
    """
    for one in found:
        what = meant.get(one.span) if one.code in _DIFFERS else None
        if what is None:
            yield one
        elif what == "boolean":
            word = "true" if "is read as true" in one.message else "false"
            fix = Fix(one.fix.span if one.fix else one.span, word, f"write `{word}`")
            yield one._replace(help=f"write `{word}`", fix=fix)


def besides_anchors(source: Source, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings, with fixes that replace a value but not its anchor and tag, although its span includes these."""
    is_anchored = "&" in source.text or "!" in source.text
    for one in found:
        fix = one.fix
        if is_anchored and fix is not None and fix.text and fix.span.line and fix.text[:1] not in "&!":
            start = source.offset_of(*fix.span[:2])
            ahead = _PROPERTIES.match(source.text, start)
            if ahead is not None:
                span = Span(*source.span_of(ahead.end(), ahead.end())[:2], *fix.span[2:])
                one = one._replace(fix=fix._replace(span=span))
        yield one
