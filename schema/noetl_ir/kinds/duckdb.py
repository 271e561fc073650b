"""duckdb: SQL on a DuckDB file (LANGUAGE §7)."""

from noetl_ir.kinds import SQL_KNOBS, SQL_TEXTS, Field, Kind, sql_fields

KIND = Kind(
    name="duckdb",
    module="duckdb",
    summary="Runs SQL on a DuckDB file with bound parameters, in one transaction.",
    fields={
        **sql_fields("$name from a mapping, ? from a list"),
        "database": Field(("text",), doc="The file, inside the worker's root; a database in memory when absent."),
        "auth": Field(("text", "map"), doc="Read from older playbooks, where SQL took credentials from it.", idle=True),
        "gcs_credential": Field(("text",), doc="Read from older playbooks, as `auth`.", idle=True),
    },
    knobs=SQL_KNOBS,
    one_of=(SQL_TEXTS,),
    extras={"duckdb": ("code",)},
    result="{rows, row_count, columns} of the last statement; rows are mappings by column",
)
