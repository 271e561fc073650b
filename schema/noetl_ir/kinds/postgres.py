"""postgres: SQL on a PostgreSQL server (v10 §12, LANGUAGE §7)."""

from noetl_ir.kinds import SQL_KNOBS, SQL_TEXTS, Field, Kind, sql_fields

KIND = Kind(
    name="postgres",
    module="psycopg",
    summary="Runs SQL on PostgreSQL with bound parameters, in one transaction.",
    fields={
        **sql_fields(":name or %(name)s from a mapping, $1 or %s from a list"),
        "auth": Field(("text", "map"), doc="A keychain entry or stored credential that names the server and the user."),
        "credential": Field(("text",), doc="Another name for `auth`."),
        "dsn": Field(("text",), doc="A connection string or address, where no password is needed."),
        "database": Field(("text",), doc="The database, over the one that `auth` names."),
        # A connection that is kept would carry settings and open transactions of one task into the next one.
        "pool": Field(("any",), doc="Read from older playbooks; each task has its own connection here.", idle=True),
    },
    knobs=SQL_KNOBS,
    one_of=(SQL_TEXTS,),
    extras={"pg": ("code", "sqlstate")},
    result="{rows, row_count, columns} of the last statement; rows are mappings by column",
)
