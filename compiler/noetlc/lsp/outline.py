"""The outline of a file, and what of it can be folded."""

from collections.abc import Iterator

from lsprotocol import types

from noetlc.lsp.known import KnownFile
from noetlc.lsp.positions import Positions
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_SECTIONS = {
    "executor": types.SymbolKind.Module,
    "workload": types.SymbolKind.Object,
    "keychain": types.SymbolKind.Object,
    "workbook": types.SymbolKind.Module,
}


def symbols_of(known: KnownFile, at: Positions) -> list[types.DocumentSymbol]:
    """The steps of a file with their tasks and loops, and the other sections with their keys."""
    found = []
    for root, _ in known.documents:
        if isinstance(root, Mapping):
            inner = [*_sections(root, at), *_steps(root.get("workflow"), at)]
            named = _scalar(root.get("metadata"), "name")
            # Of one playbook the steps are the outline; of several each has its own.
            if len(known.documents) > 1 and named is not None:
                symbol = _symbol(named, root, types.SymbolKind.File, at, inner)
                found.append(symbol)
            else:
                found += inner
    return found


def _sections(root: Mapping, at: Positions) -> Iterator[types.DocumentSymbol]:
    for key, value in root.entries:
        if key.text in _SECTIONS:
            inner = [
                _symbol(name, below, types.SymbolKind.Key, at, [])
                for name, below in (value.entries if isinstance(value, Mapping) else ())
            ]
            yield _symbol(key, value, _SECTIONS[key.text], at, inner)


def _steps(node: Node | None, at: Positions) -> Iterator[types.DocumentSymbol]:
    for step in node.items if isinstance(node, Sequence) else ():
        name = _scalar(step, "step")
        if name is not None and isinstance(step, Mapping):
            loop, around = _scalar(step.get("loop"), "iterator"), step.get("loop")
            loops = [_symbol(loop, around or loop, types.SymbolKind.Array, at, [])] if loop is not None else []
            yield _symbol(name, step, types.SymbolKind.Function, at, [*loops, *_tasks(step.get("tool"), at)])


def _tasks(node: Node | None, at: Positions) -> Iterator[types.DocumentSymbol]:
    listed = node.items if isinstance(node, Sequence) else [node] if node is not None else []
    for task in listed:
        if not isinstance(task, Mapping):
            continue
        name, kind = _scalar(task, "name"), _scalar(task, "kind")
        # The older form `- label: {kind: …}`, whose only key is the name.
        label = task.entries[0] if len(task.entries) == 1 else None
        if name is not None or kind is not None:
            shown = name or kind
            assert shown is not None
            symbol = _symbol(shown, task, types.SymbolKind.Method, at, [])
            symbol.detail = kind.text if kind is not None else None
            yield symbol
        elif label is not None and isinstance(label[1], Mapping):
            yield _symbol(label[0], task, types.SymbolKind.Method, at, [])


def _symbol(
    name: Scalar, around: Node, kind: types.SymbolKind, at: Positions, inner: list[types.DocumentSymbol]
) -> types.DocumentSymbol:
    own, whole = at.range(name.span), at.range(around.span)
    # An editor refuses a symbol whose name is outside of it, as that of a key is outside of its value.
    start = min((own.start, whole.start), key=lambda one: (one.line, one.character))
    end = max((own.end, whole.end), key=lambda one: (one.line, one.character))
    return types.DocumentSymbol(name.text or "…", kind, types.Range(start, end), own, children=inner)


def _scalar(node: Node | None, key: str) -> Scalar | None:
    value = node.get(key) if isinstance(node, Mapping) else None
    return value if isinstance(value, Scalar) and value.text else None


def folds_of(known: KnownFile) -> list[types.FoldingRange]:
    """The lines of each key and item that has several, and comments of several lines."""
    found: dict[int, int] = {}
    for root, _ in known.documents:
        waiting: list[Node] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Mapping):
                for key, value in node.entries:
                    waiting.append(value)
                    _fold(known, key.span.line, value.span.end_line, value.span.end_column, found)
            elif isinstance(node, Sequence):
                for item in node.items:
                    waiting.append(item)
                    _fold(known, item.span.line, item.span.end_line, item.span.end_column, found)
    folds = [types.FoldingRange(first - 1, last - 1) for first, last in sorted(found.items())]
    return folds + [types.FoldingRange(a - 1, b - 1, kind=types.FoldingRangeKind.Comment) for a, b in _comments(known)]


def _fold(known: KnownFile, first: int, end: int, column: int, found: dict[int, int]) -> None:
    # A block ends where the next thing begins; the lines between are nobody's.
    last = end if column > 1 else end - 1
    while last > first and not known.source.line_text(last).strip():
        last -= 1
    indent = _indent(known.source.line_text(first))
    # Comments between two blocks are less indented than the first one, and belong to the second.
    while last > first and _indent(known.source.line_text(last)) < indent and not _closes(known.source.line_text(last)):
        last -= 1
    if last > first:
        found[first] = max(last, found.get(first, 0))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def _closes(line: str) -> bool:
    return line.strip()[:1] in ("]", "}")


def _comments(known: KnownFile) -> Iterator[tuple[int, int]]:
    start = 0
    for line in range(1, known.source.line_count + 2):
        is_comment = known.source.line_text(line).lstrip().startswith("#")
        if is_comment and not start:
            start = line
        elif not is_comment and start:
            if line - 1 > start:
                yield start, line - 1
            start = 0
