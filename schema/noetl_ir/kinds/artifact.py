"""artifact: reads stored results of its own execution."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="artifact",
    summary="Reads a stored result of the same execution by its reference.",
    fields={
        "action": Field(("text",), runs=("get",), doc="What to do: get, which is meant when absent."),
        "result_ref": Field(("any",), doc="The reference to read, as `ref(step)` gives it; also in `args`."),
        "uri": Field(("text",), doc="The artifact's address; not used by get."),
        "key": Field(("text",), doc="The artifact's name; not used by get."),
        "data": Field(("any",), doc="The value to store; not used by get."),
        "content_type": Field(("text",), doc="The media type; not used by get."),
    },
    result="the stored value under `data`, and where it is a mapping each of its keys; `data` is always the whole",
    # It reads what cannot change, so it may be done again at will.
    pure=True,
)
