"""PNML (ISO 15909-2) place/transition nets: the only reader of XML.

Liberal on what real tools write: any namespace or none, several pages, nested ones, reference nodes, tool-specific
parts, graphics, a missing type. What would change the meaning is refused aloud: inhibitor, reset and read arcs,
coloured nets, entity declarations (which is how XML bombs are made), several nets in one file. No recursion, and
limits on size and depth.
"""

import re
from xml.parsers import expat

from noetl_ir.records import NamedTuple

MAX_BYTES = 1 << 28
MAX_DEPTH = 200
MAX_TOKENS = 1 << 40
MOST_DIGITS = 100

NODES = frozenset({"place", "transition", "referencePlace", "referenceTransition", "arc", "net", "page"})
PLAIN_ARCS = frozenset({"", "normal", "ordinary"})
SKIPPED = frozenset({"toolspecific", "graphics", "declaration", "finalmarkings"})
WEIGHTS = frozenset({"inscription", "initialMarking"})
TYPES = frozenset({"type", "arctype", "arcType"})
_OTHER = re.compile(r"\b(inhibitor|reset|read|test)(?=arc|\b)", re.IGNORECASE)


class PnmlError(Exception):
    """The file is no place/transition net; the text says why, and on which line."""


class PnmlNode(NamedTuple):
    """A place or a transition: its id, its name (the id where it has none), its tokens."""

    id: str
    name: str
    tokens: int


class WrittenNet(NamedTuple):
    """A net as a file has it: arcs are (source id, target id, weight), references resolved."""

    name: str
    places: tuple[PnmlNode, ...]
    transitions: tuple[PnmlNode, ...]
    arcs: tuple[tuple[str, str, int], ...]
    left_out: tuple[str, ...] = ()
    """Parts of the file that are well formed and not read, in plain words."""


def read_pnml(data: bytes) -> WrittenNet:
    """The net of a PNML file; raises PnmlError on anything else."""
    if len(data) > MAX_BYTES:
        raise PnmlError(f"the file is larger than {MAX_BYTES} bytes")
    reading = _Reading()
    # expat itself rather than ElementTree: it calls back for each declaration of an entity before one is expanded,
    # and it builds no tree of a large file.
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    # Nothing outside of the file is read, whatever its document type names.
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    parser.EntityDeclHandler = reading.entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise PnmlError(f"line {error.lineno}: {expat.errors.messages[error.code]}") from None
    except PnmlError as error:
        raise PnmlError(f"line {parser.CurrentLineNumber}: {error}") from None
    return reading.net()


class _Open:
    """An element being read: a node, arc, net or page."""

    __slots__ = ("attributes", "kind", "name", "type", "weight")

    def __init__(self, kind: str, attributes: dict[str, str]) -> None:
        self.kind = kind
        self.attributes = attributes
        self.name = ""
        self.type = attributes.get("type", "")
        self.weight: int | None = None


