"""artifact: reads and writes stored results; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="artifact",
    summary="Reads and writes stored results.",
    fields={
        "action": Field(("text",), doc="What to do: get, put or list."),
        "uri": Field(("text",), doc="The artifact's address."),
        "key": Field(("text",), doc="The artifact's name."),
        "data": Field(("any",), doc="The value to store."),
        "content_type": Field(("text",), doc="The media type."),
        "result_ref": Field(("any",), doc="The reference to read."),
    },
    result="the artifact's value or reference",
    available=False,
)
