"""Plan bytes: what `noetl run` takes."""

from noetl_ir.plan import Plan
from noetl_ir.plan_format import write_plan


def emitted(plan: Plan) -> bytes:
    """The bytes of a plan."""
    return write_plan(plan)
