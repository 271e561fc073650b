"""The rare parts of building nodes from events: tags, anchors, merge keys, wrong keys, and the findings.

`yaml_reader` keeps the loop over the events; it calls in here for what most events do not need.
"""

from collections.abc import Iterable
from typing import Protocol

from noetl_ir.patterns import LatePattern
from noetlc.diag.codes import CODES, finding
from noetlc.diag.diagnostic import Diagnostic, Fix, Related, Severity
from noetlc.source.aliases import Anchors
from noetlc.source.limits import FileLimits, LimitReached
from noetlc.source.nodes import Mapping, Mark, Node, NoMark, Scalar, Sequence
from noetlc.source.resolve import TAGS, ScalarValue, read_tagged, resolve, shortened
from noetlc.source.syntax import QUOTE_TEMPLATE
from noetlc.source.text import Source
from noetlc.source.uses import Use, copied

# So many findings of one severity are kept: a file of a million wrong keys must not fill the memory with their texts.
_MANY = 1000
_PREFIX = "tag:yaml.org,2002:"
_VERSION = LatePattern(r"(?i)ver(?![a-z])|version|release|revision|\brev\b|tag|image|python|node|java|^v$")
"""Keys of values in which one reads a version, where a last zero is more than writing."""

_QUOTE = 'put it in quotes: "…"'


class YamlEvent(Protocol):
    """The part that is read of an event that starts a node or stands for one."""

    anchor: str | None
    tag: str | None
    start_mark: Mark
    end_mark: Mark


