"""YAML bytes to nodes with spans: the only place that knows the YAML library.

Nodes are built straight from libyaml's events, in one loop with a stack of its own, so neither depth nor
length of a file meets Python's recursion limit. What most events do not need (tags, anchors, merge keys,
findings) is in `composer`. The loop is written for speed: a turn costs half of what the parser takes to make
the event. A caller that reads much switches the cyclic collector off: nodes hold no cycles.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.diag.findings import sorted_findings
from noetlc.source.composer import Composer
from noetlc.source.decoding import decode, size_finding
from noetlc.source.limits import LIMITS, FileLimits, LimitReached
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence
from noetlc.source.pyyaml import yaml
from noetlc.source.text import Source
from noetlc.source.uses import Use

_KINDS = (
    yaml.ScalarEvent,
    yaml.MappingStartEvent,
    yaml.MappingEndEvent,
    yaml.SequenceStartEvent,
    yaml.SequenceEndEvent,
)
_ITEM: Any = object()
_NONE: Any = ()
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Reading(NamedTuple):
    """The content of a file: one node for each document (None where it broke off), what there is to say, and
    the aliases.
    """

    source: Source
    documents: tuple[Node | None, ...]
    diagnostics: tuple[Diagnostic, ...]
    uses: tuple[Use, ...] = ()


def read_yaml(name: str, data: bytes, limits: FileLimits = LIMITS, *, at_uses: bool = False) -> Reading:
    """Read every document of a file. Never raises, whatever the bytes. With `at_uses` what an alias stands for is a
    copy with the place of the alias; else it is the node of the anchor.
    """
    # Before decoding: a text takes up to four times the bytes of its file.
    if len(data) > limits.size:
        return Reading(Source(name, ""), (), (size_finding(len(data), limits.size),))
    source, problem = decode(name, data)
    if problem is not None:
        return Reading(source, (), (problem,))
    composer = Composer(source, limits, at_uses=at_uses)
    documents: list[Node | None] = []
    broken = _read(source, composer, documents)
    if broken is not None:
        documents.append(None)
        composer.findings.insert(0, broken)  # where it says the same as another, it knows more
    elif not documents:
        help = "a playbook begins with `apiVersion: noetl.io/v2`"
        message = "there is no YAML document in this file"
        composer.findings.append(finding("NL019", message, Span(1, 1, 1, 1), help=help))
    return Reading(source, tuple(documents), sorted_findings(composer.findings), tuple(composer.uses))


def _read(source: Source, composer: Composer, documents: list[Node | None]) -> Diagnostic | None:
    """Fill `documents`; what broke off the reading, if anything did."""
    try:
        events = iter(_LOADER(source.text).get_event, None)
        # A search of the whole text costs less than new marks for every event of the many files without such
        # characters.
        if source.has_breaks_of_yaml:
            events = map(_placed_in(source), events)
        # `islice` counts in C; a counter of its own would cost every turn of the loop.
        _compose(islice(events, composer.limits.events), composer, documents)
        if (event := next(events, None)) is not None:
            raise composer.too_long(event)
    except yaml.reader.ReaderError as error:
        # Imported here, since most files have no fault and their patterns take time to compile.
        from noetlc.source.syntax import character_finding

        return character_finding(source) or finding("NL003", str(error.reason), Span(1, 1, 1, 1))
    except yaml.MarkedYAMLError as error:
        from noetlc.source.syntax import Trouble, syntax_finding

        marks = [mark and source.mark_at(mark.index) for mark in (error.problem_mark, error.context_mark)]
        trouble = Trouble(error.problem or "", marks[0], error.context or "", marks[1])
        return syntax_finding(source, trouble)
    except LimitReached as limit:
        return limit.diagnostic
    except (ValueError, OverflowError) as error:  # the pure Python parser lets these through
        return finding("NL003", f"this is no YAML: {error}", Span(1, 1, 1, 1))
    return None


def _placed_in(source: Source) -> Callable[[Any], Any]:
    """Gives the marks of an event the lines of the file instead of those of YAML 1.1."""

    def placed(event: Any) -> Any:
        event.start_mark, event.end_mark = source.mark_at(event.start_mark.index), source.mark_at(event.end_mark.index)
        return event

    return placed


# The class of an event is compared itself: `isinstance` costs a call for each of five kinds, and nobody derives from
# libyaml's events. Quoted text is never resolved, and plain text that was met before has its value in the table. One
# list is filled through `items`, whichever container is open, so that the end of a turn asks for no class. The
# composer sees only containers with an anchor, a merge key or a wrong key, and mappings whose keys repeat.
def _compose(events: Iterator[Any], composer: Composer, documents: list[Node | None]) -> None:
    """One turn for each event. `key` waits for its value, is None where one is expected, `_ITEM` in lists."""
    scalar, mapping, map_end, sequence, seq_end = _KINDS
    plain, names, special, deepest = composer.plain, composer.names, composer.special, composer.limits.depth
    stack: list[Any] = []
    container, node, index, end, key, is_flow = _NONE, _NONE, _NONE, _NONE, _ITEM, False
    items: Any = documents  # of the open container: nodes, or entries of a mapping
    for event in events:
        kind = event.__class__
        if kind is scalar:
            node, text = Scalar(), event.value
            node.style = style = event.style or ""
            node.start = event.start_mark
            node.end = end = event.end_mark
            if key is None:
                known = names.get(text)
                node.value = node.text = known or text  # equal keys share one text, hashed once
                key = node
                if known is None or event.tag is not None or event.anchor is not None:
                    composer.named(node, event, container)
                continue
            node.text = text
            if style or (text in plain and event.tag is None):
                node.value = text if style else plain[text]
            else:
                node.value = composer.plain_value(node, event, key)
            if event.anchor is not None or event.tag is not None:
                composer.marked(node, event)
        elif kind is mapping or kind is sequence:
            stack.append((container, index, items, key, is_flow))
            items = []
            if kind is mapping:
                container, index, key = Mapping(), {}, None
                container.entries, container.index = items, index
            else:
                container, key = Sequence(), _ITEM
                container.items = items
            container.start = event.start_mark
            is_flow = event.flow_style
            if event.anchor is not None or event.tag is not None or len(stack) > deepest:
                composer.opened(container, event, len(stack))
            continue
        elif kind is map_end or kind is seq_end:
            container.end = end = event.end_mark if is_flow else end  # a block ends with what it holds
            node = container
            if (special and special[-1] is node) or (kind is map_end and len(index) != len(items)):
                node = composer.closed(node)
            container, index, items, key, is_flow = stack.pop()
        elif (node := composer.other(event, len(stack))) is not None:
            end = event.end_mark
        else:
            continue
        if key is _ITEM:
            items.append(node)
        elif key is None:
            key = composer.key_of(node, container)
        else:
            index[key.text] = entry = (key, node)
            items.append(entry)
            key = None
