"""transfer: copies rows between two stores; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="transfer",
    summary="Copies rows between two stores.",
    fields={
        "source": Field(("map",), doc="Where rows come from: kind, auth and query."),
        "target": Field(("map",), doc="Where rows go: kind, auth and table."),
        "mode": Field(("text",), doc="How rows are written: append, replace or upsert."),
        "chunk_size": Field(("integer",), doc="How many rows go at once."),
        "direction": Field(("text",), doc="From which side to which, in older playbooks."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="Credentials of both sides.",
        ),
    },
    result="{rows_transferred}",
    available=False,
)
