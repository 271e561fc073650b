"""Scopes: the playbooks that somebody may see and ask for, by the beginnings of their paths.

A prefix ends with a slash and fits every path below it; any other text fits the playbook of exactly that path. So
`team-a/` never fits `team-ab/x`, and `team-a` neither. Without a prefix everything fits.
"""

from collections.abc import Sequence

from noetl_ir.correlation import is_storable

LONGEST = 512
"""The most characters of a prefix or of the name of a pool."""


def is_within(path: str, prefixes: Sequence[str]) -> bool:
    """Whether a playbook path is one of a scope."""
    return not prefixes or any(path.startswith(each) if each.endswith("/") else path == each for each in prefixes)


def path_trouble(text: str) -> str:
    """Why a text can be no prefix of playbook paths, in words; empty where it can."""
    if text.startswith("/") or not text.strip("/"):
        return f"`{text}` is no beginning of a playbook path: write `team-a/`, or the whole path of one"
    if "*" in text or "?" in text:
        return f"`{text}` is no pattern: `team-a/` is all playbooks below it"
    return _text_trouble(text)


def pool_trouble(text: str) -> str:
    """Why a text can be no name of a pool, in words; empty where it can."""
    return _text_trouble(text) if text else "the name of a pool is missing"


def _text_trouble(text: str) -> str:
    if len(text) > LONGEST:
        return f"`{text[:40]}…` has more than {LONGEST} characters"
    return "" if text.isprintable() and is_storable(text) else "there is a character in it that cannot be shown"
