"""Values that may hold templates, and guards, out of nodes."""

from functools import lru_cache

from noetl_ir.expr import Const, Json, ListTemplate, Literal, MapTemplate, Native, Template
from noetl_ir.kinds import seconds_of
from noetlc.ast.playbook import Guard, Value
from noetlc.diag.diagnostic import Fix
from noetlc.expr.errors import TemplateError
from noetlc.expr.parser import CACHE_SIZE, parse_expression, parse_template
from noetlc.expr.unparse import unparse
from noetlc.reading.drafts import DraftPairs
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import choice_of, is_duration, mapping_of, quotes_told, wrong_shape
from noetlc.source.nodes import Mapping, Node, Scalar, value_of


def read_value(r: Reader, node: Node) -> Value:
    """The value of a node with every template in it parsed."""
    return Value(template_of(r, node), node, node)


def template_of(r: Reader, node: Node) -> Template:
    """The template tree of a node; a tree without any template is one literal."""
    if isinstance(node, Scalar):
        value = node.value
        # A look for the brace costs less than a call, for every text of a file.
        if isinstance(value, str) and "{" in value:
            return _scalar_template(r, node)
        return Literal(value)
    if isinstance(node, Mapping):
        pairs = {key.text: template_of(r, item) for key, item in node.entries}
        if all(type(item) is Literal for item in pairs.values()):
            # A tree without templates is one constant: it is copied into the plan and never evaluated again. Its texts
            # are not always as they are written: comments are gone, and raw text is what stands in it.
            return Literal({key: item.value for key, item in pairs.items() if type(item) is Literal})
        return MapTemplate(tuple(pairs.items()))
    items = [template_of(r, item) for item in node.items]
    if all(type(item) is Literal for item in items):
        return Literal([item.value for item in items if type(item) is Literal])
    return ListTemplate(tuple(items))


def _scalar_template(r: Reader, node: Scalar) -> Template:
    template, errors = parse_template(node.text)
    for error in errors:
        report_template(r, node, error)
    return template


def report_template(r: Reader, node: Scalar, error: TemplateError) -> None:
    """Report what is wrong with a template at its place."""
    r.report("NL301", error.message, r.source.inner_span(node, error.start, error.end), help=error.help)


def literal_text(r: Reader, node: Node) -> Value:
    """Text that is never a template: program code, and what a kind calls literal."""
    del r
    return Value(Literal(value_of(node)), node, node)


def read_pairs(r: Reader, node: Node, what: str) -> DraftPairs:
    """The keys and values of a mapping; of equal keys the last one stays."""
    mapping = mapping_of(r, node, what)
    if mapping is None:
        return []
    # By the index: what is written twice was told, and a key must not be set twice.
    return [(key, read_value(r, item)) for key, (_, item) in mapping.index.items()]


def read_args(r: Reader, node: Node, what: str) -> Value | None:
    """A mapping of arguments, or one expression that yields one."""
    if isinstance(node, Mapping):
        return read_value(r, node)
    if isinstance(node, Scalar):
        if node.value is None:
            return None
        value = read_value(r, node)
        # Text with a template in it would be text when it is rendered, which is no mapping.
        if isinstance(value.template, Native):
            return value
    wrong_shape(r, node, what, "a mapping")
    return None


def read_count(r: Reader, node: Node, code: str, key: str, message: str, *, help: str = "") -> Value | None:
    """A whole number of at least 1, or what gives one when it is asked; any other number is told by `code`."""
    value = read_value(r, node)
    if isinstance(value.template, Literal):
        written = value.template.value
        # A boolean is an integer to Python: `max_iterations: yes` would run once.
        if not isinstance(written, int) or isinstance(written, bool) or written < 1:
            if not quotes_told(r, code, f"`{key}`:", node, (int,)):
                r.report(code, message, node.span, help=help)
            return None
    return value


def read_duration(r: Reader, node: Node, what: str) -> Value | None:
    """Seconds, `1.5s`, `5m`, `2h`, or an expression (LANGUAGE §4)."""
    value = read_value(r, node)
    # A computed duration is checked when it is there; what is computed inside of a list or mapping never is one.
    is_written = isinstance(value.template, Literal) and not is_duration(value.template.value)
    if is_written or not isinstance(node, Scalar):
        written = f"`{node.text}`" if isinstance(node, Scalar) else "this"
        r.report(
            "NL119",
            f"{what}: {written} is no duration",
            node.span,
            help="write seconds, `1.5s`, `5m`, `2h` (digits 0 to 9, at most 317 years), or one expression",
        )
        return None
    return value