class Composer:
    """The state of composing one file beside the loop of `yaml_reader`: findings, anchors, caches.

    `plain` and `names` remember values and keys about which there is nothing to say. `special` are the open containers
    for which the loop must call `closed`. `uses` are the aliases; with `at_uses` each gives a copy of the anchor's
    node, with the place of the alias (`uses`).
    """

    def __init__(self, source: Source, limits: FileLimits, *, at_uses: bool = False) -> None:
        self._at_uses = at_uses
        self.uses: list[Use] = []
        self.source = source
        self.limits = limits
        self.findings: list[Diagnostic] = []
        self.plain: dict[str, ScalarValue] = {}
        self.names: dict[str, str] = {}
        self._boundaries = 0
        self.special: list[Node] = []
        self._anchors = Anchors(limits)
        self._waiting: dict[int, str] = {}
        self._wrong_key: set[int] = set()
        self._counts = dict.fromkeys(Severity, 0)

    def add_finding(self, diagnostic: Diagnostic) -> None:
        """Keep a finding, unless there are very many of its severity already."""
        if not self._is_full(diagnostic.code):
            self._counts[diagnostic.severity] += 1
            self.findings.append(diagnostic)

    def report(self, code: str, message: str, node: Node, help: str = "") -> None:
        """Add a finding about the whole of `node`."""
        # Asked before the finding is built, too: its span alone costs more than the check.
        if not self._is_full(code):
            self.add_finding(finding(code, message, node.span, help=help))

    def too_long(self, event: YamlEvent) -> LimitReached:
        """The file has more events than are read."""
        message = f"the file has more than {self.limits.events:,} parts"
        help = "split the playbook, or keep the data in a file of its own"
        return LimitReached(finding("NL005", message, _null(event).span, help=help))

    def plain_value(self, scalar: Scalar, event: YamlEvent, key: object) -> ScalarValue:
        """The value of a plain scalar not met before, kept for the next when there is nothing to say; `key` is the
        scalar that it is the value of, if it is one of a mapping.
        """
        if not scalar.text:
            self._at_the_end(scalar)  # empty ones are never kept: each may be the one at the end
        if event.tag is not None:
            return scalar.text
        reading = resolve(scalar.text)
        scalar.value = reading.value
        if reading.code:
            # A last zero matters in a version only: `1.10` as a price is the number that its author means.
            if reading.code != "NL017" or (isinstance(key, Scalar) and _VERSION.search(key.text)):
                self._report_reading(scalar, reading.code, reading.message)
        # What has a finding is not kept, so that each of its places is reported and not the first alone.
        elif scalar.text:
            self.plain[scalar.text] = reading.value
        return reading.value

    def marked(self, scalar: Scalar, event: YamlEvent) -> None:
        """A scalar with a tag, an anchor or both."""
        if event.tag is not None:
            kind = self._known_tag(event.tag, scalar, TAGS)
            if kind:
                reading = read_tagged(kind, scalar.text)
                scalar.value = reading.value
                if reading.code:
                    help = "remove the tag, or write a value that fits it"
                    self.report(reading.code, reading.message, scalar, help)
        if event.anchor is not None:
            self._anchors.set(event.anchor, scalar)

    def opened(self, container: Mapping | Sequence, event: YamlEvent, depth: int) -> None:
        """A mapping or list with a tag, an anchor or both, or too deep: then raises LimitReached."""
        # A finding about the inside may ask for the span before the end of the container is reached.
        container.end = event.end_mark  # until it is known
        if depth > self.limits.depth:
            message = f"more than {self.limits.depth} mappings and lists stand inside each other"
            raise LimitReached(finding("NL006", message, _null(event).span, help="build deep values in a step"))
        if event.tag is not None:
            self._known_tag(event.tag, container, ("map",) if isinstance(container, Mapping) else ("seq",))
        if event.anchor is not None:
            self._anchors.open(event.anchor)
            self._waiting[id(container)] = event.anchor
            self.special.append(container)

    def named(self, key: Scalar, event: YamlEvent, mapping: Mapping) -> None:
        """A key that was not met before, or that has a tag or an anchor."""
        text = key.text
        if event.tag is not None or event.anchor is not None:
            self.marked(key, event)
            # A key is always text: a tag such as `!!int` on it would give a key that no construct and no JSON knows.
            key.value = text
        if text == "<<":
            self._need_close(mapping)
        # A dash without its space turns a list item into a key. A number or a lone dash is not meant as an item.
        elif len(text) > 1 and text[0] == "-" and (text[1].isalpha() or text[1] == "_"):
            self._check_dash(key)
        # Only harmless keys are kept: a name in the table never comes here again, and so would never be reported
        # again.
        elif event.tag is None and event.anchor is None:
            self.names[text] = text

    def other(self, event: YamlEvent, depth: int) -> Node | None:
        """The node of an alias, None for any other event, which is about documents.

        The node is an empty scalar where the alias stands for nothing.
        """
        if getattr(event, "anchor", None) is None:
            self._anchors.clear()  # they end with their document
            self._boundaries += 1
            if self._boundaries > 2 * self.limits.documents + 2:  # each has two, and so has the file
                message = f"the file has more than {self.limits.documents:,} documents"
                raise LimitReached(finding("NL005", message, _null(event).span, help="split the file"))
            return None
        place = _null(event)
        node = self._anchors.follow(event.anchor or "", depth, place.span)
        if isinstance(node, Diagnostic):
            self.add_finding(node)
            return place
        self.uses.append(Use(event.anchor or "", place.span, node))
        return copied(node, place.start, place.end) if self._at_uses else node

    def key_of(self, node: Node, mapping: Mapping) -> Scalar:
        """The key that an alias or a container in the place of a key stands for."""
        if isinstance(node, Scalar):
            return node
        # The inner mapping of `{{ x }}` is the outer's key; the finding about the whole template comes when that is
        # closed.
        if not self._is_template(mapping):
            template = isinstance(node, Mapping) and self._is_template(node)
            # `{{ x }}: 1` is a template as a key, whose braces YAML reads as mappings: quotes are the advice then.
            help = QUOTE_TEMPLATE if template else "write the key as text"
            self.report("NL010", f"a {_noun(node)} cannot be a key", node, help)
        key = _scalar_between("", node.start, node.end)
        self._wrong_key.add(id(key))
        self._need_close(mapping)
        return key

    def closed(self, container: Node) -> Node:
        """A container that is complete: checked for wrong keys, merged, known to aliases."""
        if self.special and self.special[-1] is container:
            self.special.pop()
        node: Node = container
        if isinstance(container, Mapping):
            # This comes before the anchor is set, so that an alias gives the merged mapping, or the text that was
            # meant.
            node = self._closed_mapping(container)
        anchor = self._waiting.pop(id(container), None)
        if anchor is not None:
            self._anchors.close(anchor, node)
        return node

    def _closed_mapping(self, mapping: Mapping) -> Node:
        wrong = {id(key) for key, _ in mapping.entries} & self._wrong_key if self._wrong_key else set()
        if wrong:
            self._wrong_key -= wrong  # a number is given to another object once its own is gone
            if self._is_template(mapping):
                return self._template(mapping)
            mapping.entries[:] = [entry for entry in mapping.entries if id(entry[0]) not in wrong]
            mapping.index = {entry[0].text: entry for entry in mapping.entries}
        if len(mapping.index) != len(mapping.entries):
            self._report_duplicates(mapping)
        merge = mapping.index.get("<<")
        # `"<<"` in quotes is a key like any other.
        if merge is not None and merge[0].style == "":
            self._merge(mapping, *merge)
        return mapping

    def _is_template(self, mapping: Mapping) -> bool:
        return self.source.text.startswith("{{", mapping.start.index)

    def _template(self, mapping: Mapping) -> Scalar:
        """`{{ x }}` without quotes is a mapping in a mapping; go on with the text that was meant."""
        text = self.source.text[mapping.start.index : mapping.end.index]
        scalar = _scalar_between(text, mapping.start, mapping.end)
        fix = Fix(scalar.span, _quoted(text), "put the template in quotes")
        # Whatever was found inside of it was found in what is no mapping.
        while self.findings and self.findings[-1].span[:2] >= scalar.span[:2]:
            self.findings.pop()
        message = "`{{` without quotes starts a YAML mapping, not a template"
        self.add_finding(finding("NL020", message, scalar.span, help=QUOTE_TEMPLATE, fix=fix))
        return scalar

    def _merge(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        parts: Iterable[Node] = value.items if isinstance(value, Sequence) else (value,)
        # Keys written out win over merged ones wherever `<<` stands, and of several mappings the first wins (YAML 1.1
        # merge).
        own = {name: entry for name, entry in mapping.index.items() if entry[0] is not key}
        merged: dict[str, tuple[Scalar, Node]] = {}
        for part in parts:
            if not isinstance(part, Mapping):
                message = f"`<<` merges mappings, and this is a {_noun(part)}"
                self.report("NL013", message, part, "write a mapping, or an alias of one")
                continue
            for entry in part.entries:
                # The entry itself is shared, so that a finding about a merged key points to the line where it is
                # written.
                merged.setdefault(entry[0].text, entry)
        kept = [entry for entry in mapping.entries if not (entry[0].text == "<<" and entry[0].style == "")]
        mapping.entries[:] = [entry for name, entry in merged.items() if name not in own] + kept
        mapping.index = {entry[0].text: entry for entry in mapping.entries}

    def _report_duplicates(self, mapping: Mapping) -> None:
        first: dict[str, Scalar] = {}
        for key, _ in mapping.entries:
            before = first.setdefault(key.text, key)
            if before is not key:
                lines = before.span.line, key.span.line
                where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} and {lines[1]}"
                message = f"the key `{shortened(key.text)}` is written twice, in {where}"
                help = "merge both with one key: `<<: [*a, *b]`" if key.text == "<<" else "keep one of the two"
                related = (Related(before.span, "first written here"),)
                self.add_finding(finding("NL004", message, key.span, help=help, related=related))
        if len(first) < len(mapping.entries):  # no construct is read twice: the last one counts, as for `get`
            mapping.entries[:] = mapping.index.values()

    def _at_the_end(self, scalar: Scalar) -> None:
        """libyaml begins a line at the end of a file that has none there; an empty value may get that as its place."""
        if scalar.start.index >= len(self.source.text):
            span = self.source.span_of(scalar.start.index, scalar.end.index)
            scalar.start = scalar.end = NoMark(len(self.source.text), span.line - 1, span.column - 1)

    def _is_full(self, code: str) -> bool:
        return self._counts[CODES[code].severity] >= _MANY

    def _report_reading(self, scalar: Scalar, code: str, message: str) -> None:
        if self._is_full(code):
            return
        fix = None
        help = ""
        if code in ("NL014", "NL015", "NL016", "NL017"):
            help = _QUOTE.replace("…", scalar.text) if len(scalar.text) <= 40 else "put it in quotes"
            if isinstance(scalar.value, bool):
                help = f"write `{'true' if scalar.value else 'false'}`, or {help}"
            # Quotes around what is read as text change nothing; around `yes` or `0123` they change the value, so the
            # author decides.
            is_safe = scalar.value == scalar.text
            fix = Fix(scalar.span, _quoted(scalar.text), "put it in quotes", safe=is_safe)
        self.add_finding(finding(code, message, scalar.span, help=help, fix=fix))

    def _check_dash(self, key: Scalar) -> None:
        # `"-name"` in quotes is meant.
        if key.style:
            return
        fix = Fix(key.span, f"- {key.text[1:]}", "put a space after the dash")
        message = f"`{shortened(key.text)}` is a key that begins with a dash; a list item has a space after its dash"
        help = f"write `- {shortened(key.text[1:])}:`"
        self.add_finding(finding("NL018", message, key.span, help=help, fix=fix))

    def _known_tag(self, tag: str, node: Node, known: Iterable[str]) -> str:
        """The kind that a tag names, or "" when it is not one of the `known`, which is reported."""
        # The non-specific tag: a scalar stays text, whatever it looks like, and a container is what it is (YAML 1.1
        # §3.3.2).
        if tag == "!":
            return "str" if isinstance(node, Scalar) else ""
        kind = tag.removeprefix(_PREFIX)
        if kind in known and kind != tag:
            return kind
        written = f"!!{kind}" if kind != tag else tag if tag.startswith("!") else f"!<{tag}>"
        message = f"the tag `{written}` is not read here"
        if kind != tag and kind in (*TAGS, "map", "seq"):
            message = f"the tag `{written}` does not fit a {_noun(node)}"
        help = "tags that are read: !!str !!int !!float !!bool !!null on scalars, !!map, !!seq"
        self.report("NL011", message, node, help)
        return ""

    def _need_close(self, container: Mapping) -> None:
        if not self.special or self.special[-1] is not container:
            self.special.append(container)


def _null(event: YamlEvent) -> Scalar:
    scalar = _scalar_between("", event.start_mark, event.end_mark)
    scalar.value = None
    return scalar


def _scalar_between(text: str, start: Mark, end: Mark) -> Scalar:
    scalar = Scalar()
    scalar.value = scalar.text = text
    scalar.style = ""
    scalar.start, scalar.end = start, end
    return scalar


def _noun(node: Node) -> str:
    match node:
        case Scalar():
            return "scalar"
        case Mapping():
            return "mapping"
        case Sequence():
            return "list"


def _quoted(text: str) -> str:
    """`text` as a double-quoted scalar on one line, or single-quoted where that needs no escapes."""
    if '"' not in text and "\\" not in text and "\n" not in text:
        return f'"{text}"'
    if "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
