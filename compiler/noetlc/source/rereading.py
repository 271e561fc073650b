"""A file that was read before, in which something changed within one step: only that step is read again.

This is what an editor has after most keys. All other nodes are those of the last reading, at the lines where they were:
a change that moves the lines of other steps is read whole, and so is every file about which there is a doubt. The
offsets of marks are those of the older text, so that whoever goes by offsets, as migration does, reads for himself.
"""

from bisect import bisect_left, bisect_right

from noetl_ir.records import NamedTuple
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.source.decoding import bytes_of, decode
from noetlc.source.limits import LIMITS
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence
from noetlc.source.text import Source
from noetlc.source.yaml_reader import Reading, read_yaml

_STEPS = "workflow"
_BY_OFFSETS = "noetl:"
"""Comments of the author about findings, which are looked for by offsets."""

_MANY = 500
"""Findings from which on a reading may have left some out, as `composer` does."""


_BELOW = "x: 0\n"
"""What stands for the section below the steps."""


class _Steps(NamedTuple):
    """The steps of a file: its root, the entry with their list, the list, and the lines in which they begin, from 0."""

    root: Mapping
    entry: int
    listed: Sequence
    begins: list[int]


class _Part(NamedTuple):
    """The lines `first` to `end`, excluded and from 0, of the step of a number; `follows` stands for what is below."""

    number: int
    first: int
    end: int
    follows: str


def reread(before: Reading, name: str, data: bytes) -> Reading | None:
    """The reading of a file as `read_yaml` gives it, made of that of an older text; None where it has to be read."""
    steps = _steps_of(before)
    source, problem = decode(name, data)
    # No text has more events than characters: it is far from that limit, and from that of its size.
    if steps is None or problem is not None or len(data) > min(LIMITS.size, LIMITS.events):
        return None
    if _BY_OFFSETS in source.text or source.has_breaks_of_yaml or len(before.diagnostics) > _MANY:
        return None
    if before.source.text == source.text:
        return before._replace(source=source)
    part = _part_of(steps, before.source, source)
    found = None if part is None else _step_in(part, source)
    if part is None or found is None:
        return None
    node, told = found
    # A text may end in a line of its own, where the parser has a place for what is empty.
    if isinstance(node, Scalar):
        return None
    kept = [one for one in before.diagnostics if not part.first < one.span.line <= part.end]
    return Reading(source, (_with_step(steps, part, node),), sorted_findings([*kept, *told]))


def _steps_of(reading: Reading) -> _Steps | None:
    """The steps of a file with one document, in which nothing stands for what is elsewhere."""
    root = reading.documents[0] if len(reading.documents) == 1 else None
    if not isinstance(root, Mapping) or root.start.column or reading.uses or reading.source.has_breaks_of_yaml:
        return None
    entry = next((at for at, (key, _) in enumerate(root.entries) if key.text == _STEPS), -1)
    listed = root.entries[entry][1] if entry >= 0 else None
    if not isinstance(listed, Sequence) or not listed.items:
        return None
    return _Steps(root, entry, listed, [item.start.line for item in listed.items])


def _part_of(steps: _Steps, old: Source, new: Source) -> _Part | None:
    """The step in which all changes are, if they are in one and nothing below it moves."""
    first, end, new_end = _changed_lines(old, new)
    number = bisect_right(steps.begins, first) - 1
    if number < 0 or not _begins_alike(steps, number, old, new):
        return None
    if number + 1 < len(steps.begins):
        part = _Part(number, steps.begins[number], steps.begins[number + 1], " " * steps.listed.start.column + "- 0\n")
        return part if end < part.end and end == new_end else None
    if steps.entry + 1 < len(steps.root.entries):
        below = steps.root.entries[steps.entry + 1][0].start
        part = _Part(number, steps.begins[number], below.line, _BELOW)
        return part if end < part.end and end == new_end and not below.column else None
    # Below the last step of a file there is nothing that could move.
    return _Part(number, steps.begins[number], max(old.line_count, new.line_count), "")


def _changed_lines(old: Source, new: Source) -> tuple[int, int, int]:
    """The first line with a change, from 0, and the last one in both texts."""
    a, b = old.text, new.text
    least = min(len(a), len(b))
    # By halves: a comparison of slices costs nearly nothing, and one of characters or lines takes longer than the rest.
    ahead = bisect_left(range(least), True, key=lambda at: a[: at + 1] != b[: at + 1])
    same = bisect_left(range(least - ahead), True, key=lambda at: a[len(a) - at - 1 :] != b[len(b) - at - 1 :])
    begin, end, new_end = (
        source.span_of(at, at).line - 1 for source, at in ((old, ahead), (old, len(a) - same), (new, len(b) - same))
    )
    return begin, end, new_end


def _begins_alike(steps: _Steps, number: int, old: Source, new: Source) -> bool:
    """Whether the line in which a step begins has nothing but its dash before it, at the column of the list."""
    node = steps.listed.items[number]
    ahead = old.line_text(node.start.line + 1)[: node.start.column]
    return (
        ahead.rstrip(" ") == " " * steps.listed.start.column + "-"
        and new.line_text(node.start.line + 1)[: node.start.column] == ahead
    )


def _step_in(part: _Part, source: Source) -> tuple[Node, tuple[Diagnostic, ...]] | None:
    """The node of a step, and the findings in it; None where it is wrong in itself, or ends elsewhere than it did."""
    end = len(source.text) if part.end >= source.line_count else source.offset_of(part.end + 1, 1)
    written = source.text[source.offset_of(part.first + 1, 1) : end]
    # As deep as in its file, and in the same lines.
    reading = read_yaml(source.name, bytes_of("\n" * (part.first - 1) + "w:\n" + written + part.follows))
    root = reading.documents[0] if len(reading.documents) == 1 else None
    if (
        not isinstance(root, Mapping)
        or reading.uses
        or any(one.severity is Severity.ERROR for one in reading.diagnostics)
    ):
        return None
    keys, listed = [key.text for key, _ in root.entries], root.entries[0][1]
    if keys != (["w", "x"] if part.follows == _BELOW else ["w"]) or not isinstance(listed, Sequence):
        return None
    steps = len(listed.items) - (part.follows not in ("", _BELOW))
    return (listed.items[0], reading.diagnostics) if steps == 1 else None


def _with_step(steps: _Steps, part: _Part, node: Node) -> Mapping:
    """The document with another step in its list. Nodes of the last reading stay as they are: others may hold them."""
    listed, root = Sequence(), Mapping()
    listed.items = [*steps.listed.items]
    listed.items[part.number] = node
    listed.start, listed.end = steps.listed.start, steps.listed.end
    if part.number + 1 == len(listed.items):
        listed.end = node.end
    root.entries = [*steps.root.entries]
    root.entries[steps.entry] = (steps.root.entries[steps.entry][0], listed)
    root.index = {entry[0].text: entry for entry in root.entries}
    root.start, root.end = steps.root.start, steps.root.end if part.follows else listed.end
    return root