def read_timeout(r: Reader, node: Node) -> Value | None:
    """A duration, or `{connect, read}` of them."""
    if not isinstance(node, Mapping):
        return read_duration(r, node, "`timeout`")
    for key, value in node.entries:
        if choice_of(r, key, "`timeout`", ("connect", "read", "write", "pool")) is not None:
            read_duration(r, value, f"`timeout.{key.text}`")
    # The parts were checked one by one; the whole stays a value, in which each may be an expression.
    return read_value(r, node)


def read_lifetime(r: Reader, node: Node, of: str, *, key: str = "timeout_s") -> Value | None:
    """The `timeout_s`, or what `key` names, of a lifecycle: a time above zero in which `of` has to be done."""
    value = read_duration(r, node, f"`{key}`")
    if value is not None and isinstance(value.template, Literal) and seconds_of(value.template.value) == 0:
        r.report("NL104", f"`{key}`: {of} of no time cannot do anything", node.span)
        return None
    return value


def read_guard(r: Reader, node: Node, what: str) -> Guard | None:
    """One expression in braces (LANGUAGE §2, Guards), or `true` or `false`: always or never."""
    # A guard without braces that is a boolean of YAML is what its author says; `"true"` in quotes is an older form.
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return Guard(Const(node.value), str(node.value).lower(), node, node, 0)
    if not isinstance(node, Scalar) or node.value is None:
        wrong_shape(r, node, what, "one expression in braces")
        return None
    text = node.text
    if "{{" in text or "{%" in text:
        template, errors = parse_template(text)
        for error in errors:
            report_template(r, node, error)
        if isinstance(template, Native):
            # Places in a guard count from the text between its braces, as in its canonical form.
            inner, offset = _inside_braces(text)
            return Guard(template.expr, inner, node, node, offset)
        # The errors say what is wrong; that it is no guard follows from them.
        if errors:
            return None
    r.report(
        "NL302",
        f"{what}: a guard is exactly one expression in braces",
        node.span,
        help='write `when: "{{ expression }}"`, with everything inside one pair of braces'
        + (", as in `{{ x and not y }}`: a condition has no block tags" if "{%" in text else ""),
        fix=_wrapped(node),
    )
    return None


@lru_cache(CACHE_SIZE)
def _inside_braces(text: str) -> tuple[str, int]:
    """The text of a lone expression without its braces and the white space around it, and where it begins."""
    start = text.index("{{") + 2
    # The signs of `{{-` and `-}}` trim white space and belong to the braces.
    inner = text[start : text.rindex("}}")].strip("-+")
    lead = len(inner) - len(inner.lstrip())
    return inner.strip(), text.index(inner, start) + lead


def _wrapped(node: Scalar) -> Fix | None:
    """The guard's text with the whole in one pair of braces, if it can be read so; a word outside of braces that stands
    beside a comparison is a text.
    """
    from noetlc.reading.guard_texts import NoGuard, text_guard  # nearly all guards have their braces

    bare = " ".join(node.text.split())
    try:
        if "{{" in bare:
            bare = unparse(text_guard(bare))
        else:
            parse_expression(bare, 0)
    except (TemplateError, NoGuard):
        return None
    # A block of lines would have to become one line, which a fix of its own span cannot do.
    if node.style in ("|", ">"):
        return None
    quoted = bare.replace("\\", "\\\\").replace('"', '\\"')
    return Fix(
        node.span,
        f'"{{{{ {quoted} }}}}"',
        "put the whole guard into one pair of braces",
        # Braces around a bare expression keep its meaning; texts that were compared become values that are.
        safe="{{" not in node.text,
    )


def plain(r: Reader, node: Node, what: str) -> Json:
    """A plain value in which nothing is a template; says so where one stands."""
    value = value_of(node)
    if isinstance(node, Scalar) and isinstance(value, str) and "{{" in value:
        r.report("NL305", f"{what} is never a template", node.span, help="write the value itself")
    return value
