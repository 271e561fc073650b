"""Time limits of a step, of an iteration, of the execution (LANGUAGE §4; EXTENSIONS §2 and §5)."""

from noetl.engine.program import Program
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.kinds import seconds_of


def time_limit(program: Program, index: int, scope: Scope, *, code: str, what: str) -> int:
    """The limit that a template of the pool gives, in microseconds. Raises Fault with `code`, whose message names it as
    `what`.
    """
    seconds = seconds_of(program.value(index)(scope))
    if not seconds:
        raise Fault(code, f"{what} is no duration above zero")
    return round(seconds * 1_000_000)
