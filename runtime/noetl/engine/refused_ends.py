"""Ends that the store refused, because the inbox has a signal that was not read: the end is taken back, the signal is
recorded, and the same end is recorded behind it.

Law: no signal moves an execution that is at its end: whatever could hear one would have kept it from ending.
"""

from noetl.engine import reports
from noetl.engine.evolve_flow import unfinish
from noetl.engine.letters import return_letters
from noetl.engine.signals import miss_signals
from noetl.engine.turn import Turn
from noetl_ir.events import Event
from noetl_ir.expr import Json

END = ("workflow.finished", "playbook.processed")
"""The events that an execution ends with."""


def take_back(turn: Turn, ended: list[Event]) -> dict[str, Json]:
    """Undo the last two events, which are the end; returns the data of `workflow.finished`."""
    data = ended[-len(END)].data
    unfinish(turn.execution, len(END))
    return data


def end_behind(turn: Turn, late: reports.Incoming) -> None:
    """Read a signal in the inbox of an execution that was to end."""
    reports.signal(turn, late)
    leave_late(turn)


def leave_late(turn: Turn) -> None:
    """Have a signal that was read so late go back, or be missed."""
    return_letters(turn)
    miss_signals(turn)


def end_again(turn: Turn, data: dict[str, Json]) -> None:
    """Record the end that was taken back once more, with its data."""
    for event_type in END:
        turn.emit(event_type, data=data if event_type == END[0] else {})
