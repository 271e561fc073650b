"""snowflake_transfer: copies rows between Snowflake and PostgreSQL; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="snowflake_transfer",
    summary="Copies rows between Snowflake and PostgreSQL.",
    fields={
        "direction": Field(("text",), doc="From which side to which."),
        "source": Field(("map",), doc="Where rows come from."),
        "target": Field(("map",), doc="Where rows go."),
        "mode": Field(("text",), doc="How rows are written."),
        "chunk_size": Field(("integer",), doc="How many rows go at once."),
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
