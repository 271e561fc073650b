"""Jinja2's filters on text, without autoescape: `escape` and its like give plain text.

A parameter is named as in Jinja2, because a template may name it. Wrong arguments raise as Python does.
"""

import re
from collections.abc import Callable
from typing import Any

from noetl_ir.evaluate.access import replaced, stripped
from noetl_ir.evaluate.limits import check_chars
from noetl_ir.evaluate.operators import formatted
from noetl_ir.evaluate.settle import levels_of, settled_value, text_of
from noetl_ir.evaluate.work import spend, spend_count, spend_entries, spend_text, weigh
from noetl_ir.patterns import LatePattern
from noetl_ir.scopes.values import Fault, Sealed, Undefined

_WORD_START = LatePattern(r"([-\s({\[<]+)")
_RUN = LatePattern(r"\s+|\S+")
_WORD = LatePattern(r"\w+")
_ATTRIBUTE_BREAK = LatePattern(r"[\s/>=]", re.ASCII)


def upper(s: object) -> str:
    return text_of(s).upper()


def lower(s: object) -> str:
    return text_of(s).lower()


def capitalize(s: object) -> str:
    return text_of(s).capitalize()


def title(s: object) -> str:
    parts = _WORD_START.split(text_of(s))
    return "".join(part[0].upper() + part[1:].lower() for part in parts if part)


def trim(value: object, chars: str | None = None) -> str:
    return stripped(text_of(value), chars)


def replace(s: object, old: object, new: object, count: int | None = None) -> str:
    return replaced(text_of(s), text_of(old), text_of(new), -1 if count is None else count)


def center(value: object, width: int = 80) -> str:
    check_chars(width)
    spend_count(width, 1)
    return text_of(value).center(width)


