"""Signals of the mailbox whose wait listens no more: they go back, and are somebody else's (EXTENSIONS.md §6).

Law: what the mailbox addressed to a wait is taken by that wait or returned, and the log says which before the execution
has ended. What is returned is kept here no longer, and nobody else in this execution has heard it.
"""

from noetl.engine.turn import Turn
from noetl_ir.expr import Json


def return_letters(turn: Turn) -> None:
    """Return all signals of the mailbox that are kept here: nothing takes one any more."""
    for row in [signal.row for signal in turn.execution.signals if signal.wait]:
        return_letter(turn, row)


def return_letter(turn: Turn, row: int) -> None:
    """Return the signal of the mailbox that came by a row of the inbox."""
    name = next(signal.name for signal in turn.execution.signals if signal.row == row)
    data: dict[str, Json] = {"name": name, "row": row}
    turn.emit("signal.returned", data=data)
