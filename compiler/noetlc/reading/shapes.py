"""Plain values out of nodes: each function gives the value, or reports what stands there instead and gives
None.
"""

from collections.abc import Iterable
from re import compile as pattern

from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.nearest import nearest
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Fix
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence
from noetlc.source.resolve import resolve

_NAME = pattern(r"[./]*\w[\w\-./]*")


def describe(node: Node) -> str:
    """The kind of a node, in the words of a message."""
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return f"`{node.text}`, a boolean"
        case Scalar(value=int() | float()):
            return f"`{node.text}`, a number"
        case _:
            return "text"


def wrong_shape(r: Reader, node: Node, what: str, expected: str) -> None:
    """Report that `what` should have been `expected`."""
    from noetlc.diag.forms import SHAPES

    help = SHAPES.get(what, "write `key: value`" if expected == "a mapping" else "")
    r.report("NL102", f"{what}: expected {expected}, found {describe(node)}", node.span, help=help)


def quotes_told(r: Reader, code: str, about: str, node: Node, wanted: tuple[type, ...]) -> bool:
    """Whether a text in quotes would be of a `wanted` type without them, which is reported then."""
    if not isinstance(node, Scalar) or node.style not in ("'", '"'):
        return False
    # Asked of YAML itself, so that the advice to drop the quotes gives a value of the right type.
    value = resolve(node.text).value
    if type(value) not in wanted:
        return False
    plain = str(value).lower() if isinstance(value, bool) else node.text  # `no` without its quotes is told, too
    help = "leave out the quotes" if plain == node.text else f"write `{plain}`"
    fix = Fix(node.span, plain, help)
    r.report(code, f"{about} `{node.text}` in quotes is a text", node.span, help=help, fix=fix)
    return True


def wrong_type(r: Reader, node: Node, what: str, expected: str, wanted: tuple[type, ...]) -> None:
    """Report that `what` should have been `expected`, with the fix where only its quotes are too much."""
    if not quotes_told(r, "NL102", f"{what}: expected {expected};", node, wanted):
        wrong_shape(r, node, what, expected)


def is_empty(node: Node) -> bool:
    """Whether nothing was written: `key:` with no value is the key not given."""
    return isinstance(node, Scalar) and node.value is None


def mapping_of(r: Reader, node: Node, what: str) -> Mapping | None:
    """The node if it is a mapping; nothing written is read as not given."""
    if isinstance(node, Mapping):
        return node
    if not is_empty(node):
        wrong_shape(r, node, what, "a mapping")
    return None


def sequence_of(r: Reader, node: Node, what: str, items: str) -> Sequence | None:
    """The node if it is a list; `items` says what it is a list of."""
    if isinstance(node, Sequence):
        return node
    wrong_shape(r, node, what, f"a list of {items}")
    return None


def text_of(r: Reader, node: Node, what: str) -> str | None:
    """The characters of a scalar that is text; a number or date is taken as written."""
    if isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, bool):
        return node.text
    wrong_shape(r, node, what, "text")
    return None


def name_of(r: Reader, node: Node, what: str) -> str | None:
    """A name after NFC: letters, digits, `_ - . /` (LANGUAGE §1), one of them no mark. Yes, no and the like are
    taken as written.
    """
    name = reference_of(r, node, what)
    if name is not None and _NAME.fullmatch(name) is None:
        r.report(
            "NL120",
            f"{what}: {name!r} is no name",
            node.span,
            help="use letters, digits and `_ - . /`, beginning with a letter, a digit, `_`, `.` or `/`",
        )
        # The name is kept although it is wrong: arcs to it would else be unknown, too.
        return name or None
    return name


def reference_of(r: Reader, node: Node, what: str) -> str | None:
    """A name that something else must have, after NFC; whether it is one is asked where it is declared."""
    if not isinstance(node, Scalar) or node.value is None:
        wrong_shape(r, node, what, "a name")
        return None
    # A step may be called `yes`, `null` or `007`: what stands in the file is its name, and YAML's reading is not
    # told.
    if node.value != node.text:
        r.meant[node.span] = "name"
    # NFC changes nothing in ASCII, and the table of Unicode is not imported for it.
    if node.text.isascii():
        return node.text
    # One letter may be written as one character or as two; names that look alike must be one name.
    from unicodedata import normalize

    return normalize("NFC", node.text)


def choice_of(r: Reader, node: Node, what: str, values: tuple[str, ...]) -> str | None:
    """One of `values`."""
    if isinstance(node, Scalar) and node.value is not None:
        if node.text in values:
            if node.value != node.text:
                r.meant[node.span] = "name"
            return node.text
        # The first word of one is a slip too, which is too short to look like it: `cancel` of `cancel_running`.
        begun = (value for value in values if value.startswith(f"{node.text}_"))
        near = nearest(node.text, values) or next(begun, "")
        listed = ", ".join(f"`{value}`" for value in values)
        r.report(
            "NL104",
            f"{what}: `{node.text}` is not one of {listed}",
            node.span,
            help=f"did you mean `{near}`?" if near else "",
            fix=Fix(node.span, near, f"write `{near}`", safe=False) if near else None,
        )
        return None
    wrong_shape(r, node, what, "one of " + ", ".join(f"`{value}`" for value in values))
    return None


def whole_of(r: Reader, node: Node, what: str, least: int) -> int | None:
    """A whole number of at least `least`."""
    if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
        if node.value >= least:
            return node.value
        r.report("NL104", f"{what}: {node.text} is below {least}", node.span)
        return None
    wrong_type(r, node, what, "a whole number", (int,))
    return None


def number_of(r: Reader, node: Node, what: str) -> float | None:
    """A number above 0."""
    if isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        if node.value > 0:
            return float(node.value)
        r.report("NL104", f"{what}: {node.text} is not above 0", node.span)
        return None
    wrong_type(r, node, what, "a number", (int, float))
    return None


def boolean_of(r: Reader, node: Node, what: str) -> bool | None:
    """True or false."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        # YAML 1.2 reads `yes` as text, and here only a boolean can be meant: the advice is `true`.
        r.meant[node.span] = "boolean"
        return node.value
    wrong_type(r, node, what, "`true` or `false`", (bool,))
    return None


def is_duration(value: Json) -> bool:
    """Whether a literal is a duration: seconds, or a number with `ms s m h d` (LANGUAGE §4)."""
    return seconds_of(value) is not None


def is_misspelt(node: Mapping, key: str, known: Iterable[str]) -> bool:
    """Whether a key of the mapping that nobody knows was probably meant to be `key`."""
    names = tuple(known)
    return any(entry.text not in names and nearest(entry.text, names) == key for entry, _ in node.entries)


def missing(r: Reader, what: str, span: Span, *, help: str = "") -> None:
    """Report a required key that is not there."""
    r.report("NL103", f"{what} is missing", span, help=help)
