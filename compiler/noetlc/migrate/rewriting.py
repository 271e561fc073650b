"""A document of a file rewritten: what no pass touched keeps its bytes, the rest becomes canonical key by key.

The canonical tree (`noetlc.ast.printing.tree_of`) is laid over the nodes of the source. Where both say the same, or
where the tree is as it was read and no change was noted, the text is copied, with its comments. A key that changed
is edited inside as deep as possible; what is new is printed, and values in it that stood elsewhere are copied from
there.

    next: b   # go on        →  next:   # go on
                                  spec:
                                    mode: exclusive
                                  arcs:
                                    - step: b
"""

from collections.abc import Iterator

from noetl_ir.expr import Native, Text
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Value
from noetlc.ast.printing import Keys, Placed, Tree, plain_tree
from noetlc.ast.yaml_text import entry_lines, scalar_text
from noetlc.migrate.compact import compacted, is_simple
from noetlc.migrate.copying import DEEPER, Copies
from noetlc.migrate.entries import NodeEntry, Refusal, end_of, is_flow, items_of
from noetlc.migrate.lines import NewLine
from noetlc.migrate.parts import (
    DOCUMENT,
    STEP,
    Here,
    Touched,
    by_place,
    claims_of,
    in_order,
    is_same,
    item_at,
    keys_of,
    place_of,
)
from noetlc.migrate.scalars import Edit, replaced_scalar
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of


def rewritten_document(text: str, root: Mapping, tree: Placed, read: Placed, touched: Touched) -> str:
    """The text of a file whose document `root` has become `tree`; it was read as `read`.

    Raises Refusal where the text cannot be rewritten.
    """
    return _Document(text, root, touched, read).rewritten(root, Here(tree, read, DOCUMENT, moved=False))


