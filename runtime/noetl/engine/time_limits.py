"""Time limits of a step, of an iteration, of the execution (LANGUAGE §4; EXTENSIONS §2 and §5)."""

from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of


def time_limit(program: Program, index: int, scope: Scope, *, code: str, what: str) -> int:
    """The limit that a template of the pool gives, in microseconds. Raises Fault with `code`, whose message names it as
    `what`.
    """
    seconds = seconds_of(program.value(index)(scope))
    if not seconds:
        raise Fault(code, f"{what} is no duration above zero")
    return round(seconds * 1_000_000)


def due_times(turn: Turn, index: int, scope: Scope, *, code: str, of: str) -> dict[str, Json]:
    """When timers that begin now are due, in microseconds by their names, which a template of the pool gives with their
    durations. Raises Fault with `code`; its message says that they are `of` something.
    """
    lengths = turn.program.value(index)(scope)
    due: dict[str, Json] = {}
    for name, length in lengths.items() if isinstance(lengths, dict) else ():
        seconds = seconds_of(length)
        if seconds is None:
            raise Fault(code, f"timer `{name}` of {of} is no duration")
        due[name] = turn.now + round(seconds * 1_000_000)
    return due
