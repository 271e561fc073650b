"""Which codes are reported: selectors, each a code, the beginning of one, a name, or `ALL`.

Of the selectors that fit a code the longest decides, so that `select NL2, ignore NL203` and `ignore NL2, select NL203`
both do what they say; of two of one length the one that ignores. An internal error is always reported.
"""

from collections.abc import Iterable, Mapping

from noetl_ir.records import NamedTuple

ALL = "ALL"
INTERNAL = "NL000"


class Selection(NamedTuple):
    """Beginnings of codes that are selected and that are ignored, "" for all; see `beginning_of`."""

    select: tuple[str, ...] = ("",)
    ignore: tuple[str, ...] = ()

    def takes(self, code: str) -> bool:
        """Whether findings of that code are reported."""
        return code == INTERNAL or _longest(code, self.select) > _longest(code, self.ignore)


class Unselectable(NamedTuple):
    """A selector that fits no code, and those that are spelt like it."""

    word: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        hint = f"; there is {', '.join(self.near)}" if self.near else "; `noetlc explain` lists all codes"
        return f"there is no code {self.word!r}{hint}"


def beginning_of(word: str, slugs: Mapping[str, str]) -> str | Unselectable:
    """The prefixes that the codes of a selector begin with. `slugs` are the names of all codes."""
    wanted = word.strip()
    if wanted.upper() == ALL:
        return ""
    # Codes before names: no name begins like a code, and a prefix such as `NL2` is no name.
    if wanted and any(code.startswith(wanted.upper()) for code in slugs):
        return wanted.upper()
    name = wanted.lower().replace("_", "-")
    found = next((code for code, slug in slugs.items() if slug == name), None)
    return unselectable(word, slugs) if found is None else found


def unselectable(word: str, slugs: Mapping[str, str]) -> Unselectable:
    """A word that names no code, with the codes or names that look most like it."""
    # Imported for a mistake only.
    from difflib import get_close_matches

    wanted, name = word.strip().upper(), word.strip().lower().replace("_", "-")
    return Unselectable(word, tuple(get_close_matches(wanted, slugs, 3) or get_close_matches(name, slugs.values(), 3)))


def _longest(code: str, beginnings: Iterable[str]) -> int:
    """The length of the longest beginning that fits, -1 where none does."""
    # `""` fits every code with length 0, so that even `ALL` beats nothing at all.
    return max((len(beginning) for beginning in beginnings if code.startswith(beginning)), default=-1)
