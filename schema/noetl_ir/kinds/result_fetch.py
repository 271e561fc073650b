"""result_fetch: reads a stored result; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="result_fetch",
    summary="Reads a stored result.",
    fields={
        "ref": Field(("any",), doc="The reference to read."),
        "result_ref": Field(("any",), doc="Another name for `ref`."),
        "select": Field(
            (
                "text",
                "list",
            ),
            doc="The part of the value that is wanted.",
        ),
    },
    result="the stored value",
    available=False,
)
