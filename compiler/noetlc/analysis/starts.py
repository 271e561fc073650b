"""The values that keys of `ctx` have before anything has run: those of reducers, as far as they are known."""

from noetl_ir.expr import Json, Literal
from noetl_ir.plan import Plan
from noetl_ir.reducing import start_of


def starts_of(plan: Plan) -> dict[str, Json]:
    """The values that reduced keys start with, without those that are computed."""
    found: dict[str, Json] = {}
    for row in plan.reducers:
        template = plan.templates[row.initial] if row.initial >= 0 else Literal(start_of(row.reduce))
        if isinstance(template, Literal):
            found[row.key] = template.value
    return found
