"""signal: sends a named signal to another execution (EXTENSIONS §6)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="signal",
    summary="Sends a named signal to another execution, once for each run of the task, however often it is tried.",
    fields={
        "to": Field(
            ("name",),
            required=True,
            doc="The id of an execution; or `parent`, the execution that called this one; or `children`, those that "
            "this one called and that have not ended.",
        ),
        # Not `name`: that is the task's own.
        "signal": Field(("name",), required=True, doc="The name that somebody there waits for."),
        "data": Field(doc="What the signal carries; null when absent."),
    },
    result="{delivered}, the number of executions that have it; `signal.no_target` is the error where there is none, "
    "or it has ended",
    # The servers have the store that it goes to: no worker has.
    parks=True,
)
