"""Guards as old playbooks write them: without braces, or with text around them (LANGUAGE §2)."""

from noetl_ir.expr import Const, Expr, Native
from noetlc.ast.playbook import Guard
from noetlc.expr.errors import TemplateError
from noetlc.expr.parser import parse_expression, parse_template
from noetlc.expr.unparse import unparse
from noetlc.reading.reader import Reader
from noetlc.reading.values import read_guard
from noetlc.source.nodes import Node, Scalar

LOOSE = "a guard without braces around the whole"


def read_loose_guard(r: Reader, node: Node, what: str) -> Guard | None:
    """The guard that a text is; all braces in it are taken off and put around the whole, with a note."""
    if not isinstance(node, Scalar) or node.value is None:
        return read_guard(r, node, what)
    if isinstance(node.value, bool):
        return _wrapped(r, node, Const(node.value))
    template, errors = parse_template(node.text)
    if errors or isinstance(template, Native):
        return read_guard(r, node, what)
    bare = " ".join(node.text.replace("{{", " ").replace("}}", " ").split())
    try:
        expr = parse_expression(bare, 0)
    except TemplateError:
        return read_guard(r, node, what)
    return _wrapped(r, node, expr)


def _wrapped(r: Reader, node: Scalar, expr: Expr) -> Guard:
    r.respelt(node.span, LOOSE, "one expression in braces", "safe")
    return Guard(expr, unparse(expr), node.span, None, 0)
