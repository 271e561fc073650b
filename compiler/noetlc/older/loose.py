"""Guards as old playbooks write them: without braces, or with text around them (REAL.md, values)."""

from noetl_ir.expr import Block, Expr, Literal, Native
from noetlc.ast.playbook import Guard
from noetlc.diag.change import ChangeClass
from noetlc.expr.parser import parse_template
from noetlc.expr.unparse import unparse
from noetlc.older.hints import LOOSE
from noetlc.reading.guard_texts import NoGuard, bare_guard, text_guard
from noetlc.reading.reader import Reader
from noetlc.reading.values import read_guard
from noetlc.source.nodes import Node, Scalar


def read_loose_guard(r: Reader, node: Node, what: str, *, in_arc: bool = False) -> Guard | None:
    """The guard that a text is, with a note: an expression without braces, or a text that compares what it renders."""
    if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, bool):
        return read_guard(r, node, what)
    template, errors = parse_template(node.text)
    if errors or isinstance(template, Native | Block):
        return read_guard(r, node, what)
    try:
        if isinstance(template, Literal):
            return _read(r, node, bare_guard(node.text, in_arc=in_arc), "review")
        compares = "==" in node.text or "!=" in node.text
        return _read(r, node, text_guard(node.text), "review" if compares else "safe")
    except NoGuard as why:
        if not str(why):
            return read_guard(r, node, what)
        r.report("NL302", f"{what}: this is no expression", node.span, help=str(why))
        return None


def _read(r: Reader, node: Scalar, expr: Expr, klass: ChangeClass) -> Guard:
    text = unparse(expr)
    r.respelt(node.span, LOOSE, f"`{{{{ {text} }}}}`", klass)
    return Guard(expr, text, node.span, None, 0)
