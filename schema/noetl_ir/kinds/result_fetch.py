"""result_fetch: reads a stored result of its own execution, or parts of it."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="result_fetch",
    summary="Reads a stored result of the same execution by its reference, or parts of it.",
    fields={
        "ref": Field(("any",), doc="The reference to read, as `ref(step)` gives it; also in args."),
        "result_ref": Field(("any",), doc="Another name for `ref`."),
        "select": Field(
            ("text", "list of names"),
            doc="The part that is wanted, as a path like rows.0.id; of a list of paths a mapping by path is given.",
        ),
    },
    only_one=(("ref", "result_ref"),),
    result="the stored value; with `select` that part of it, or of several {path: part}",
    # It reads what cannot change, so it may be done again at will.
    pure=True,
)
