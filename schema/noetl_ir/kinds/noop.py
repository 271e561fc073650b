"""noop: does nothing but hand its values on; the carrier of rules, routing and assignments."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="noop",
    summary="Does nothing; yields `result`, else its `args`, else the result of the task before it.",
    fields={"result": Field(("any",), doc="The value that this task yields; without it the task yields its args.")},
    result="the value of `result`, else `args`, else the result of the task before it",
    pure=True,
)
