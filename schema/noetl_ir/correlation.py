"""The key under which a `signal` and a `wait` of any two executions find each other (EXTENSIONS.md §6)."""

from collections.abc import Collection, Sequence

from noetl_ir.expr import Json

LONGEST = 500
"""Characters of a key: what an index can hold, however many bytes they have."""

MOST_NAMES = 100
"""Names of signals that a wait under a key may listen for."""

HALF = "has half of a character (a lone surrogate)"
"""Why a text cannot be stored."""


def key_of(value: Json) -> str:
    """The key that a rendered value is; empty for one that is none."""
    text = _text_of(value)
    return text if text is not None and not faulty_key(text) else ""


def faulty_key(value: Json) -> str:
    """Why a rendered text or number is no key, "" for one that is."""
    text = _text_of(value)
    if text is None:
        return ""  # its shape says it
    if not text:
        return "is empty"
    if len(text) > LONGEST:
        return f"has more than {LONGEST:,} characters"
    return "" if is_storable(text) else HALF


def _text_of(value: Json) -> str | None:
    """A number is text too, as in names; None for what is neither."""
    if isinstance(value, bool):
        return None
    return str(value) if isinstance(value, int | float) else value if isinstance(value, str) else None


def is_listable(key: str, names: Collection[str]) -> bool:
    """Whether a wait can be listed: under a key, for names that can be stored, and not too many of them."""
    return bool(key) and len(names) <= MOST_NAMES and all(map(is_storable, names))


def is_storable(text: str) -> bool:
    """Whether a text can stand in a column: JSON has halves of surrogate pairs, and UTF-8 has not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def awaited_text(signals: Sequence[str], timers: Sequence[str], under: Json = None) -> str:
    """Signals and timers in words: `signal go or timer late`, `signals go, stop, also under the key `order 7``."""
    found = [
        f"{word}{'s' if len(names) > 1 else ''} {', '.join(names)}"
        for word, names in (("signal", signals), ("timer", timers))
        if names
    ]
    key = f", also under the key `{under}`" if under is not None and under != "" and signals else ""
    return (" or ".join(found) or "nothing that comes") + key
