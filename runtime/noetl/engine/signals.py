"""Signals and the waits that listen for them (LANGUAGE §7, `wait`).

Law: signals are kept in the order they came; each is taken by the oldest wait that listens for its name, and one
that comes before its wait is not lost.
"""

from noetl.engine.turn import Turn
from noetl_ir.expr import Json
from noetl_ir.outcome import ok


def deliver_signals(turn: Turn) -> None:
    """Hand every kept signal to the oldest wait for it, as far as there is one."""
    execution = turn.execution
    position = 0
    while position < len(execution.signals):
        name, payload = execution.signals[position]
        key = next((key for key, names in execution.waits.items() if name in names), None)
        if key is None:
            position += 1
            continue
        outcome = ok({"name": name, "data": payload}).as_json()
        data: dict[str, Json] = {"signal": name, "outcome": outcome}
        turn.emit("token.claimed", step=execution.regions[key].step, run=key, data=data)
