"""A mistake of ours, in a turn of one execution or in one pipeline: what is told of it, without a value of either."""

from noetl_ir.expr import Json

CODE = "engine.fault"
"""What an execution ends with whose turn raised what no turn may raise."""

_SHOWN = 6
"""How many places are told, the innermost last."""


def fault_of(problem: BaseException) -> dict[str, Json]:
    """The error of an execution that an exception ends: the kind of exception, where it came from, and a reference
    to report. What the exception says is left out: it may hold what the execution works with.
    """
    from pathlib import Path  # all three at a fault, and not at every start
    from traceback import extract_tb
    from uuid import uuid4

    places: list[Json] = [
        # The last three parts name the module; the rest would tell where it is installed, and under whose account.
        f"{'/'.join(Path(frame.filename).parts[-3:])}:{frame.lineno} {frame.name}"
        for frame in extract_tb(problem.__traceback__)[-_SHOWN:]
    ]
    reference = uuid4().hex[:12]
    at = f" at {places[-1]}" if places else ""
    message = f"the engine made a mistake ({type(problem).__name__}{at}): please report it with reference {reference}"
    return {"code": CODE, "message": message, "reference": reference, "places": places}