class _Document:
    """The source of a document, what changes in it, and which of its mappings have become another."""

    def __init__(self, text: str, root: Mapping, touched: Touched, read: Placed) -> None:
        self._text = text
        self._read = dict(_items_in(read))
        self._touched = touched
        self._copies = Copies(text, root)
        self._used: set[int] = set()

    def rewritten(self, root: Mapping, here: Here) -> str:
        """The whole text with this document rewritten."""
        text = self._text
        entries = self._copies.entries(root)
        # From the margin on, so that a document that stands to the right keeps its column.
        start = text.rfind("\n", 0, root.start.index) + 1
        if is_flow(text, root):
            column, stop = 0, end_of(text, root)
            begun = text[start : root.start.index].strip()  # as in `--- {…}`
            start = root.start.index if begun else start
            before = "\n" if begun else ""
        else:
            column, stop, before = entries[0].start - start, max(entry.stop for entry in entries), ""
        lines = self._mapping(here, root, column)
        self._copies.settle_comments(start, stop)
        return text[:start] + before + "\n".join(part for line in compacted(lines) for part in line.all()) + text[stop:]

    # Mappings

    def _mapping(self, here: Here, node: Mapping | None, column: int) -> list[NewLine]:
        """The lines of the keys of a mapping; `node` is the mapping that it was."""
        tree = here.tree
        assert isinstance(tree, dict)
        is_new = node is None or id(node) in self._used
        entries = [] if node is None or is_new else self._copies.entries(node)
        # A mapping serves once: its second copy, as of a `sink` that becomes two tasks, is printed from the tree.
        self._used.add(id(node))
        own = {entry.key.text: entry for entry in entries if entry.key is not None}
        # Keys that the canonical tree does not have but canonical text may, as `x-…`, stay where they are.
        stays = [key for key, entry in own.items() if key in tree or self._stays(here, entry)]
        # Where a key is gone, its value may stand under another key now, so that no key here counts as unchanged.
        moved = here.scope != DOCUMENT and (here.moved or is_new or len(stays) < len(own))
        lines: list[NewLine] = []
        for key in in_order(
            list(tree), self._placed(stays, own, tree) or (self._kept_in_place(tree) if here.scope else [])
        ):
            entry = own.get(key)
            if key not in tree:
                lines += self._copies.copy(own[key], column)
            elif entry is not None:
                inner = here.under(key, moved=moved)
                made = self._entry(key, inner if isinstance(entry.value, Sequence) else inner.single(), entry, column)
                lines += _moved(made) if here.moved else made
            elif moved or not self._is_implied(here, key) or _stood_in(own.get("spec"), tree[key]):
                lines += _moved(self._new_entry(key, here.under(key, moved=True).single(new=True), column))
        return lines

    def _is_implied(self, here: Here, key: str) -> bool:
        """Whether a key need not be written. It must be written where its value stood in an older form that is
        replaced.
        """
        if not here.implies(key):
            return False
        tree = here.tree[key] if isinstance(here.tree, dict) else None
        entry = self._copies.entry_at(tree.span) if isinstance(tree, Value | Placed) else None
        if entry is None or entry.key is None:
            return True
        return not self._touched.has_legacy(entry.start, entry.end)

    def _placed(self, stays: list[str], own: dict[str, NodeEntry], tree: Keys) -> list[str]:
        """The keys that stay, under their present names, in the order in which they stood in this mapping."""
        if not stays:
            return []
        values = {key: value.span for key, value in tree.items() if key not in own and isinstance(value, Value)}
        # A value that stands under two new keys was not renamed but doubled.
        renamed = {span: key for key, span in values.items() if list(values.values()).count(span) == 1}
        there = [key if key in stays else renamed.get(entry.value.span, "") for key, entry in own.items()]
        return [key for key in there if key]

    def _kept_in_place(self, tree: Keys) -> list[str]:
        """The keys whose values stand somewhere in the old file, in the order of these places."""
        places = {key: value.span for key, value in tree.items() if isinstance(value, Value | Guard)}
        return sorted((key for key, span in places.items() if self._copies.holds(span)), key=places.__getitem__)

    def _stays(self, here: Here, entry: NodeEntry) -> bool:
        """Whether a key that the canonical text leaves out is canonical all the same."""
        assert entry.key is not None
        key = entry.key.text
        if key.startswith("x-"):
            return True
        if (isinstance(here.read, dict) and key in here.read) or self._touched.has_legacy(entry.start, entry.end):
            return False
        known = keys_of(here.scope)
        return here.read is not None if known is None else key in known

    def _entry(self, key: str, here: Here, entry: NodeEntry, column: int) -> list[NewLine]:
        """The lines of a key that was there, in this mapping or in another."""
        assert entry.key is not None
        renamed = entry.key.text != key
        # The frequent case, and the point of it all: what did not change is copied byte for byte.
        if not renamed and self._says(here, entry.value, entry.start, entry.stop):
            return self._copies.copy(entry, column)
        here = here.opened()
        # To edit an alias would edit its anchor; to write out what it stands for is for the author to decide.
        if entry.shared and isinstance(here.tree, dict | list):
            raise Refusal("an alias in a construct that changes: write out what it stands for", entry.key)
        edits = [Edit(entry.key.start.index, entry.key.end.index, scalar_text(key))] if renamed else []
        # From the least change to the most: edit inside of the block, edit the text in its place, print anew.
        inner = None if entry.flow else self._below(here, entry, edits, column)
        if inner is not None:
            return inner
        within = None if entry.shared else self._edits(here, entry.value, entry.start)
        if within is not None:
            return self._copies.copy(entry, column, [*edits, *within])
        lines = self._printed(f"{' ' * column}{scalar_text(key)}:", here, entry.value, column)
        lines[0].before += self._copies.lead(entry, column)
        lines[0].text += self._copies.beside(entry)
        self._copies.stands(entry, lines[0])
        return lines

    def _below(self, here: Here, entry: NodeEntry, edits: list[Edit], column: int) -> list[NewLine] | None:
        """The lines of a key whose block changes inside; None where it becomes something else."""
        value, shift = entry.value, column - self._copies.column(entry.start)
        match value:
            case Mapping() if not is_flow(self._text, value):
                inner = here if isinstance(here.tree, dict) else here.lone(value)
                first = self._copies.entries(value)[0].start
                if inner is None:
                    return None
                lines = self._head(entry, first, edits, column)
                return lines + self._mapping(inner, value, self._copies.column(first) + shift)
            case Sequence() if isinstance(here.tree, list) and not is_flow(self._text, value):
                first = items_of(self._text, value)[0].start
                lines = self._head(entry, first, edits, column)
                return lines + self._list(here, value, self._copies.column(first) + shift)
        return None

    def _head(self, entry: NodeEntry, below: int, edits: list[Edit], column: int) -> list[NewLine]:
        """The lines from a key to the line before its first child."""
        stop = self._text.rfind("\n", 0, below)
        # Comments between a key and its first child are part of its head.
        head = self._copies.copy(entry._replace(end=stop, stop=stop), column, edits)
        self._copies.stands(entry, head[0])
        return head

    def _new_entry(self, key: str, here: Here, column: int) -> list[NewLine]:
        """The lines of a key that was not in this mapping; its value may have stood in another."""
        span = here.tree.span if isinstance(here.tree, Value | Guard | Placed) else None
        if span is None:
            return self._printed(f"{' ' * column}{scalar_text(key)}:", here, None, column)
        entry = self._copies.entry_at(span)
        if entry is not None and _came_from(key, here.tree, entry):
            return self._entry(key, here, entry, column)
        lines = self._printed(f"{' ' * column}{scalar_text(key)}:", here, None, column)
        if isinstance(here.tree, Placed):
            self._copies.comes_from(span, lines[0])
        return lines

    # Lists

    def _list(self, here: Here, node: Sequence | None, column: int) -> list[NewLine]:
        """The lines of the items of a list, with their dashes in `column`; `node` is the list that it was."""
        trees = here.tree
        assert isinstance(trees, list)
        items = items_of(self._text, node) if node is not None else []
        was = by_place(here.read)
        claims = claims_of(trees, was)
        homes = {place_of(item.value): number for number, item in enumerate(items)}
        # Where steps have blank lines between them a new step gets one.
        apart = here.scope == STEP and any(self._text[item.lead : item.start].lstrip(" ")[:1] == "\n" for item in items)
        lines: list[NewLine] = []
        for number, tree in enumerate(trees):
            home: int | None = None
            read: Tree = None
            if isinstance(tree, Placed):
                if claims[tree.span] == number:
                    home, read = homes.get(tree.span), was.get(tree.span)
            # Items without a place of their own are matched by number, which only means something while none came or
            # went.
            elif len(items) == len(trees):
                home, read = number, item_at(here.read, number)
            inner = here._replace(tree=tree, read=read, moved=here.moved or home != number)
            if home is not None:
                lines += self._item(inner, items[home], column)
            else:
                made = self._new_item(inner, column)
                made[0].before += [""] * apart
                lines += made
        return lines

    def _item(self, here: Here, item: NodeEntry, column: int) -> list[NewLine]:
        """The lines of an item that was there."""
        if self._keeps(here, item):
            return self._copies.copy(item, column)
        value, here = item.value, here.opened()
        labelled = isinstance(here.tree, Placed) and here.tree.span != value.span
        block = isinstance(value, Mapping) and not labelled and not is_flow(self._text, value)
        if block and isinstance(value, Mapping) and isinstance(here.tree, dict):
            between = self._text[item.start : self._copies.entries(value)[0].start]
            # `-   step: a` keeps its width, so that all keys below stay where they are.
            gap = DEEPER if "\n" in between else len(between)
            lines = _dashed(self._mapping(here, value, column + gap), column, gap)
            lines[0].before += self._copies.lead(item, column)
            self._copies.stands(item, lines[0])
            return lines
        edits = None if labelled else self._edits(here, value, item.start)
        if edits is not None:
            return self._copies.copy(item, column, edits)
        lines = self._new_item(here, column)
        lines[0].before += self._copies.lead(item, column)
        return lines

    def _new_item(self, here: Here, column: int) -> list[NewLine]:
        """The lines of an item that was not in this list; its mapping may have stood elsewhere."""
        here = here.opened()
        span = here.tree.span if isinstance(here.tree, Placed) else None
        if here.read is None and span is not None:
            here = here._replace(read=self._read.get(span) or self._of_another(span))
        if isinstance(here.tree, dict) and here.tree:
            node = self._copies.mapping_at(span) if span is not None else None
            lines = _dashed(self._mapping(here._replace(moved=True), node, column + DEEPER), column, DEEPER)
        elif isinstance(here.tree, list) and here.tree:
            lines = _dashed(self._list(here, None, column + DEEPER), column, DEEPER)
        else:
            lines = self._printed(f"{' ' * column}-", here, None, column)
        if span is not None:
            self._copies.comes_from(span, lines[0])
        return lines

    def _of_another(self, span: Span) -> Keys:
        """The keys of the mapping at a place, each without a tree: for an item that was made of another construct, so
        that none of these keys counts as its own.
        """
        node = self._copies.mapping_at(span)
        return dict.fromkeys((key.text for key, _ in node.entries), None) if node is not None else {}

    # Values

    def _printed(self, head: str, here: Here, node: Node | None, column: int) -> list[NewLine]:
        """The lines of a value behind its head, printed anew; `node` is what stood there."""
        here = here.opened()
        tree = here.tree
        if isinstance(tree, dict) and tree:
            base = node if isinstance(node, Mapping) else None
            if base is None and isinstance(tree, Placed):
                base = self._copies.mapping_at(tree.span)
            return [NewLine(head, is_new=True), *self._mapping(here, base, column + DEEPER)]
        if isinstance(tree, list) and tree:
            listed = node if isinstance(node, Sequence) else None
            return [NewLine(head, is_new=True), *self._list(here, listed, column + DEEPER)]
        value = plain_tree(tree)
        if (
            isinstance(node, Scalar)
            and (text := replaced_scalar(self._text, node, value)) is not None
            and "\n" not in text
        ):
            return [NewLine(f"{head} {text}")]
        return [NewLine(line, is_new=node is None) for line in entry_lines(head, value, " " * column)]

    def _edits(self, here: Here, node: Node, begin: int) -> list[Edit] | None:
        """The edits that make a node say what the tree does; None where its shape changes. Its entry begins before."""
        start, stop = node.start.index, end_of(self._text, node)
        if self._says(here, node, begin, stop):
            return []
        here = here.opened()
        tree = here.tree
        match node:
            case Scalar() if not isinstance(tree, dict | list) or not tree:
                text = replaced_scalar(self._text, node, plain_tree(tree))
                return None if text is None else [Edit(start, stop, text.rstrip("\n"))]
            case Mapping() if isinstance(tree, dict):
                return self._edits_of_keys(here, node)
            case Mapping() if (lone := here.lone(node)) is not None:
                return self._edits_of_keys(lone, node)
            case Sequence() if isinstance(tree, list) and len(tree) == len(node.items):
                was, found = by_place(here.read), list[Edit]()
                for number, (part, item) in enumerate(zip(tree, node.items, strict=True)):
                    read = was.get(part.span) if isinstance(part, Placed) else item_at(here.read, number)
                    # A construct of another place cannot be made by edits of what stands here.
                    there = not isinstance(part, Placed) or part.span == item.span
                    inner = self._edits(here._replace(tree=part, read=read), item, item.start.index) if there else None
                    if inner is None:
                        return None
                    found += inner
                return found
        return None

    def _edits_of_keys(self, here: Here, node: Mapping) -> list[Edit] | None:
        tree = here.tree
        assert isinstance(tree, dict)
        entries = {entry.key.text: entry for entry in self._copies.entries(node) if entry.key is not None}
        missing = [key for key in tree if key not in entries and (here.moved or not self._is_implied(here, key))]
        if missing or any(key not in tree and not self._stays(here, entry) for key, entry in entries.items()):
            return None
        found: list[Edit] = []
        for key, entry in entries.items():
            if key in tree:
                edits = (
                    None if entry.shared else self._edits(here.under(key, moved=here.moved), entry.value, entry.start)
                )
                if edits is None:
                    return None
                found += edits
        return found

    def _keeps(self, here: Here, item: NodeEntry) -> bool:
        """Whether an item stays as it is: a step with nothing but sugar of today does."""
        start, stop = item.start, item.stop
        # The tree has the sugar lowered, and would differ; people go on writing it, so the step stays.
        if here.scope == STEP and self._touched.has_sugar(start, stop) and not self._touched.has_legacy(start, stop):
            return True
        return self._says(here, item.value, start, stop)

    def _says(self, here: Here, node: Node, start: int, stop: int) -> bool:
        """Whether a node says already what the tree does."""
        value = plain_tree(here.tree)
        if is_same(value, value_of(node)):
            return True
        # What was read the same from another text still means the same, unless an older form in it was noted.
        if here.read is None or here.moved or self._touched.has_legacy(start, stop):
            return False
        return is_same(value, plain_tree(here.read))


