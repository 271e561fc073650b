"""The place of a cursor in a playbook that is being typed: the keys and list items around it, and what stands there.

A file that is typed is no YAML most of the time, and a file of 1,000 steps takes too long to read for each key. So only
the part around the cursor is read, one step or one section, with a mark where the cursor is, and with what is missing
there supplied: a colon behind a key, closing quotes and brackets.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.source.decoding import bytes_of
from noetlc.source.nodes import Mapping, Node, Scalar
from noetlc.source.nodes import Sequence as SequenceNode
from noetlc.source.text import lines_of
from noetlc.source.yaml_reader import read_yaml

MARK = "\ue123"
"""The character that stands for the cursor, of those that no text uses (private use)."""

_SECTION = re.compile(r"[\w\"'][^#\n]*?:(\s|$)")
_ITEM = re.compile(r"( *)- ?")
_OPEN, _CLOSE = "[{", "]}"


class CursorLevel(NamedTuple):
    """A mapping or list around the cursor; `key` is the key or the number of the item in it that holds the cursor, None
    where the cursor is about to write one.
    """

    node: Mapping | SequenceNode
    key: str | int | None


CursorPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and numbers that lead somewhere from the root of a document."""


def path_of(levels: Sequence[CursorLevel]) -> CursorPath:
    """The path along some levels, from the root inwards."""
    return tuple(level.key for level in levels if level.key is not None)


def touches(span: Span, line: int, column: int) -> bool:
    """Whether a cursor stands in a span; behind its last character counts."""
    return span[:2] <= (line, column) <= span[2:]


class CursorPosition(NamedTuple):
    """The levels from the root inwards; `is_key` says whether a key is written; `typed` is what stands of the word
    before the cursor, `inside` the text of the expression before the cursor where it is in one.
    """

    levels: tuple[CursorLevel, ...]
    is_key: bool
    typed: str
    inside: str | None

    @property
    def path(self) -> CursorPath:
        """The keys and numbers that lead to the cursor."""
        return path_of(self.levels)


class _Part(NamedTuple):
    """Lines of a file that can be read by themselves, with those above that they need; `at` is where the cursor is."""

    head: str
    before: str
    after: str


def cursor_at(text: str, line: int, column: int) -> CursorPosition | None:
    """The place of a cursor, line and column from 1; None where nothing around it can be read."""
    lines = lines_of(text) or [""]
    if text.endswith(("\n", "\r")):
        # The cursor may stand behind the last line break, in a line that has no text.
        lines.append("")
    number = min(line, len(lines))
    for marked in _marked(_part(lines, number, column)):
        levels, scalar = _found(marked)
        if scalar is None:
            continue
        is_key = bool(levels) and levels[-1].key is None
        before = scalar.text.partition(MARK)[0]
        return CursorPosition(levels, is_key, before, _inside(before))
    return None


def _part(lines: list[str], number: int, column: int) -> _Part:
    """The step or section with the cursor's line."""
    here = lines[number - 1]
    start = next((at for at in range(number, 0, -1) if _begins_section(lines[at - 1])), 1)
    stop = next((at for at in range(number + 1, len(lines) + 1) if _begins_section(lines[at - 1])), len(lines) + 1)
    head = ""
    # At the first column of an empty line a new section begins, wherever the line stands.
    if column == 1 and not here.strip():
        return _Part("", "", "")
    # A workflow of 1,000 steps is one section: of it only the step around the cursor is read.
    if lines[start - 1].startswith("workflow") and number > start:
        items = list(_items(lines, start, stop))
        first = next((at for at in reversed(items) if at <= number), None)
        if first is not None:
            stop = next((at for at in items if at > number), stop)
            head, start = "workflow:\n", first
    before = "".join(lines[start - 1 : number - 1]) + here[: column - 1]
    return _Part(head, before, here[column - 1 :] + "".join(lines[number : stop - 1]))


def _begins_section(line: str) -> bool:
    # A look at one character spares the pattern for nearly every line of a long file.
    return line[:1] not in " -#\n\r" and _SECTION.match(line) is not None


