"""Two values beside each other, on a line each: short ones whole, of long ones what differs and the words around it."""

from collections.abc import Sequence

LONG = 80
"""Characters of a value that are told."""

AROUND = 3
"""Words that are told before and behind those that differ."""

_WIDE = 3 * LONG
"""Characters of a value that has several differences."""

_COMPARED = 200
"""Words that are compared: comparing takes time by their square."""


def contrasted(old: str, new: str) -> tuple[str, str]:
    """Two values that differ, as they are told: `…` stands for what is the same in both, or behind what is told."""
    before, after = old.split(), new.split()
    old, new = " ".join(before), " ".join(after)
    if old == new:
        return "other white space", "this"
    if max(len(old), len(new)) <= LONG:
        return old or "nothing", new or "nothing"
    # Programs and rules are long and mostly the same: what both begin with is most of it, and costs nothing.
    head = max(_same(before, after) - AROUND, 0)
    told = _hunks(before[head:], after[head:])
    if told is None:
        return _by_letters(old, new)
    lead = "… " if head else ""
    return shortened_value(lead + told[0], _WIDE) or "nothing", shortened_value(lead + told[1], _WIDE) or "nothing"


def shortened_value(text: str, most: int = LONG) -> str:
    """A value on one line, cut where it is long, between words where that leaves most of it."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    at = line.rfind(" ", most * 3 // 4, most)
    return f"{line[: at + 1 if at > 0 else most - 1]}…"


def _hunks(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """The words that differ with those around them; None where a word is so long that it would hide what does."""
    from difflib import SequenceMatcher  # importing it takes 1 ms

    matcher = SequenceMatcher(None, before[:_COMPARED], after[:_COMPARED], autojunk=False)
    told: list[str] = []
    groups = [*matcher.get_grouped_opcodes(AROUND)]
    for words, ends in (
        (before, [(rows[0][1], rows[-1][2]) for rows in groups]),
        (after, [(rows[0][3], rows[-1][4]) for rows in groups]),
    ):
        if any(len(word) > LONG // 2 for begin, end in ends for word in words[begin:end]):
            return None
        text = " … ".join(" ".join(words[begin:end]) for begin, end in ends)
        told.append(text if ends[-1][1] >= len(words) else f"{text} …")
    return told[0], told[1]


def _by_letters(old: str, new: str) -> tuple[str, str]:
    """Both cut so that the first letter that differs is in sight."""
    same = _same(old, new)
    if same < LONG // 2:
        return shortened_value(old), shortened_value(new)
    begin = same - LONG // 4
    return shortened_value(f"…{old[begin:]}"), shortened_value(f"…{new[begin:]}")


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """How much of their beginning is the same."""
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