def indent(s: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    if not isinstance(width, str):
        check_chars(width)
    indention = width if isinstance(width, str) else " " * width
    text: str = s + "\n"
    lines = text.splitlines()
    length = len(text) + len(indention) * len(lines)
    check_chars(length)
    spend_text(length)
    if blank:
        result = ("\n" + indention).join(lines)
    else:
        result = lines.pop(0)
        if lines:
            result += "\n" + "\n".join(indention + line if line else line for line in lines)
    return indention + result if first else result


def truncate(s: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int | None = None) -> object:
    spare = 5 if leeway is None else leeway
    if length < len(end) or spare < 0:
        raise ValueError(f"the length is below that of {end!r}, or the leeway below zero")
    if len(s) <= length + spare:
        return s
    cut = s[: length - len(end)]
    return cut + end if killwords else cut.rsplit(" ", 1)[0] + end


def wordcount(s: object) -> int:
    return len(_WORD.findall(text_of(s)))


def wordwrap(
    s: Any,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    from textwrap import wrap

    spend(100)  # dear for short texts too
    joint = "\n" if wrapstring is None else wrapstring
    # A word, or white space, that is too long is cut off line by line, and what is left of it copied each time.
    for run in _RUN.finditer(s) if break_long_words and width > 0 else ():
        length = run.end() - run.start()
        if length > width:
            spend(length * length // width >> 6)
    lines = [
        part
        for line in s.splitlines()
        for part in wrap(
            line,
            width=width,
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=break_long_words,
            break_on_hyphens=break_on_hyphens,
        )
        or [""]
    ]
    check_chars(len(s) + len(joint) * len(lines))
    return joint.join(lines)


def format_(value: object, *args: object, **kwargs: object) -> str:
    if args and kwargs:
        raise ValueError("positional and named arguments do not go together")
    return formatted(text_of(value), kwargs or args)


def string(value: object) -> str:
    return text_of(value)


def escape(s: object) -> str:
    text = text_of(s)
    # `&#39;` is the longest replacement: four characters more than what it replaces.
    length = len(text) + 4 * sum(text.count(mark) for mark in "&<>'\"")
    check_chars(length)
    spend_text(length)
    text = text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
    return text.replace("'", "&#39;").replace('"', "&#34;")


def striptags(value: object) -> str:
    from html import unescape

    text, parts, at = text_of(value), [], 0
    while (start := text.find("<", at)) >= 0:
        # A comment may hold `>`, so it is looked for by its own end, as MarkupSafe does.
        comment = text.startswith("<!--", start)
        end = text.find("-->", start + 4) if comment else text.find(">", start)
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + (3 if comment else 1)
    return unescape(" ".join("".join([*parts, text[at:]]).split()))


def xmlattr(d: Any, autospace: bool = True) -> str:
    items = []
    for key, value in d.items():
        if value is None or isinstance(value, Undefined):
            continue
        spend_text(len(key), 4)
        if _ATTRIBUTE_BREAK.search(key):
            raise ValueError(f"{key!r} is no name of an attribute")
        items.append(f'{escape(key)}="{escape(value)}"')
    result = " ".join(items)
    return " " + result if autospace and result else result


def urlencode(value: Any) -> object:
    if isinstance(value, Sealed):
        return value.to(_quoted(value.true, "/"))
    if isinstance(value, str) or not hasattr(type(value), "__iter__"):
        return _quoted(value, "/")
    spend_entries(value, 60)
    pairs = [(key, entry) for key, entry in (value.items() if isinstance(value, dict) else value)]
    plain = [[part.true if isinstance(part, Sealed) else part for part in pair] for pair in pairs]
    text = "&".join(f"{_quoted(key, '')}={_quoted(entry, '')}".replace("%20", "+") for key, entry in plain)
    sealed = next((part for pair in pairs for part in pair if isinstance(part, Sealed)), None)
    return text if sealed is None else sealed.to(text)


def _quoted(value: object, safe: str) -> str:
    from urllib.parse import quote

    text = text_of(value)
    check_chars(3 * len(text))
    spend_text(len(text), 16)
    return quote(text, safe=safe)


def tojson(value: object, indent: int | str | None = None) -> object:
    """Plain JSON, keys in their own order (LANGUAGE §2)."""
    from json import dumps

    # Indentation is written once a line and level: unbounded it is the cheapest way to a text of gigabytes.
    if (len(indent) if isinstance(indent, str) else indent or 0) > 100:
        raise ValueError("the indent is above 100")
    weight = weigh(value, as_text=True)
    spend(weight if indent is None else 8 * weight)
    sealed: list[Sealed] = []

    def opened(part: object) -> object:
        if isinstance(part, Sealed):
            sealed.append(part)
            return part.true
        return _no_json(part)

    text = dumps(settled_value(value), allow_nan=False, indent=indent, default=opened)
    check_chars(len(text))
    return sealed[0].to(text) if sealed else text


def _no_json(value: object) -> object:
    if isinstance(value, Undefined):
        raise value.fault()
    return list(settled_value(value))  # type: ignore[call-overload]


def fromjson(value: object) -> object:
    """The value of a JSON text. Raises for any other text, and for NaN and the infinities."""
    from json import loads

    if not isinstance(value, str):
        raise TypeError("it takes a text")
    return loads(value, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is no JSON")


def b64encode(value: object) -> object:
    """The text's UTF-8 bytes in base64."""
    from binascii import b2a_base64

    if isinstance(value, Sealed):
        return value.to(b2a_base64(value.true.encode(), newline=False).decode("ascii"))
    return b2a_base64(text_of(value).encode(), newline=False).decode("ascii")


def b64decode(value: object) -> str:
    """The UTF-8 text that the base64 text stands for."""
    from binascii import a2b_base64

    try:
        return a2b_base64(text_of(value), strict_mode=True).decode()
    except ValueError as error:
        raise Fault("template.error", f"`b64decode`: no base64 of UTF-8 text ({error})") from None


def pprint(value: object) -> str:
    from pprint import pformat

    # Each level writes all below it again.
    spend(weigh(value, as_text=True) * 4 * (levels_of(value) + 1))
    return pformat(settled_value(value))


TEXT_FILTERS: dict[str, Callable[..., object]] = {
    "upper": upper, "lower": lower, "capitalize": capitalize, "title": title, "trim": trim,
    "replace": replace, "center": center, "indent": indent, "truncate": truncate, "wordcount": wordcount,
    "wordwrap": wordwrap, "format": format_, "string": string, "safe": string, "escape": escape, "e": escape,
    "forceescape": escape, "striptags": striptags, "xmlattr": xmlattr, "urlencode": urlencode,
    "tojson": tojson, "fromjson": fromjson, "b64encode": b64encode, "b64decode": b64decode, "pprint": pprint,
}  # fmt: skip