def _items(lines: list[str], start: int, stop: int) -> Iterator[int]:
    """The lines at which the items of the list behind a section's line begin."""
    indent = None
    for at in range(start + 1, stop):
        line = lines[at - 1]
        # A look at where a dash has to be spares the pattern for nearly every line.
        if indent is not None and "-" not in line[: indent + 1]:
            continue
        found = _ITEM.match(line)
        if found is None:
            continue
        indent = len(found[1]) if indent is None else indent
        if len(found[1]) == indent:
            yield at


def _marked(part: _Part) -> Iterator[str]:
    """The part with the mark, in the ways in which it may be meant: the likeliest first."""
    rest, _, below = part.after.partition("\n")
    before, closed = part.head + part.before, _closers(part.before)
    # What stands behind the cursor is kept where it can be read, then given up for what would close the line, then for
    # nothing: an unfinished line is the usual case.
    lines = (f"{rest}\n", f"{closed}\n", "\n")
    as_key = [f"{before}{MARK}: {line}{below}" for line in lines] if not rest.lstrip().startswith(":") else []
    as_value = [f"{before}{MARK}{line}{below}" for line in lines]
    # Where nothing stands before it but space and dashes, a word is the beginning of a key.
    yield from (*as_key, *as_value) if _begins(part.before) else (*as_value, *as_key)
    # What is below may be unfinished, too.
    yield from (f"{before}{MARK}: {closed}", f"{before}{MARK}{closed}")


def _begins(before: str) -> bool:
    """Whether a key may begin here: behind the indentation, a dash, a bracket or a comma."""
    line = before.rpartition("\n")[2]
    return re.fullmatch(r"[\s-]*[\w.-]*|.*[{,]\s*[\w.-]*", line) is not None and line.count('"') % 2 == 0


def _closers(before: str) -> str:
    """The quotes and brackets that are open at the end of a text, closed."""
    opened: list[str] = []
    quote, is_comment = "", False
    for at, char in enumerate(before):
        previous = before[at - 1 : at]
        if is_comment:
            is_comment = char != "\n"
        elif quote:
            # Only double quotes have escapes. `''` within single quotes closes here, and is opened again below.
            if char == quote and not (quote == '"' and previous == "\\"):
                quote = ""
        # A quote within a word is an apostrophe and opens nothing.
        elif char in "\"'" and (previous in "\n [{,:-" or char == previous == "'"):
            quote = char
        elif char == "#" and previous in "\n ":
            is_comment = True
        elif char in _OPEN:
            opened.append(_CLOSE[_OPEN.index(char)])
        elif char in _CLOSE and opened:
            opened.pop()
    # An open expression is closed inside of its quotes; outside of quotes braces are brackets of YAML, and closed as
    # these.
    braces = "}}" if quote and _inside(before) is not None else ""
    return braces + quote + "".join(reversed(opened))


def _found(text: str) -> tuple[tuple[CursorLevel, ...], Scalar | None]:
    """The way to the scalar that holds the mark in a text, and that scalar."""
    documents = read_yaml("", bytes_of(text)).documents
    waiting: list[tuple[Node, tuple[CursorLevel, ...]]] = [(node, ()) for node in documents if node is not None]
    while waiting:
        node, levels = waiting.pop()
        if isinstance(node, Scalar):
            if MARK in node.text:
                return levels, node
        elif isinstance(node, Mapping):
            for key, value in node.entries:
                if MARK in key.text:
                    return (*levels, CursorLevel(node, None)), key
                waiting.append((value, (*levels, CursorLevel(node, key.text))))
        else:
            waiting += [(item, (*levels, CursorLevel(node, number))) for number, item in enumerate(node.items)]
    return (), None


def _inside(before: str) -> str | None:
    """The text of the expression that is open at the end of a text, None where none is."""
    start = max(before.rfind("{{"), before.rfind("{%"))
    if start < 0 or max(before.rfind("}}"), before.rfind("%}")) > start:
        return None
    return before[start + 2 :].lstrip("-+")
