"""snowflake: runs SQL on Snowflake; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="snowflake",
    summary="Runs SQL on Snowflake.",
    fields={
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="The keychain entry or stored credential to connect with.",
        ),
        "command": Field(("text",), text="sql", doc="SQL to run."),
        "query": Field(("text",), text="sql", doc="Another name for `command`."),
        "commands": Field(
            (
                "text",
                "list",
            ),
            text="sql",
            doc="SQL texts that run in order.",
        ),
        "params": Field(
            (
                "map",
                "list",
            ),
            doc="Values bound by the driver.",
        ),
        "parameters": Field(
            (
                "map",
                "list",
            ),
            doc="Another name for `params`.",
        ),
        "account": Field(("text",), doc="The account."),
        "user": Field(("text",), doc="The user."),
        "warehouse": Field(("text",), doc="The warehouse."),
        "database": Field(("text",), doc="The database."),
        "schema": Field(("text",), doc="The schema."),
        "role": Field(("text",), doc="The role."),
        "table": Field(("text",), doc="Storage form: the table to write to."),
        "key": Field(
            (
                "text",
                "list",
            ),
            doc="Storage form: the key columns.",
        ),
        "mode": Field(("text",), doc="Storage form: insert or upsert."),
    },
    result="{rows, row_count, columns}",
    available=False,
)
