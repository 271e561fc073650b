"""signal: sends a named signal to another execution, or to whoever waits under a key (EXTENSIONS §6)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="signal",
    summary="Sends a named signal to another execution, or to whoever waits under a key: once for each run of the "
    "task, however often it is tried.",
    fields={
        "to": Field(
            ("name",),
            doc="The id of an execution; or `parent`, the execution that called this one; or `children`, those that "
            "this one called and that have not ended.",
        ),
        "key": Field(
            ("text",),
            doc="Instead of `to`: the key under which a `wait` of any execution listens (its `correlation`), 500 "
            "characters at most. The oldest one gets it; where there is none the signal is kept, at most 1,000 under a "
            "key.",
        ),
        "keep_for": Field(
            ("duration",), doc="With `key`: how long the signal is kept for a wait that comes later; 7d when absent."
        ),
        # Not `name`: that is the task's own.
        "signal": Field(("name",), required=True, doc="The name that somebody there waits for."),
        "data": Field(doc="What the signal carries; null when absent."),
    },
    one_of=(("to", "key"),),
    result="{delivered}, the number of executions that have it, 0 where it is kept; `signal.no_target` is the error "
    "where there is none, or it has ended, `signal.mailbox_full` where as many are kept under the key as may be",
    # The servers have the store that it goes to: no worker has.
    parks=True,
)
