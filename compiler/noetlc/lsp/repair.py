"""A text that is no YAML while it is typed, with the lines blanked that are in the way of reading the rest.

A blanked line keeps its length, so that everything else stays where it is. First the lines go that were just edited,
then the one that the parser names, then that one with what is indented below it; a text in which this does not help
within a few rounds stays as it is.
"""

from collections.abc import Iterable
from itertools import takewhile

from noetl_ir.records import NamedTuple
from noetlc.source.decoding import bytes_of
from noetlc.source.text import lines_of
from noetlc.source.yaml_reader import read_yaml

ROUNDS = 6
"""Readings of one text. Each costs as much as reading the whole file."""

BROKEN = frozenset({"NL003", "NL008", "NL020", "NL021"})
"""Codes of what ends the reading of a document."""


class Repaired(NamedTuple):
    """A text that can be read as YAML, and the numbers of the lines that were blanked for it, from 1."""

    text: str
    blanked: frozenset[int]


def repaired(text: str, edited: Iterable[int] = ()) -> Repaired | None:
    """The text made readable; itself where it is, None where no few lines are to blame. The lines that were just
    `edited` are suspected before any other.
    """
    whole = lines_of(text)
    # Suspects are looked for in the text as it was: what has been blanked has no indentation any more.
    lines = list(whole)
    blanked: set[int] = set()
    suspects = [number for number in edited if 1 <= number <= len(lines)]
    for attempt in range(ROUNDS):
        bad = _bad_line("".join(lines))
        if bad is None:
            return Repaired("".join(lines), frozenset(blanked))
        if not suspects:
            suspects = _suspects(whole, lines, bad, with_block=attempt > 0)
        if not suspects:
            return None
        for number in suspects:
            lines[number - 1] = _blank(lines[number - 1])
        blanked.update(suspects)
        suspects = []
    return None


def edited_lines(before: str, after: str) -> range:
    """The lines of a text, from 1, that are not as they were before."""
    old, new = lines_of(before), lines_of(after)
    head = _alike(zip(old, new, strict=False))
    # Behind the common head only, so that a line that was doubled counts once.
    tail = _alike(zip(old[head:][::-1], new[head:][::-1], strict=False))
    return range(head + 1, max(head + 2, len(new) - tail + 1))


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _bad_line(text: str) -> int | None:
    """The line at which reading breaks off, None where it does not."""
    reading = read_yaml("", bytes_of(text))
    return next((found.span.line for found in reading.diagnostics if found.code in BROKEN), None)


def _suspects(whole: list[str], lines: list[str], bad: int, *, with_block: bool) -> list[int]:
    """The line that is named, or the nearest one with text above it; with what is indented below it."""
    here = next((number for number in range(min(bad, len(lines)), 0, -1) if lines[number - 1].strip()), 0)
    if not here or not with_block:
        return [here] if here else []
    indent = _indent(whole[here - 1])
    below = takewhile(
        lambda number: not whole[number - 1].strip() or _indent(whole[number - 1]) > indent,
        range(here + 1, len(lines) + 1),
    )
    return [here, *below]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _blank(line: str) -> str:
    """The line with spaces for its characters; its break stays."""
    body = line.rstrip("\r\n")
    return " " * len(body) + line[len(body) :]
