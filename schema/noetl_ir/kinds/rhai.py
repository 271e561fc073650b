"""rhai: runs a script in the Rhai language; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="rhai",
    summary="Runs a script in the Rhai language.",
    fields={
        "code": Field(("text",), text="code", required=True, doc="The program."),
    },
    result="the value of the script",
    available=False,
)
