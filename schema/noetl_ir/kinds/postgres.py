"""postgres: SQL on a PostgreSQL server (v10 §12, LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="postgres",
    summary="Runs SQL on PostgreSQL with bound parameters, in one transaction.",
    fields={
        "command": Field(("text",), text="sql", doc="SQL; with several statements the result is that of the last one."),
        "query": Field(("text",), text="sql", doc="Another name for `command`."),
        "sql": Field(("text",), text="sql", doc="Another name for `command`."),
        "statement": Field(("text",), text="sql", doc="Another name for `command`."),
        "code": Field(("text",), text="sql", doc="Another name for `command`."),
        "commands": Field(("text", "list"), text="sql", doc="SQL texts that run in order, in one transaction."),
        "command_b64": Field(("text",), text="literal", doc="`command` as base64 of its UTF-8 text."),
        "script": Field(("text", "map"), doc="A file to take the SQL from: a path, or {uri, source: {type: file}}."),
        "params": Field(("map", "list"), doc="Values bound by the driver: %(name)s from a mapping, %s from a list."),
        "parameters": Field(("map", "list"), doc="Another name for `params`."),
        "table": Field(("text",), doc="Storage form: the table that `args` are written to, with its schema if any."),
        "key": Field(("text", "list"), doc="Storage form: the columns that tell rows apart, for `mode: upsert`."),
        "mode": Field(
            ("text",),
            values=("insert", "append", "upsert", "replace"),
            doc="Storage form: upsert with `key`, else insert; replace removes all other rows.",
        ),
        "data": Field(("map", "list"), doc="Storage form: the row or rows to write; `args` when absent."),
        "auth": Field(("text", "map"), doc="A keychain entry or stored credential that names the server and the user."),
        "credential": Field(("text",), doc="Another name for `auth`."),
        "dsn": Field(("text",), doc="A connection string or address, where no password is needed."),
        "database": Field(("text",), doc="The database, over the one that `auth` names."),
        "pool": Field(("any",), doc="Read from older playbooks; connections are made for each task here."),
    },
    knobs={"max_rows": Field(("integer",), doc="Most rows that a result may have; 1,000,000 when absent.")},
    one_of=(("command", "query", "sql", "statement", "code", "commands", "command_b64", "script", "table"),),
    extras={"pg": ("code", "sqlstate")},
    result="{rows, row_count, columns}; rows are mappings by column",
)
