"""Jinja2's own syntax tree as our nodes: the judge of the grammar."""

from jinja2 import Environment, nodes

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    MapOf,
    Name,
    Not,
    Slice,
    Test,
    TupleOf,
    Unary,
)

_ENVIRONMENT = Environment()
_COMPARE = {
    "eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in",
}  # fmt: skip


def parsed(text: str) -> Expr:
    """The expression that Jinja2 reads between the braces of `{{ text }}`. Raises what Jinja2 raises."""
    tree = _ENVIRONMENT.parse("{{ " + text + " }}")
    (output,) = tree.body
    assert isinstance(output, nodes.Output)
    (expr,) = output.nodes
    return converted(expr)


def converted(node: nodes.Node | None) -> Expr:
    match node:
        case nodes.TemplateData():
            raise ValueError("text")
        case nodes.Const(value=value):
            return Const(value)
        case nodes.Name(name=name):
            return Name(name)
        case nodes.Getattr(node=of, attr=name):
            return Attribute(converted(of), name)
        case nodes.Getitem(node=of, arg=nodes.Slice(start=lower, stop=upper, step=step)):
            return Slice(converted(of), _maybe(lower), _maybe(upper), _maybe(step))
        case nodes.Getitem(node=of, arg=key):
            return Item(converted(of), converted(key))
        case nodes.Call(node=of):
            return Call(converted(of), *_arguments(node))
        case nodes.Filter(node=of, name=name):
            return Filter(converted(of), name, *_arguments(node))
        case nodes.Test(node=of, name=name):
            return Test(converted(of), name, *_arguments(node))
        case nodes.Neg(node=of):
            return Unary("-", converted(of))
        case nodes.Pos(node=of):
            return Unary("+", converted(of))
        case nodes.Not(node=of):
            return Not(converted(of))
        case nodes.And(left=left, right=right):
            return Logic("and", converted(left), converted(right))
        case nodes.Or(left=left, right=right):
            return Logic("or", converted(left), converted(right))
        case nodes.BinExpr(left=left, right=right):
            return Binary(node.operator, converted(left), converted(right))
        case nodes.Concat(nodes=parts):
            return Concat(tuple(converted(part) for part in parts))
        case nodes.Compare(expr=first, ops=ops):
            return Compare(converted(first), tuple((_COMPARE[op.op], converted(op.expr)) for op in ops))
        case nodes.CondExpr(test=test, expr1=then, expr2=otherwise):
            return Conditional(converted(test), converted(then), _maybe(otherwise))
        case nodes.List(items=items):
            return ListOf(tuple(converted(entry) for entry in items))
        case nodes.Tuple(items=items):
            return TupleOf(tuple(converted(entry) for entry in items))
        case nodes.Dict(items=items):
            return MapOf(tuple((converted(pair.key), converted(pair.value)) for pair in items))
        case _:
            raise ValueError(f"no node of ours for {node!r}")


def _maybe(node: nodes.Node | None) -> Expr | None:
    return None if node is None else converted(node)


def _arguments(
    node: nodes.Call | nodes.Filter | nodes.Test,
) -> tuple[tuple[Expr, ...], tuple[tuple[str, Expr], ...]]:
    named = [(pair.key, converted(pair.value)) for pair in node.kwargs]
    if node.dyn_args is not None:
        named.append(("*", converted(node.dyn_args)))
    if node.dyn_kwargs is not None:
        named.append(("**", converted(node.dyn_kwargs)))
    return tuple(converted(arg) for arg in node.args), tuple(named)
