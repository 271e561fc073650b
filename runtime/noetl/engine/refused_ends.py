"""An end that the store refused, since a signal came before it: that is read, and the execution ends as it would have.

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
    """A signal in the inbox of an execution that was to end: its row, and when that came (microseconds)."""

    name: str
    data: Json
    row: int
    came: int | None


def take_back(turn: Turn, ended: list[Event]) -> dict[str, Json]:
    """Take the last two events back, which are the end; returns what it says."""
    data = ended[-len(END)].data
    unfinish(turn.execution, len(END))
    return data


def end_behind(turn: Turn, signal: LateSignal) -> None:
    """Read a signal."""
    reports.signal(turn, signal.name, signal.data, signal.row, signal.came)
    miss_signals(turn)


def end_again(turn: Turn, data: dict[str, Json]) -> None:
    """End as it was to."""
    for event_type in END:
        turn.emit(event_type, data=data if event_type == END[0] else {})
