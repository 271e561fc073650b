"""Ends that the store refused, because the inbox has a signal that was not read: the end is taken back, the signal is
recorded, and the same end is recorded behind it.

Law: no signal moves an execution that is at its end: whatever could hear one would have kept it from ending.
"""

from noetl.engine import reports
from noetl.engine.evolve_flow import unfinish
from noetl.engine.signals import miss_signals
from noetl.engine.turn import Turn
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

END = ("workflow.finished", "playbook.processed")
"""The events that an execution ends with."""


class LateSignal(NamedTuple):
    """An unread signal of an execution that is ending: its row in the inbox, and when the row came (microseconds)."""

    name: str
    data: Json
    row: int
    came: int | None


def take_back(turn: Turn, ended: list[Event]) -> dict[str, Json]:
    """Undo the last two events, which are the end; returns the data of `workflow.finished`."""
    data = ended[-len(END)].data
    unfinish(turn.execution, len(END))
    return data


def end_behind(turn: Turn, signal: LateSignal) -> None:
    """Record a late signal, and that nothing hears it."""
    reports.signal(turn, signal.name, signal.data, signal.row, signal.came)
    miss_signals(turn)


def end_again(turn: Turn, data: dict[str, Json]) -> None:
    """Record the end that was taken back once more, with its data."""
    for event_type in END:
        turn.emit(event_type, data=data if event_type == END[0] else {})
