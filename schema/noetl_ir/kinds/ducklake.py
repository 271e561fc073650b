"""ducklake: runs SQL on a DuckLake catalogue; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="ducklake",
    summary="Runs SQL on a DuckLake catalogue.",
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
        "catalog_name": Field(("text",), doc="The catalogue's name."),
        "catalog_connection": Field(("text",), doc="Where the catalogue lies."),
        "data_path": Field(("text",), doc="Where the data files lie."),
        "use_catalog": Field(("text",), doc="Another name for `catalog_name`."),
        "create_catalog": Field(("boolean",), doc="Whether to make a missing catalogue."),
    },
    result="{rows, row_count, columns}",
    available=False,
)
