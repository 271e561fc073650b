"""transfer: rows from one database or file into another (DIALECTS §2, LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="transfer",
    summary="Copies rows from one database or file into another.",
    fields={
        "source": Field(
            ("map",),
            required=True,
            doc="Where rows come from: {kind: postgres, duckdb, sqlite or snowflake, query, …} with the fields of that "
            "kind, {kind: http, url, format, …} with those of a request, or {kind: file, path, format}; a format is "
            "csv, json or jsonl.",
        ),
        "target": Field(
            ("map",),
            required=True,
            doc="Where rows go: {kind, table, key, …} with the fields of that kind, or {kind: file, path, format}; "
            "`mapping` takes {column: the row's key} for each column, a dotted path for what lies deeper.",
        ),
        # `append` when absent, since it is the one that destroys nothing.
        "mode": Field(
            ("text",),
            values=("append", "insert", "replace", "upsert"),
            doc="How rows are written: append when absent, upsert by the target's `key`, or replace all there is.",
        ),
        "auth": Field(("text", "map"), doc="Credentials of both sides, {source, target}, where these name none."),
        # One transaction: a transfer that fails in its middle, and is tried again, would write the first rows twice.
        "chunk_size": Field(
            ("integer",), doc="Read from older playbooks; all rows go in one transaction here.", idle=True
        ),
        "direction": Field(
            ("text",), doc="The kinds of both sides, as in snowflake_to_postgres, where these name none."
        ),
    },
    knobs={"max_rows": Field(("integer",), doc="Most rows that are copied; 1,000,000 when absent.")},
    result="{rows_transferred, columns}",
)
