"""The name that a word was meant to be: behind every "did you mean"."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

LIKENESS = 0.61
"""How alike two names have to be, from 0 to 1; difflib's own 0.6 takes `signal` for `sink`."""

OWN_LIKENESS = 0.7
"""The same for names that authors made up: those have common parts (`page_size`, `page_token`)."""

LONGEST = 200
"""Characters of a word or name beyond which it is like nothing: comparing takes the product of both lengths."""

MOST = 50
"""How many names are compared with a word. Of more only those of about its length that begin or end as it does: files
and requests may have thousands of each, and every word that is unknown is compared with every name.
"""


def nearest(word: str, known: Iterable[str], likeness: float = LIKENESS) -> str:
    """The known name that looks most like a word, or "" when none does.

    Two neighbouring letters that changed places are one slip, the nearest of all; of equals the first known one. Where
    nothing looks like the word as it is written, its case is passed over.
    """
    names = _comparable(word, known)
    for name in names:
        # difflib counts matching blocks: a swap costs it two letters, and another name often looks nearer.
        if is_swapped(word, name):
            return name
    names = tuple(name for name in names if _may_be_like(word, name, likeness))
    if not names:
        return ""
    from difflib import SequenceMatcher, get_close_matches  # importing it takes 1 ms

    # As written first: names that differ in case alone are told apart, and one that has the right case is the nearer.
    for written in dict.fromkeys((word, word.lower())):
        found = get_close_matches(written, names, 3, likeness)
        if found:
            best = SequenceMatcher(None, found[0], written).ratio()
            equals = [name for name in found if SequenceMatcher(None, name, written).ratio() == best]
            return min(equals, key=names.index)
    return ""


def _comparable(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names that are worth comparing with a word, at most MOST."""
    if len(word) > LONGEST:
        return ()
    names = tuple(dict.fromkeys(name for name in known if len(name) <= LONGEST))
    if len(names) <= MOST:
        return names
    # A slip adds, drops or changes a letter or two, and seldom both ends of a word.
    folded, fewest, longest = word.lower(), len(word) - 2, len(word) + 2
    alike = (name for name in names if fewest <= len(name) <= longest and _has_an_end_of(folded, name.lower()))
    return tuple(islice(alike, MOST))


def _may_be_like(word: str, name: str, likeness: float) -> bool:
    """Whether two words have enough letters in common, wherever those stand: difflib gives no pair more than that."""
    common = (Counter(word.lower()) & Counter(name.lower())).total()
    return 2 * common >= likeness * (len(word) + len(name))


def _has_an_end_of(word: str, name: str) -> bool:
    """Whether a name begins or ends with the two characters that a word begins or ends with."""
    return name.startswith(word[:2]) or name.endswith(word[-2:])


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
