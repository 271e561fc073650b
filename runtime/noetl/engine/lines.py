"""The line of an execution: which of its tokens lead to its result (EXTENSIONS.md §2).

The entry token is on it. At a fork it goes on with the first arc in file order that fired and does not lead to an
undeclared `end`; a run is on it if a token of its wave is, also one that came too late and was swallowed. The result of
an execution is that of the last run on it that ended well, never that of whichever branch came last.

    start → a, b;  a, b → c (join: all)          the line is start, a, c
    start → a, b;  a, b → c (join: first)        the line is start, a, c, whichever of a and b comes first

Every other branch has a line of its own, since the line of the entry may come to it: where its token is swallowed by
a run that began with others. A line has one token at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

NOTHING = object()
"""The result of a line on which no run has ended well yet."""


class Line:
    """A line: the result of the last run along it that ended well, and the line that it has merged into, None while it
    goes on by itself.
    """

    __slots__ = ("into", "result")

    def __init__(self) -> None:
        self.into: Line | None = None
        self.result: object = NOTHING


def end_of(line: Line) -> Line:
    """The line that a line goes on as."""
    while line.into is not None:
        line = line.into
    return line


def merged_lines(main: Line, lines: Iterable[Line], onto: Line) -> Line:
    """Let lines go over into `onto`; the line of the entry afterwards, which is `main` before."""
    target = end_of(onto)
    for line in lines:
        end = end_of(line)
        if end is not target:
            end.into = target
    while main.into is not None:
        if main.into.result is NOTHING:
            main.into.result = main.result
        main = main.into
    return main