def _moved(lines: list[NewLine]) -> list[NewLine]:
    """The lines of a key that did not stand in this mapping. A single line with a simple value counts as new, so that
    it may be joined with others (`compact`), even if it was copied.
    """
    if len(lines) == 1:
        lines[0].is_new = is_simple(lines[0].text)
    return lines


def _items_in(tree: Tree) -> Iterator[tuple[Span, Placed]]:
    """(place, item) for each item of the lists in a tree that is a construct."""
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        if isinstance(tree, list) and isinstance(part, Placed):
            yield part.span, part
        yield from _items_in(part)


def _stood_in(spec: NodeEntry | None, tree: Tree) -> bool:
    """Whether a key of this mapping was written in its `spec`, as older forms have fields of tools."""
    if spec is None or not isinstance(spec.value, Mapping) or not isinstance(tree, Value | Guard | Placed):
        return False
    return any(value.span == tree.span for _, value in spec.value.entries)


def _came_from(key: str, tree: Tree, entry: NodeEntry) -> bool:
    """Whether the value of a key is the one that an entry held. A value that a pass made has the entry's
    place as well.
    """
    match tree:
        case Value(node=node) if node is not None:
            return True
        case Value(template=Native() | Text()) | Guard():
            return isinstance(entry.value, Scalar) and "{{" in entry.value.text
        case Placed():
            return entry.key is not None and entry.key.text == key
    return False


def _dashed(lines: list[NewLine], column: int, gap: int) -> list[NewLine]:
    """The lines of an item, `gap` behind its dash; what stands above its first key stands above the dash."""
    lines[0].before = [line.removeprefix(" " * gap) for line in lines[0].before]
    lines[0].text = f"{' ' * column}-{' ' * (gap - 1)}{lines[0].text[column + gap :]}"
    return lines
