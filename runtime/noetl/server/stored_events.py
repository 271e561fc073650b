"""The events of a log as the store keeps them: read again, and what lies outside of the log brought back."""

from collections.abc import Callable, Iterable

from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import Blobs, Record, StoreFailure
from noetl_ir import codec
from noetl_ir.events import MAX_BYTES, MAX_DEPTH, MAX_ITEMS, Event, read_event, write_event
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference

WHOLE_OUTSIDE = "payload"
"""The one key of a stored event all of whose data lies outside the log."""


def hydrate(record: Record, blobs: Blobs) -> Event:
    """The event of a record, its data brought back from outside; raises StoreFailure when it is damaged."""
    try:
        event = read_event(record.body)
        outside: Json = event.data.get(WHOLE_OUTSIDE)
        # A signal or a result may have a key of that name too. Only a sole key with a whole reference is ours; limits
        # hold, as the file may have been altered on disk.
        if outside is not None and len(event.data) == 1 and is_reference(outside) and isinstance(outside, dict):
            data = codec.unpack(blobs.get(outside), max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, max_items=MAX_ITEMS)
            event = event._replace(data=data if isinstance(data, dict) else {})
    except (codec.CodecError, KeyError) as problem:
        text = problem.args[0] if problem.args else problem
        raise StoreFailure(f"event {record.position} of the log cannot be read: {text}") from None
    return event


def evolve_record(program: Program, execution: Execution, record: Record, blobs: Blobs) -> Event:
    """Fold one stored record in; returns its event."""
    event = hydrate(record, blobs)
    evolve(program, execution, event)
    return event


def records_of(
    events: Iterable[Event], limit: int, outside: Callable[[bytes], dict[str, Json]]
) -> list[tuple[str, bytes]]:
    """Events as the log keeps them, those of more than `limit` bytes with their data `outside`: a function that stores
    it and gives the reference.
    """
    records = []
    for event in events:
        body = write_event(event)
        # Only the data goes outside, so that what an event is about (type, run, task, claim) can be read from the log
        # alone.
        if len(body) > limit:
            body = write_event(event._replace(data={WHOLE_OUTSIDE: outside(codec.pack_unsorted(event.data))}))
        records.append((event.event_id, body))
    return records
