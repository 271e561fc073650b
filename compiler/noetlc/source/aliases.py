"""Anchors and aliases of one document, and the limits on what aliases expand to.

An alias gives the very node of its anchor, so a bomb costs nothing to read; but whoever walks the tree walks
it expanded. So each alias is charged with what it stands for, and the file's total is limited.
"""

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.source.limits import FileLimits, LimitReached
from noetlc.source.nodes import Mapping, Node, Scalar


class _Measure(NamedTuple):
    """An expanded node: its nodes, their characters, and how many containers stand inside each other."""

    nodes: int
    characters: int
    height: int


class Anchors:
    """The anchors of a document so far; the charge for aliases goes on over all documents of the file."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._nodes: dict[str, Node] = {}
        self._open: list[str] = []
        self._measured: dict[int, tuple[_Measure, Node]] = {}  # the node is kept so that its id stays its own
        self._charged_nodes = 0
        self._charged_characters = 0

    def clear(self) -> None:
        """A new document begins."""
        self._nodes.clear()
        self._open.clear()
        self._measured.clear()

    def set(self, name: str, node: Node) -> None:
        """An anchor on a scalar; a name may be used again."""
        self._nodes[name] = node

    def open(self, name: str) -> None:
        """An anchor on a mapping or list that begins here."""
        self._open.append(name)

    def close(self, name: str, node: Node) -> None:
        """The mapping or list of the innermost open anchor is complete."""
        self._open.pop()
        self._nodes[name] = node

    def follow(self, name: str, depth: int, span: Span) -> Node | Diagnostic:
        """The node of an alias at `span`, `depth` containers deep, or why there is none.

        Raises LimitReached when the alias expands to more than the limits allow.
        """
        # Checked before the name is looked up: an older anchor of the same name would else hide that this one is a
        # cycle.
        if name in self._open:
            help = "write out what is meant; a playbook holds no cycles"
            return finding("NL009", f"`*{name}` stands inside of what it refers to", span, help=help)
        node = self._nodes.get(name)
        if node is None:
            help = 'if the asterisk belongs to the text, put it in quotes: "*…"'
            return finding("NL008", f"there is no anchor `&{name}` before this alias", span, help=help)
        measure = self._measure(node)
        # Charged before anything is checked and never given back, so that many small aliases count like one large
        # one.
        self._charged_nodes += measure.nodes
        self._charged_characters += measure.characters
        limits = self._limits
        help = "write less with aliases, or build the value in a step"
        if self._charged_nodes > limits.aliased_nodes:
            message = f"aliases expand to more than {limits.aliased_nodes:,} nodes"
            raise LimitReached(finding("NL007", message, span, help=help))
        if self._charged_characters > limits.aliased_characters:
            message = f"aliases expand to more than {limits.aliased_characters:,} characters"
            raise LimitReached(finding("NL007", message, span, help=help))
        # The readers recurse over the expanded tree, so an alias in a deep place counts with the depth of what it
        # stands for.
        if depth + measure.height > limits.depth:
            message = f"with this alias more than {limits.depth} mappings and lists stand inside each other"
            raise LimitReached(finding("NL006", message, span))
        return node

    def _measure(self, root: Node) -> _Measure:
        known = self._measured.get(id(root))
        if known is not None:
            return known[0]
        nodes = characters = height = 0
        # A stack instead of recursion; what an alias inside was measured as is taken from the table, so that nine
        # levels of nine aliases cost nine walks and not nine to the ninth.
        waiting: list[tuple[Node, int]] = [(root, 0)]
        while waiting:
            node, depth = waiting.pop()
            known = self._measured.get(id(node))
            if known is not None:
                nodes += known[0].nodes
                characters += known[0].characters
                height = max(height, depth + known[0].height)
                continue
            nodes += 1
            if isinstance(node, Scalar):
                characters += len(node.text)
                continue
            height = max(height, depth + 1)
            if isinstance(node, Mapping):
                nodes += len(node.entries)
                characters += sum(len(key.text) for key, _ in node.entries)
                waiting += [(value, depth + 1) for _, value in node.entries]
            else:
                waiting += [(item, depth + 1) for item in node.items]
        measure = _Measure(nodes, characters, height)
        self._measured[id(root)] = measure, root
        return measure
