"""Whether a loop has enough before its items are over (EXTENSIONS.md §5, `enough`).

Law: `enough` reads the counts of the loop, and otherwise only values that stay as they are while it runs. So asking
again at the same counts gives the same answer, in a replay too.
"""

from enum import Enum

from noetl.engine.execution import JsonObject, LoopRun
from noetl.engine.scope import enough_scope
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Expr, Literal, Name, Native, walk

CODE = "loop.enough"
"""The error code of an `enough` that cannot be evaluated, or is no number from 1."""


class Sufficiency(Enum):
    """Whether a loop has enough."""

    NO = "no"
    YES = "yes"


def asked(turn: Turn, loop: LoopRun, key: str) -> Sufficiency | JsonObject:
    """Whether a loop has enough; an error `{code, message}` where `enough` cannot be evaluated."""
    assert loop.end is not None
    number, program = loop.end.enough, turn.program
    template = program.plan.templates[number]
    scope = enough_scope(turn, loop, key)
    try:
        if isinstance(template, Native) and _counts(template.expr):
            holds = program.guard(number)(scope)
        else:
            needed = program.value(number)(scope)
            # `True` is an int in Python and no number in a playbook.
            if not isinstance(needed, int) or isinstance(needed, bool) or needed < 1:
                raise Fault(CODE, f"a number of iterations is 1 or more, not {needed!r}")
            holds = loop.ended["ok"] >= needed
    except Fault as fault:
        return {"code": fault.code, "message": f"`enough` of {_named(turn, loop)}: {fault.message}"}
    return Sufficiency.YES if holds else Sufficiency.NO


def _counts(expr: Expr) -> bool:
    """Whether an expression is a condition, which reads the counts in `event`; any other gives the number of successes
    that are enough.
    """
    return any(isinstance(part, Name) and part.name == "event" for part in walk(expr))


def not_enough(turn: Turn, loop: LoopRun) -> JsonObject:
    """The error of a loop whose items are over before it has enough."""
    assert loop.end is not None
    template = turn.program.plan.templates[loop.end.enough]
    wanted = f"{template.value} were needed" if isinstance(template, Literal) else "`enough` does not hold"
    ok, total = loop.ended["ok"], len(loop.items)
    message = f"{ok} of {total} iterations of {_named(turn, loop)} succeeded, and {wanted}"
    return {"code": "loop.not_enough", "message": message}


def _named(turn: Turn, loop: LoopRun) -> str:
    name = turn.program.plan.steps[loop.step].name
    return f"loop {loop.level + 1} of step `{name}`" if loop.level else f"the loop of step `{name}`"
