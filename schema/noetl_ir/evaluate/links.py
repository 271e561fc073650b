"""Jinja2's filter `urlize`: addresses in a text become HTML links.

Its patterns are compiled when they are first asked: hardly anybody uses it, and whoever evaluates imports it.
"""

import re
from collections.abc import Callable, Iterable

from noetl_ir.evaluate.limits import check_chars
from noetl_ir.evaluate.settle import text_of
from noetl_ir.evaluate.text_filters import escape
from noetl_ir.evaluate.work import SHORT_TEXT, spend

_SCHEME = r"([\w.+-]{2,}:(/){0,2})"
_ADDRESS = r"""(?ix)
    ((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})
    |([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)
    |(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}])))
    (?::[\d]{1,5})?(?:[/?#]\S*)?$"""
_MAIL = r"^\S+@\w[\w.-]*\.\w+$"
_HEAD = r"^([(<]|&lt;)+"
_TAIL = r"([)>.,\n]|&gt;)+$"


def urlize(
    value: object,
    trim_url_limit: int | None = None,
    nofollow: bool = False,
    target: str | None = None,
    rel: str | None = None,
    extra_schemes: Iterable[str] | None = None,
) -> str:
    spend(100)  # dear for short texts too
    schemes = tuple(extra_schemes or ())
    for scheme in schemes:
        if not re.fullmatch(_SCHEME, scheme):
            raise ValueError(f"{scheme!r} is no URI scheme")
    # Jinja2 sorts them too: the same text must come out.
    words = sorted({*(rel or "").split(), "noopener", *(["nofollow"] if nofollow else [])})
    attributes = f' rel="{escape(" ".join(words))}"' + (f' target="{escape(target)}"' if target else "")

    def shown(address: str) -> str:
        short = trim_url_limit is not None and len(address) > trim_url_limit
        return f"{address[:trim_url_limit]}..." if short else address

    text = escape(value if isinstance(value, str) else text_of(value))
    pieces = [_linked(word, attributes, shown, schemes) for word in re.split(r"(\s+)", text)]
    check_chars(sum(map(len, pieces)))
    return "".join(pieces)


def _linked(word: str, attributes: str, shown: Callable[[str], str], schemes: tuple[str, ...]) -> str:
    if len(word) > SHORT_TEXT:
        # Its patterns, and the brackets that are moved, go over a word again from many places of it.
        spend(len(word) * len(word) >> 5)
    if schemes:
        spend(4 * len(schemes))
    head, middle, tail = _trimmed(word)
    if re.match(_ADDRESS, middle):
        goal = middle if middle.startswith(("https://", "http://")) else f"https://{middle}"
        middle = f'<a href="{goal}"{attributes}>{shown(middle)}</a>'
    elif middle.startswith("mailto:") and re.match(_MAIL, middle[7:]):
        middle = f'<a href="{middle}">{middle[7:]}</a>'
    elif (
        "@" in middle
        and not middle.startswith(("www.", "@"))
        and ":" not in middle
        and re.match(_MAIL, middle)
    ):  # fmt: skip
        middle = f'<a href="mailto:{middle}">{middle}</a>'
    else:
        for scheme in schemes:
            if middle != scheme and middle.startswith(scheme):
                middle = f'<a href="{middle}"{attributes}>{middle}</a>'
    return f"{head}{middle}{tail}"


def _trimmed(word: str) -> tuple[str, str, str]:
    """The brackets before an address, the address, and the punctuation behind it."""
    head, middle, tail = "", word, ""
    if found := re.match(_HEAD, middle):
        head, middle = found.group(), middle[found.end() :]
    if middle.endswith((")", ">", ".", ",", "\n", "&gt;")) and (found := re.search(_TAIL, middle)):
        tail, middle = found.group(), middle[: found.start()]
    for start, end in (("(", ")"), ("<", ">"), ("&lt;", "&gt;")):
        opened = middle.count(start)
        if opened <= middle.count(end):
            continue
        # A bracket that was opened inside the address is closed inside it.
        for _ in range(min(opened, tail.count(end))):
            at = tail.index(end) + len(end)
            middle, tail = middle + tail[:at], tail[at:]
    return head, middle, tail
