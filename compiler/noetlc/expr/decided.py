"""A guard in a place where its truth is a value: there the text `false` is true to Jinja2, in a guard it is false."""

from noetl_ir.expr import Compare, Conditional, Const, Expr, Filter, Logic, Not, Test


def decided(guard: Expr) -> Expr:
    """An expression that is true as a value where `guard` is true as a guard (LANGUAGE §2)."""
    match guard:
        case Not(of=of):
            return Not(decided(of))
        case Logic(op=op, left=left, right=right):
            return Logic(op, decided(left), decided(right))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return Conditional(decided(test), decided(then), Const(False) if otherwise is None else decided(otherwise))
        case Compare() | Test() | Const(value=bool() | int() | None):
            return guard
        case Const(value=str(text)):
            return Const(text != "" and text.lower() != "false")
        case _:
            lowered = Filter(Filter(guard, "string", (), ()), "lower", (), ())
            return Logic("and", guard, Compare(lowered, (("!=", Const("false")),)))
