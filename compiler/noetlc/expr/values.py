"""Templates as expressions, where a pass must put one inside of another."""

from noetl_ir.expr import (
    Concat,
    Const,
    Expr,
    Json,
    ListOf,
    ListTemplate,
    Literal,
    MapOf,
    MapTemplate,
    Native,
    Template,
    Text,
)


def expression_of(template: Template) -> Expr:
    """The expression that gives what the template gives; a block template has none and stays text."""
    match template:
        case Literal(value=value):
            return constant_of(value)
        case Native(expr=expr):
            return expr
        case Text(parts=parts):
            return Concat(tuple(Const(part) if isinstance(part, str) else part for part in parts))
        case MapTemplate(items=pairs):
            return MapOf(tuple((Const(key), expression_of(value)) for key, value in pairs))
        case ListTemplate(items=items):
            return ListOf(tuple(expression_of(item) for item in items))
        case _:
            return Const(template.text)


def constant_of(value: Json) -> Expr:
    """A constant, list or mapping of them."""
    match value:
        case dict():
            return MapOf(tuple((Const(key), constant_of(item)) for key, item in value.items()))
        case list():
            return ListOf(tuple(constant_of(item) for item in value))
        case _:
            return Const(value)
