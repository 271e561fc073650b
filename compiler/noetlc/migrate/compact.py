"""Put new mappings of a rewritten file on one line, as people write them by hand, where they fit and have no comment.

    then:                       →  then: {do: jump, to: a}
      do: jump
      to: a

Only lines that were printed are joined, and keys that stood elsewhere, never what the author wrote there. The printer
writes scalars that are the same text inside of brackets, and one line for each key or item; so lines are joined without
being read.
"""

from re import compile as pattern

from noetlc.ast.yaml_text import STEP
from noetlc.migrate.lines import NewLine

WIDTH = 120
"""Characters of a line that is joined, at most."""

_KEY = pattern(r'("(?:[^"\\]|\\.)*"|[\w./-][^:"]*):(?: (.*))?')
_MARK = "- "
_SIMPLE = pattern(r"""[\w-]+: ("(?:[^"\\]|\\.)*"|'[^']*'|[\w./-]+)""")


def compacted(lines: list[NewLine]) -> list[NewLine]:
    """The lines, with blocks joined from the inside out."""
    found: list[NewLine] = []  # from the last to the first
    # From below: an inner block is one line before the block around it is looked at, and so may fit, too.
    for line in reversed(lines):
        if line.is_new and (block := _block(line, found)):
            joined = _joined(line.text, [inner.text for inner in reversed(found[-block:])])
            if joined is not None:
                line.text = joined
                del found[-block:]
        found.append(line)
    return found[::-1]


def is_simple(text: str) -> bool:
    """Whether a line that was copied has one key and a value that is the same inside of brackets."""
    return _SIMPLE.fullmatch(text.strip(" ")) is not None


def _block(head: NewLine, below: list[NewLine]) -> int:
    """How many lines below a head belong to it; 0 where there are none, too many for a line, or some are not new."""
    depth, count, size = _depth(head.text), 0, len(head.text)
    for line in reversed(below):
        if _depth(line.text) <= depth:
            break
        count, size = count + 1, size + len(line.text.lstrip())
        # A line of the author's own, or one with a comment, has no place inside of brackets.
        if size > WIDTH or not line.is_new or line.before or line.comments:
            return 0
    return count if depth else 0  # keys of the document stand on lines of their own


def _joined(head: str, below: list[str]) -> str | None:
    """A head with what stands below it inside of brackets; None where that is not one line."""
    margin = head[: _depth(head)]
    rest = head[len(margin) :]
    if rest.startswith(_MARK) and not rest.endswith(":"):
        below, rest = [margin + STEP + rest[len(_MARK) :], *below], "-"
    elif not rest.endswith(":"):
        return None
    # A block that stayed on several lines stands below: what is around it must, too.
    if len({_depth(line) for line in below}) != 1:
        return None
    value = _bracketed([line.lstrip() for line in below])
    text = None if value is None else f"{margin}{rest} {value}"
    return text if text is not None and len(text) <= WIDTH else None


def _bracketed(parts: list[str]) -> str | None:
    if all(part.startswith(_MARK) for part in parts):
        items = [part[len(_MARK) :] for part in parts]
        pairs = [_KEY.fullmatch(item) for item in items]
        if len(items) > 1 and any(pair or item[0] in "{[" for pair, item in zip(pairs, items, strict=True)):
            return None  # mappings below each other are read more easily
        return f"[{', '.join(f'{{{item}}}' if pair else item for pair, item in zip(pairs, items, strict=True))}]"
    found = [_KEY.fullmatch(part) for part in parts]
    # A key without a value on its line has a block below, and a block of text cannot stand in brackets.
    if not all(pair is not None and pair.group(2) and not pair.group(2).startswith(("|", ">")) for pair in found):
        return None
    return f"{{{', '.join(parts)}}}"


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
