"""ducklake: SQL on a DuckLake, attached to a DuckDB of its own in memory (https://ducklake.select).

The catalogue is in PostgreSQL, so that workers on many machines write at once, or in a DuckDB file, which one task at a
time can have open. DuckDB's extensions come with the extra, or are installed by DuckDB from its site.
Error codes: those of `noetl.clients.duckdb_statements`, which says what SQL may reach, `credential.missing` and
`extra.missing`.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from noetl.clients.duckdb_statements import REMOTE, DatabaseWork, outcome_of, work_of
from noetl.clients.postgres_server import CONNECT_SECONDS, server_of
from noetl.clients.sql_results import UNUSABLE, quoted, refusal
from noetl.host.confined_files import inside
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.ducklake import KIND
from noetl_ir.outcome import Outcome, error
from noetl_ir.records import NamedTuple
from noetl_ir.registry import can_import, folders_of

if TYPE_CHECKING:
    import duckdb

_LAKE, _SERVER = "noetl_lake", "noetl_server"
_SECRET: Final = {
    "host": "HOST",
    "port": "PORT",
    "dbname": "DATABASE",
    "user": "USER",
    "password": "PASSWORD",
}
"""What DuckDB keeps as a secret of a server, which no message of it shows; all else stands in the address."""


_SOURCE = ""
"""Where DuckDB installs its extensions from, as SQL: its own site when empty."""


class _Lake(NamedTuple):
    """A lake to attach: its catalogue's `file`, or the `server` that holds it, as libpq's parameters."""

    file: str
    server: Mapping[str, str]
    data_path: str


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the statements; the result is that of the last one."""
    if not (can_import("duckdb") and can_import("psycopg")):
        return _missing("DuckDB and psycopg are not both installed")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    import duckdb

    try:
        lake = await _lake(call.fields, env)
    except UNUSABLE as problem:
        return refusal(problem)
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    extensions = ("ducklake", "postgres_scanner") if lake.server else ("ducklake",)

    def attach(connection: "duckdb.DuckDBPyConnection") -> None:
        for name in extensions:
            try:
                _load(connection, name)
            except duckdb.Error as problem:
                raise _NoExtension(f"DuckDB's extension `{name}` cannot be loaded: {problem}") from None
        _attach(connection, lake, call.fields)

    def work() -> DatabaseWork:
        return work_of(call, env.root())

    try:
        return await outcome_of(work, attach)
    except _NoExtension as problem:
        return _missing(" ".join(str(problem).split()))


class _NoExtension(Exception):
    """An extension that is neither here nor can be had."""


def _missing(why: str) -> Outcome:
    return error("extra.missing", f"the ducklake tool needs the extra: pip install 'noetlc[ducklake]' ({why})")


async def _lake(fields: Mapping[str, Json], env: Env) -> _Lake:
    """Where the lake lies. Raises KeyError, what `UNUSABLE` lists."""
    data_path = str(fields["data_path"]) if fields.get("data_path") is not None else ""
    if data_path and not data_path.startswith(REMOTE):
        data_path = inside(env.root(), data_path)
        os.makedirs(data_path, exist_ok=True)
    place = fields.get("catalog_connection")
    if place is None:
        string, parameters = await server_of(fields, env)
        return _Lake("", _parameters(string, parameters), data_path)
    text = str(place)
    is_server = text.startswith(("postgres:", "postgresql:")) or "=" in text
    # `postgres:` in front of a connection string, as DuckLake itself writes it.
    string = text.removeprefix("postgres:") if not text.startswith("postgres://") else text
    return (
        _Lake("", _parameters(string, {}), data_path) if is_server else _Lake(inside(env.root(), text), {}, data_path)
    )


def _parameters(string: str, more: Mapping[str, str]) -> Mapping[str, str]:
    """The parameters of a connection. Raises InvalidFields where the text is none."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        # Its values are those of a text, all of them texts.
        found = {name: str(value) for name, value in conninfo_to_dict(string, **more).items() if value is not None}
    except psycopg.Error:
        # The message would quote the text, and so its password.
        raise InvalidFields("the catalogue's connection string cannot be read") from None
    return {"connect_timeout": str(CONNECT_SECONDS), **found}


def _load(connection: "duckdb.DuckDBPyConnection", name: str) -> None:
    """Load an extension: that of its wheel, if this brings the one for this DuckDB, else DuckDB's own.

    Raises duckdb.Error.
    """
    import duckdb

    for folder in folders_of(f"duckdb_extension_{name}"):
        file = os.path.join(folder, "extensions", f"v{duckdb.__version__}", f"{name}.duckdb_extension")
        if os.path.isfile(file):
            connection.execute(f"LOAD {_text(file)}")
            return
    connection.execute(f"INSTALL {name}{_SOURCE}")
    connection.execute(f"LOAD {name}")


def _attach(connection: "duckdb.DuckDBPyConnection", lake: _Lake, fields: Mapping[str, Json]) -> None:
    """Attach the lake under its name. Raises duckdb.Error."""
    for setting in ("memory_limit", "threads"):
        if fields.get(setting) is not None:
            connection.execute(f"SET {setting} = {_text(str(fields[setting]))}")
    options = [f"DATA_PATH {_text(lake.data_path)}"] if lake.data_path else []
    if fields.get("create_catalog") is False:
        options.append("CREATE_IF_NOT_EXISTS false")
    address = lake.file
    if lake.server:
        parts = [f"{_SECRET[name]} {_text(value)}" for name, value in lake.server.items() if name in _SECRET]
        connection.execute(f"CREATE SECRET {_SERVER} ({', '.join(['TYPE postgres', *parts])})")
        others = " ".join(f"{name}={_value(value)}" for name, value in lake.server.items() if name not in _SECRET)
        connection.execute(
            f"CREATE SECRET {_LAKE} (TYPE ducklake, METADATA_PATH {_text(others)}, "
            f"METADATA_PARAMETERS MAP {{'TYPE': 'postgres', 'SECRET': '{_SERVER}'}})"
        )
        address = _LAKE
    name = quoted(str(fields["catalog_name"]))
    clause = f" ({', '.join(options)})" if options else ""
    connection.execute(f"ATTACH {_text('ducklake:' + address)} AS {name}{clause}")
    if fields.get("use_catalog") is not False:
        connection.execute(f"USE {name}")


def _text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _value(value: str) -> str:
    """A value of a connection string, quoted as libpq reads it (PostgreSQL, 34.1.1.1)."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
