"""ducklake: SQL on a DuckLake: tables whose catalogue is in PostgreSQL, or in a file, and whose data are files."""

from noetl_ir.kinds import SQL_KNOBS, SQL_TEXTS, Field, Kind, sql_fields

KIND = Kind(
    name="ducklake",
    module="duckdb",
    summary="Runs SQL on a DuckLake, which many workers can write at once, in one transaction.",
    fields={
        **sql_fields("$name from a mapping, ? from a list"),
        "auth": Field(("text", "map"), doc="The credential of the PostgreSQL server that holds the catalogue."),
        "catalog_connection": Field(
            ("text",),
            doc="Where the catalogue lies instead: a PostgreSQL URL or connection string without a password, or a file "
            "inside the worker's root.",
        ),
        "catalog_name": Field(("text",), required=True, doc="The catalogue's name in the statements."),
        "data_path": Field(
            ("text",),
            doc="The folder of the data files: inside the worker's root, or an address; that of the catalogue when "
            "absent.",
        ),
        "create_catalog": Field(("boolean",), doc="Whether a missing catalogue is made; true when absent."),
        "use_catalog": Field(
            ("boolean",), doc="Whether tables without a catalogue's name are those of this one; true when absent."
        ),
        "memory_limit": Field(("text",), doc="The most memory that DuckDB may use, as in 1GB."),
        "threads": Field(("integer",), doc="The most threads that DuckDB may use."),
    },
    knobs=SQL_KNOBS,
    one_of=(SQL_TEXTS,),
    only_one=(("auth", "catalog_connection"),),
    extras={"duckdb": ("code",)},
    result="{rows, row_count, columns} of the last statement; rows are mappings by column",
)
