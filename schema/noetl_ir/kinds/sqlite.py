"""sqlite: SQL on a SQLite file (LANGUAGE §7)."""

from noetl_ir.kinds import SQL_KNOBS, SQL_TEXTS, Field, Kind, sql_fields

KIND = Kind(
    name="sqlite",
    summary="Runs SQL on a SQLite file with bound parameters, in one transaction.",
    fields={
        **sql_fields(":name from a mapping, ? from a list"),
        "database": Field(("text",), doc="The file, inside the worker's root; a database in memory when absent."),
    },
    knobs=SQL_KNOBS,
    one_of=(SQL_TEXTS,),
    extras={"sqlite": ("code",)},
    result="{rows, row_count, columns} of the last statement; rows are mappings by column",
)
