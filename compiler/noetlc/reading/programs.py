"""SQL and shell text out of nodes: templates in which braces that are no expression stay as written (LANGUAGE §2)."""

from noetl_ir.expr import Expr, ListTemplate, Literal, Template, Text
from noetl_ir.patterns import LatePattern
from noetl_ir.scopes import RESERVED
from noetlc.ast.playbook import Value
from noetlc.expr.errors import TemplateError, UnknownWord
from noetlc.expr.parser import parse_expression, parse_template
from noetlc.reading.reader import Reader
from noetlc.reading.values import read_value, report_template
from noetlc.source.nodes import Mapping, Node, Scalar

_MARKS = ("{{", "{%", "{#")
_TRIES = 4
"""How many closing braces are tried for an opening pair; a bound, so that odd text stays linear."""

_START = LatePattern(r"\{\{-?\s*(?P<name>[A-Za-z_]\w*)(?P<path>\s*[.\[|]\s*[\w'\"]|)")
_GO_OPTION = r"""(?:--format|--template|\s-f|go-template)[= ]?\s{0,9}["']?"""
"""An option whose value is a template of Go, as those of docker and kubectl."""
_HAS_GO = LatePattern(_GO_OPTION + r"""[^"'\n]{0,200}\{\{""")
_OF_GO = LatePattern(_GO_OPTION + r"""(?:\{\{[^{}]*\}\}|[^{}"'])*\{\{[^`]$""")
_REACH = 200
"""So many characters before its braces the option is looked for."""
_GO_WORDS = LatePattern(r"-?\s*((json|range|with|if|index|len|print\w*)\s+\.|(end|else)\s*-?\}\})")
_HELP = "a template is written `{{ expression }}`; anything else reaches the tool unchanged"


def program_text(r: Reader, node: Node) -> Value:
    """SQL and shell text: a template in which braces that are no expression stay as written, with a
    warning.
    """
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not any(m in node.text for m in _MARKS):
        if isinstance(node, Scalar):
            return Value(Literal(node.value), node.span, node)
        return _program_list(r, node)
    # Nearly all program text is a good template and is done here; only what fails is searched piece by piece.
    template, errors = parse_template(node.text)
    # `${#x}` is a length in a shell, where Jinja2 begins a comment: it would swallow text up to the next `#}` without
    # a word.
    if errors or "{#" in node.text or _HAS_GO.search(node.text):
        template = _loose(r, node)
    return Value(template, node.span, node)


def _program_list(r: Reader, node: Node) -> Value:
    """A list of commands, each read as program text."""
    if isinstance(node, Mapping):
        return read_value(r, node)
    assert not isinstance(node, Scalar)
    items = [program_text(r, item).template for item in node.items]
    if all(isinstance(item, Literal) for item in items):
        # Not as written: raw text is what stands in it.
        return Value(Literal([item.value for item in items if isinstance(item, Literal)]), node.span, node)
    return Value(ListTemplate(tuple(items)), node.span, node)


def _loose(r: Reader, node: Scalar) -> Template:
    """Take the expressions that parse out of the text and leave everything else as it stands."""
    text, parts, at, done = node.text, list[str | Expr](), 0, 0
    last = text.rfind("}}")
    while (start := text.find("{", at)) >= 0:
        if text[start : start + 2] not in _MARKS:
            at = start + 1
            continue
        error = None
        go = _is_of_go(text, start)
        # Words such as `range .` are Go's own; other braces in such an option may hold a template that was meant.
        if text.startswith("{{", start) and not (go and _GO_WORDS.match(text, start + 2)):
            found = _expression_at(text, start, last)
            if isinstance(found, tuple):
                expr, end = found
                parts += [text[done:start], expr] if start > done else [expr]
                at = done = end
                continue
            error = found
        at = start + 2
        # A good expression with a word that nobody offers was meant as one, and to leave it as text would run
        # something else.
        if isinstance(error, UnknownWord):
            report_template(r, node, error)
            at = max(text.find("}}", error.end) + 2, at)
        elif not go:
            _stays(r, node, start, error)
    if not parts:
        return Literal(text)
    return Text((*parts, text[done:]) if done < len(text) else tuple(parts), text)


def _is_of_go(text: str, start: int) -> bool:
    """Whether the braces at `start` are those of another language: a length of a shell, or an option of docker."""
    if text.startswith("{#", start):
        return text[start - 1 : start] == "$"
    # Bounded, since the pattern looks back from each pair of braces.
    line = max(text.rfind("\n", 0, start) + 1, start - _REACH)
    return _OF_GO.search(text, line, start + 3) is not None


def _expression_at(text: str, start: int, last: int) -> tuple[Expr, int] | TemplateError | None:
    """The expression whose braces open at `start`, and the offset after its closing ones; else what is wrong with it
    up to the first closing ones, None where there are none. `last` is where the text's last ones are.
    """
    end, first = start + 2, None
    # The first `}}` may stand in a string or close two mappings, so later ones are tried.
    for _ in range(_TRIES):
        end = text.find("}}", end) if end <= last else -1
        if end < 0:
            return first
        try:
            return parse_expression(text[start + 2 : end], start + 2), end + 2
        except UnknownWord as error:
            return error
        except TemplateError as error:
            # The first fault is the one about what the author wrote; later tries took in foreign text.
            first, end = first or error, end + 1
    return first


def _stays(r: Reader, node: Scalar, start: int, error: TemplateError | None) -> None:
    """Say that an opening pair stays as written: at the mistake, where what follows was meant as an expression."""
    opened = node.text[start : start + 2]
    place = r.source.inner_span(node, start, start + 2)
    begun = _START.match(node.text, start)
    # A name with a path, or a name of ours, was meant as an expression; a lone word may be a brace of any language.
    ours = begun is not None and (begun["path"] != "" or begun["name"] in RESERVED)
    if opened == "{{" and error is None:
        message = "`{{` is never closed and stays as written"
        r.report("NL309", message, place, help="close the expression with `}}`; leave it if it is no template")
    elif ours and error is not None:
        end = node.text.find("}}", start)
        inside = node.text[start : end + 2]
        where = r.source.inner_span(node, error.start, max(error.end, error.start + 1))
        message = f"`{inside}` is no expression and stays as written: {error.message}"
        r.report("NL309", message, where, help=error.help or "mend the expression; leave it if it is no template")
    else:
        r.report("NL309", f"`{opened}` begins no expression here and stays as written", place, help=_HELP)
