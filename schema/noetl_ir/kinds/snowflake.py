"""snowflake: SQL on Snowflake (DIALECTS §2, LANGUAGE §7)."""

from noetl_ir.kinds import SQL_KNOBS, SQL_TEXTS, Field, Kind, sql_fields

KIND = Kind(
    name="snowflake",
    module="snowflake.connector",
    summary="Runs SQL on Snowflake with bound parameters, in one transaction.",
    fields={
        **sql_fields("%(name)s from a mapping, %s from a list"),
        "auth": Field(
            ("text", "map"),
            doc="A keychain entry or stored credential: account and user, with password, private_key or token.",
        ),
        "credential": Field(("text",), doc="Another name for `auth`."),
        # Each may stand beside `auth`, as one login serves several warehouses and roles.
        "account": Field(("text",), doc="The account, over the one that `auth` names; so are the five below."),
        "user": Field(("text",), doc="The user."),
        "warehouse": Field(("text",), doc="The warehouse."),
        "database": Field(("text",), doc="The database."),
        "schema": Field(("text",), doc="The schema."),
        "role": Field(("text",), doc="The role."),
    },
    knobs=SQL_KNOBS,
    one_of=(SQL_TEXTS,),
    extras={"snowflake": ("code", "sqlstate")},
    result="{rows, row_count, columns} of the last statement; rows are mappings by column",
)
