"""Whether two plans say the same, wherever they were written and by whom."""

from noetl_ir.plan import Plan
from noetl_ir.span import Span


def same_plan(one: Plan, other: Plan) -> bool:
    """Equal nets, tables and templates; places in the file and the makers of generated parts aside."""
    return _is_same(one._replace(aliases=False), other._replace(aliases=False))


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, Span) or isinstance(other, Span):
        return True  # also where only one of them has a place
    if not isinstance(one, tuple) or type(one) is not type(other):
        return one == other
    assert isinstance(other, tuple)
    fields = getattr(one, "_fields", ())
    if fields:
        return all(field == "maker" or _is_same(getattr(one, field), getattr(other, field)) for field in fields)
    return len(one) == len(other) and all(map(_is_same, one, other))