class _Reading:
    """The parts that were read so far. `_open` are the nodes around the place in the file, `_path` all elements
    around it.
    """

    def __init__(self) -> None:
        self._path: list[str] = []
        self._open: list[_Open] = []
        self._skipping = 0
        self._has_final = False
        self._text: list[str] = []
        self._nets = 0
        self._name = ""
        self._places: dict[str, PnmlNode] = {}
        self._transitions: dict[str, PnmlNode] = {}
        self._references: dict[str, str] = {}
        self._arcs: list[tuple[str, str, int]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition("}")[2]
        self._path.append(kind)
        if len(self._path) > MAX_DEPTH:
            raise PnmlError(f"elements are nested more than {MAX_DEPTH} deep")
        # Counted, since skipped elements hold others; an arc's own parts are looked at all the same, for they may
        # change it.
        if self._skipping or kind in SKIPPED:
            self._has_final |= kind == "finalmarkings"
            self._skipping += 1
            self._refuse_other_arcs(f"{kind} {' '.join(attributes.values())}")
            return
        self._text = []
        if len(self._path) == 1 and kind != "pnml":
            raise PnmlError(f"the root is <{kind}>, not <pnml>")
        if kind in NODES:
            self._open.append(_Open(kind, attributes))
        if kind == "net":
            self._begin_net(attributes)
        # Read as a plain arc or left out, such an arc would give a proof about another net than the one that was
        # drawn.
        if kind in ("inhibitor", "reset", "readArc", "inhibitorArc", "resetArc"):
            raise PnmlError(f"<{kind}> is not supported: the analysis has no {kind} arcs")
        if kind in TYPES and self._open and self._open[-1].kind == "arc":
            self._open[-1].type = attributes.get("value", self._open[-1].type)
        if kind in ("hlinitialMarking", "hlinscription"):
            raise PnmlError("the net is coloured (high-level); only place/transition nets are read")

    def text(self, text: str) -> None:
        if self._skipping:
            self._refuse_other_arcs(text)
        else:
            self._text.append(text)

    def _refuse_other_arcs(self, text: str) -> None:
        """Tools say in parts of their own that an arc is no plain one."""
        found = _OTHER.search(text) if self._open and self._open[-1].kind == "arc" else None
        if found is not None:
            id = self._open[-1].attributes.get("id", "")
            raise PnmlError(f"the arc {id!r} is of the type {found[0]!r}: only plain arcs are supported")

    def entity(self, name: str, *_: object) -> None:
        raise PnmlError(f"it declares the entity {name!r}; entities are refused")

    def end(self, tag: str) -> None:
        kind = self._path.pop()
        if self._skipping:
            self._skipping -= 1
            return
        text = "".join(self._text).strip()
        # Text between elements is only white space; it starts anew so that it never joins a label.
        self._text = []
        around = self._path[-1] if self._path else ""
        if kind in NODES:
            self._close(self._open.pop())
        elif self._open and text and (kind in ("text", "value", "name") or kind in WEIGHTS or kind in TYPES):
            # The standard wraps a label's text in <text>, older tools in <value>, and some write it into the label
            # itself.
            what = around if kind in ("text", "value") else kind
            self._label(self._open[-1], what, text)

    def net(self) -> WrittenNet:
        """The net, when all is read."""
        if not self._nets:
            raise PnmlError("there is no <net> in it")
        left_out = ("its final markings: where a net ends is asked of its structure",) if self._has_final else ()
        arcs = []
        # Resolved at the end, since an arc or a reference may stand before what it names.
        for source, target, weight in self._arcs:
            ends = self._resolved(source), self._resolved(target)
            if (ends[0] in self._places) == (ends[1] in self._places):
                raise PnmlError(f"an arc leads from {source!r} to {target!r}, which are not a place and a transition")
            arcs.append((*ends, weight))
        return WrittenNet(
            self._name, tuple(self._places.values()), tuple(self._transitions.values()), tuple(arcs), left_out
        )

    def _begin_net(self, attributes: dict[str, str]) -> None:
        self._nets += 1
        if self._nets > 1:
            raise PnmlError("there is more than one <net> in it")
        # The id until a <name> is read: names are optional, and reports need one.
        self._name = attributes.get("id", "")
        kind = attributes.get("type", "").lower()
        if any(word in kind for word in ("symmetricnet", "highlevel", "hlpn", "hlcore")):
            raise PnmlError(f"the net is of the type {attributes['type']}; only place/transition nets are read")

    def _label(self, node: _Open, what: str, text: str) -> None:
        if what == "capacity" and any(digit in "123456789" for digit in text):
            id = node.attributes.get("id", "")
            raise PnmlError(f"the place {id!r} has a capacity of {text[:40]}: only places without one are supported")
        if what == "name":
            node.name = node.name or text
        elif what in TYPES and node.kind == "arc":
            node.type = text
        elif what in WEIGHTS:
            # PIPE writes `Default,3`: a colour that is the only one there is.
            number = text.rpartition(",")[2].strip() if text.startswith("Default,") else text
            # Python's numbers have no end, and every sum of the analysis would carry so large a one along. One of more
            # than 4,300 digits it does not even read, leading zeros among them.
            if not number.isdecimal() or len(number) > MOST_DIGITS or int(number) > MAX_TOKENS:
                raise PnmlError(f"{text[:40]!r} is no number of tokens")
            node.weight = int(number)

    def _close(self, node: _Open) -> None:
        id = node.attributes.get("id", "")
        match node.kind:
            case "place":
                self._add(self._places, PnmlNode(id, node.name or id, node.weight or 0))
            case "transition":
                self._add(self._transitions, PnmlNode(id, node.name or id, 0))
            case "referencePlace" | "referenceTransition":
                self._references[id] = node.attributes.get("ref", "")
            case "arc":
                if node.type.lower() not in PLAIN_ARCS:
                    raise PnmlError(f"the arc {id!r} is of the type {node.type!r}: only plain arcs are supported")
                # An arc without inscription weighs 1 and a place without marking holds 0 (ISO 15909-2), so None is
                # not yet 0.
                weight = 1 if node.weight is None else node.weight
                self._arcs.append((node.attributes.get("source", ""), node.attributes.get("target", ""), weight))
            case "net" | "page":
                if node.kind == "net" and node.name:
                    self._name = node.name

    def _add(self, nodes: dict[str, PnmlNode], node: PnmlNode) -> None:
        if not node.id or node.id in self._places or node.id in self._transitions:
            raise PnmlError(f"the id {node.id!r} is missing or given twice")
        nodes[node.id] = node

    def _resolved(self, id: str) -> str:
        seen: set[str] = set()
        while id in self._references:
            # References of references are legal; one that leads to itself would never end.
            if id in seen:
                raise PnmlError(f"the reference {id!r} leads to itself")
            seen.add(id)
            id = self._references[id]
        if id not in self._places and id not in self._transitions:
            raise PnmlError(f"an arc names {id!r}, which is no place or transition")
        return id
