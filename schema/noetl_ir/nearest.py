"""The name that a word was meant to be: behind every "did you mean"."""

from collections.abc import Iterable

LIKENESS = 0.61
"""How alike two names have to be, from 0 to 1; difflib's own 0.6 takes `signal` for `sink`."""


def nearest(word: str, known: Iterable[str], likeness: float = LIKENESS) -> str:
    """The known name that looks most like a word, or "" when none does.

    Two neighbouring letters that changed places are one slip, the nearest of all; of equals the first known one. Where
    nothing looks like the word as it is written, its case is passed over.
    """
    from difflib import SequenceMatcher, get_close_matches  # only a finding needs it, and importing it takes 1 ms

    names = tuple(dict.fromkeys(known))
    for name in names:
        if is_swapped(word, name):
            return name
    for written in dict.fromkeys((word, word.lower())):
        found = get_close_matches(written, names, 3, likeness)
        if found:
            best = SequenceMatcher(None, found[0], written).ratio()
            equals = [name for name in found if SequenceMatcher(None, name, written).ratio() == best]
            return min(equals, key=names.index)
    return ""


def is_swapped(word: str, name: str) -> bool:
    """Whether a word is a name with two neighbouring letters in each other's place, and nothing else."""
    if len(word) != len(name) or word == name:
        return False
    apart = [at for at, (one, other) in enumerate(zip(word, name, strict=True)) if one != other]
    return (
        len(apart) == 2
        and apart[0] + 1 == apart[1]
        and word[apart[0]] == name[apart[1]]
        and word[apart[1]] == name[apart[0]]
    )
