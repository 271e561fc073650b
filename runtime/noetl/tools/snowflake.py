"""snowflake: SQL on Snowflake over its connector (LANGUAGE §7).

Several statements run in one transaction, unless a BEGIN of their own is among them. The connector waits, so the work
is done in a thread; on timeout and cancellation the statements of its session are cancelled and the thread is waited
for. PUT and GET, which read and write files of the worker, are refused. A name of the storage form means what it means
without quotes in SQL: it is matched in upper case; in double quotes it is taken as it stands.
Error codes: `snowflake.error` (with `outcome.snowflake.code` and `.sqlstate`), `snowflake.connect`, `timeout`,
`rows.too_many`, `fields.invalid`, `file.refused`, `credential.missing`, `extra.missing`.
"""

import asyncio
import io
import json
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

from noetl.clients.auth import login_of
from noetl.clients.sql_results import (
    UNUSABLE,
    Writing,
    bindable,
    first_rows,
    most_rows,
    parameters_of,
    quoted,
    refusal,
    result_of,
    rows_result,
    texts_of,
    writing_of,
)
from noetl.clients.stoppable_work import own_thread, stoppable
from noetl.host.confined_files import FileRefused
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.snowflake import KIND
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection
    from snowflake.connector.cursor import SnowflakeCursor

LOGIN_SECONDS = 30
CANCEL_EVERY = 0.2
"""Seconds."""
BATCH = 10_000  # rows of one statement; Snowflake takes 16,384 expressions in a list

