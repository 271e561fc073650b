"""Stored results by their references.

A reference comes from expressions, so from data: where it leads to another execution it is as good as none.
"""

from noetl.ports import Env
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, error, is_reference


def stored(reference: Json, field: str, env: Env) -> "Json | Outcome":
    """The value that a reference of this execution stands for, else the error; `field` is where it was given."""
    if not isinstance(reference, dict) or not is_reference(reference):
        return error("ref.missing", f"`{field}` is no reference: give `ref(step)` of a step whose result is stored")
    try:
        return env.stored(reference)
    except KeyError as problem:
        return error("ref.missing", str(problem.args[0] if problem.args else problem))
