"""wait: parks until a signal or a timer comes (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="wait",
    summary="Waits, outside of any worker, for a named signal or a timer.",
    fields={
        "events": Field(("name", "list of names"), doc="The names of the signals that end the wait."),
        "timers": Field(
            ("map",), doc="Timer names to durations; the first that is over ends the wait. One that is null is not set."
        ),
    },
    result="{name, data} of what ended the wait: the name of the signal and what it carries, or the id of the timer",
    # No worker waits: a thousand waits cost rows in the store and no slot.
    parks=True,
)