_NAMES = {
    **{f"sf_{name}": name for name in ("account", "user", "password", "warehouse", "database", "schema", "role")},
    "account": "account",
    "username": "user",
    "user": "user",
    "password": "password",
    "token": "token",
    "authenticator": "authenticator",
    "private_key": "private_key",
    "private_key_passphrase": "private_key_passphrase",
    "host": "host",
    "port": "port",
    "protocol": "protocol",
    **{name: name for name in ("warehouse", "database", "schema", "role")},
}
"""A credential's field → the connection parameter it is."""
_OVER = ("account", "user", "warehouse", "database", "schema", "role")
_FILES = re.compile(r"\s*(PUT|GET)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


class _Work(NamedTuple):
    """The work that a call asks for: a place to connect to; SQL texts, or rows to write."""

    target: dict[str, object]
    texts: tuple[str, ...]
    writing: Writing | None
    call: ToolCall


class _NoConnection(Exception):
    """There is no session, and why."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the statements; the result is that of the last one."""
    try:
        from snowflake.connector.errors import Error
    except ImportError:
        return error("extra.missing", "the snowflake tool needs the extra: pip install 'noetlc[snowflake]'")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        writing = writing_of(call.fields, call.args)
        texts = () if writing else texts_of(call.fields, env.root(), call.folder)
        work = _Work(await _target(call.fields, env), texts, writing, call)
        async with asyncio.timeout(seconds):
            opened: list[SnowflakeConnection] = []
            return ok(await stoppable(partial(_perform, work, opened), partial(_stop, opened), CANCEL_EVERY))
    except UNUSABLE as problem:
        return refusal(problem)
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    except TimeoutError:
        return error("timeout", f"the statements took longer than {seconds:g} s")
    except _NoConnection as problem:
        return error("snowflake.connect", f"no connection: {problem}")
    except Error as problem:
        extra: dict[str, Json] = {"code": problem.errno, "sqlstate": problem.sqlstate}
        return error("snowflake.error", str(problem.msg or problem), snowflake=extra)
    except (ValueError, OverflowError, UnicodeError, TypeError) as problem:  # a value that no statement can carry
        return error("snowflake.error", str(problem), snowflake={"code": None, "sqlstate": None})


async def _target(fields: Mapping[str, Json], env: Env) -> dict[str, object]:
    """The parameters of the connection. Raises KeyError, InvalidFields."""
    auth = fields["auth"] if fields.get("auth") is not None else fields.get("credential")
    login = await login_of(auth, env)
    target: dict[str, object] = {name: str(login[key]) for key, name in _NAMES.items() if login.get(key) is not None}
    target |= {name: str(fields[name]) for name in _OVER if fields.get(name) is not None}
    if not {"account", "user"} <= target.keys():
        raise InvalidFields("nothing says which account and user: give auth, or account and user")
    passphrase = target.pop("private_key_passphrase", None)
    if (key := target.get("private_key")) is not None:
        target["private_key"] = _der(str(key), None if passphrase is None else str(passphrase))
    elif "token" in target:
        target.setdefault("authenticator", "oauth")
    elif "password" not in target:
        raise InvalidFields("auth names a credential without password, private_key and token")
    return target


def _der(key: str, passphrase: str | None) -> bytes:
    """A private key in PEM as the connector takes it. Raises InvalidFields."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    try:
        private = load_pem_private_key(key.encode(), None if passphrase is None else passphrase.encode())
    except (ValueError, TypeError):
        raise InvalidFields("private_key is no key in PEM, or its passphrase is another one") from None
    return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


async def _stop(opened: "list[SnowflakeConnection]") -> None:
    # The thread may still be logging in, and has no session to cancel. It is looked at again, as the statement may
    # begin any moment.
    if opened:
        await own_thread(partial(_cancel, opened[0]))


def _cancel(connection: "SnowflakeConnection") -> None:
    """Cancel what the session runs."""
    from snowflake.connector.errors import Error

    with suppress(Error, OSError), closing(connection.cursor()) as cursor:
        cursor.execute("SELECT SYSTEM$CANCEL_ALL_QUERIES(CURRENT_SESSION()::NUMBER)")


def _perform(work: _Work, opened: "list[SnowflakeConnection]") -> dict[str, Json]:
    """The result of the last statement, or of the rows written."""
    import snowflake.connector
    from snowflake.connector.errors import Error

    statements = _statements(work.texts)
    params = parameters_of(work.call.fields, bindable)
    if isinstance(params, list) and len(statements) > 1:
        raise InvalidFields("a list of params needs a single statement; bind several by name, from a mapping")
    try:
        connection = snowflake.connector.connect(
            **work.target, login_timeout=LOGIN_SECONDS, application="noetl",
            # The connector would report to Snowflake what it does; and the statement of a worker that was killed
            # would go on, and be paid for.
            session_parameters={"CLIENT_TELEMETRY_ENABLED": False, "ABORT_DETACHED_QUERY": True},
        )  # fmt: skip
    except (Error, OSError) as problem:
        raise _NoConnection(str(getattr(problem, "msg", None) or problem)) from None
    opened.append(connection)
    with closing(connection), closing(connection.cursor()) as cursor:
        if work.writing is not None:
            return _write(cursor, work.writing)
        results = []
        own = any(text.lstrip()[:5].upper() == "BEGIN" for text in statements)
        with _transaction(cursor, 1 if own else len(statements)):
            for text in statements:
                cursor.execute(text, params)
                results.append(_result(cursor, most_rows(work.call.knobs)))
        return result_of(results, work.call)


def _statements(texts: tuple[str, ...]) -> list[str]:
    """The statements of some texts, by the connector's own idea of where one ends. Raises FileRefused."""
    from snowflake.connector.util_text import split_statements

    found = [
        text for whole in texts for text, _ in split_statements(io.StringIO(whole), True) if text and text.strip(" \n;")
    ]
    # The connector itself does PUT and GET, with the files of this machine: no right at the server stands against
    # that.
    if any(_FILES.match(text) for text in found):
        raise FileRefused("PUT and GET would use files of the worker")
    return found


def _result(cursor: "SnowflakeCursor", most: int) -> dict[str, Json]:
    """A statement's rows; of one that only changes data, Snowflake gives one row with their number."""
    columns = [column.name for column in cursor.description or ()]
    if columns and all(name.startswith("number of ") for name in columns):
        return rows_result((), (), cursor.rowcount or 0)
    rows = (row for row in iter(cursor.fetchone, None) if isinstance(row, tuple))
    return rows_result(columns, first_rows(rows, most), cursor.rowcount or 0)


def _write(cursor: "SnowflakeCursor", writing: Writing) -> dict[str, Json]:
    """Insert or merge all rows, in one transaction; Snowflake has no ON CONFLICT."""
    table = ".".join(map(_named, writing.table.split(".")))
    columns = [_named(name) for name in writing.columns]
    marks = f"({', '.join(['%s'] * len(columns))})"
    rows, keys = writing.rows, [_named(name) for name in writing.key]
    head = f"INSERT INTO {table} ({', '.join(columns)})"
    if keys:  # two rows of one key would be an error to MERGE: the last one counts
        places = [writing.columns.index(name) for name in writing.key]
        rows = tuple({json.dumps([row[place] for place in places]): row for row in rows}.values())
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    with _transaction(cursor, len(batches) + writing.replaces):
        if writing.replaces:
            cursor.execute(f"DELETE FROM {table}")
        for batch in batches:
            values = f"VALUES {', '.join([marks] * len(batch))}"
            text = _merge_text(table, columns, keys, values) if keys else f"{head} {values}"
            cursor.execute(text, [value for row in batch for value in row])
    return rows_result((), (), len(writing.rows))


def _merge_text(table: str, columns: list[str], keys: list[str], values: str) -> str:
    source = ", ".join(f"column{number} AS {name}" for number, name in enumerate(columns, start=1))
    same = " AND ".join(f"target.{name} = source.{name}" for name in keys)
    changes = ", ".join(f"{name} = source.{name}" for name in columns if name not in keys)
    update = f" WHEN MATCHED THEN UPDATE SET {changes}" if changes else ""
    row = ", ".join(f"source.{name}" for name in columns)
    insert = f" WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({row})"
    return f"MERGE INTO {table} AS target USING (SELECT {source} FROM {values}) AS source ON {same}{update}{insert}"


def _named(identifier: str) -> str:
    """An identifier that means what it means in SQL without quotes; one in double quotes stays as it is."""
    # Snowflake folds names without quotes to upper case, and a quoted lower-case name would be another table.
    if _PLAIN.fullmatch(identifier):
        return quoted(identifier.upper())
    return quoted(identifier[1:-1] if identifier[:1] == identifier[-1:] == '"' and len(identifier) > 2 else identifier)


class _transaction:
    """One transaction around several statements; a single one is its own."""

    def __init__(self, cursor: "SnowflakeCursor", statements: int) -> None:
        self._cursor = cursor
        self._needed = statements > 1

    def __enter__(self) -> None:
        if self._needed:
            self._cursor.execute("BEGIN")

    def __exit__(self, kind: object, *_: object) -> None:
        if self._needed:
            self._cursor.execute("COMMIT" if kind is None else "ROLLBACK")
