"""sqlite: SQL on files inside the worker's root, or on a database in memory (LANGUAGE §7).

Several statements run in one transaction, unless the text has a BEGIN of its own. The work is done in a thread,
which is interrupted on timeout and cancellation and left only once the connection is closed.
Error codes: `sqlite.error`, `timeout`, `rows.too_many`, `fields.invalid`, `file.refused`.
"""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from functools import partial

from noetl.clients.sql_results import (
    UNUSABLE,
    Writing,
    bindable,
    emptying_text,
    first_rows,
    insert_text,
    most_rows,
    parameters_of,
    refusal,
    result_of,
    rows_result,
    texts_of,
    writing_of,
)
from noetl.clients.stoppable_work import stoppable
from noetl.host.confined_files import FileRefused, inside
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.sqlite import KIND
from noetl_ir.outcome import Outcome, error, ok

BUSY_SECONDS = 30.0
INTERRUPT_EVERY = 0.01
"""Seconds."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the statements; the result is that of the last one."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    fence = _Fence(env.root())
    try:
        database = call.fields.get("database")
        path = ":memory:" if database in (None, ":memory:") else inside(env.root(), str(database))
        writing = writing_of(call.fields, call.args)
        statements = [] if writing else list(_statements(texts_of(call.fields, env.root(), call.folder)))
        # No implicit transactions: Python's module would begin one before some statements and not before others.
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        connection.set_authorizer(fence.asked)
        try:
            async with asyncio.timeout(seconds):
                work = partial(_perform, connection, statements, writing, call)
                result = await stoppable(work, partial(_interrupt, connection), INTERRUPT_EVERY)
        finally:
            connection.close()
        return ok(result)
    except UNUSABLE as problem:
        return refusal(problem)
    except TimeoutError:
        return error("timeout", f"the statements took longer than {seconds:g} s")
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as problem:
        # SQLite only says "not authorized"; which file it was, and why, is known here.
        if fence.refused is not None:
            return error("file.refused", str(fence.refused))
        name = getattr(problem, "sqlite_errorname", None)
        return error("sqlite.error", str(problem), sqlite={"code": name})


class _Fence:
    """Keeps ATTACH and VACUUM INTO inside a folder: SQLite asks about every file that a statement names."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.refused: FileRefused | None = None

    def asked(self, action: int, name: str | None, *_: str | None) -> int:
        """The answer to SQLite, what it is to do with a part of a statement; `name` is None where a file is named by an
        expression.
        """
        if action != sqlite3.SQLITE_ATTACH or name in ("", ":memory:"):
            return sqlite3.SQLITE_OK
        try:
            if name is None:
                raise FileRefused("a database to attach is named by an expression: write its path as a text")
            # An address may name another file by its parameters (`vfs`), or open a database that is immutable without
            # a lock.
            if name.startswith("file:"):
                raise FileRefused(f"{name!r} is an address: write a path")
            inside(self._root, os.path.abspath(name))  # SQLite takes it from where the process stands
        except FileRefused as problem:
            self.refused = problem
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK


async def _interrupt(connection: sqlite3.Connection) -> None:
    connection.interrupt()


def _perform(
    connection: sqlite3.Connection, statements: list[str], writing: Writing | None, call: ToolCall
) -> dict[str, Json]:
    """The result of the last statement, or of the rows written."""
    if writing is not None:
        with _transaction(connection, 2):
            if writing.replaces:
                connection.execute(emptying_text(writing))
            if not writing.rows:
                return rows_result((), (), 0)
            cursor = connection.executemany(insert_text(writing, "?"), writing.rows)
            return rows_result((), (), cursor.rowcount)
    params = parameters_of(call.fields, bindable)
    if isinstance(params, list) and len(statements) > 1:
        raise InvalidFields("a list of params needs a single statement; bind several by name, from a mapping")
    results = []
    # SQLite has no transactions inside others, so a text with its own has only that.
    own = any(text.lstrip()[:5].upper() == "BEGIN" for text in statements)
    with _transaction(connection, 1 if own else len(statements)):
        for text in statements:
            cursor = connection.execute(text, params if params is not None else ())
            columns = [column[0] for column in cursor.description or ()]
            results.append(rows_result(columns, first_rows(cursor, most_rows(call.knobs)), cursor.rowcount))
    return result_of(results, call)


class _transaction:
    """One transaction around several statements; a single one is its own."""

    def __init__(self, connection: sqlite3.Connection, statements: int) -> None:
        self._connection = connection
        self._needed = statements > 1

    def __enter__(self) -> None:
        if self._needed:
            self._connection.execute("BEGIN IMMEDIATE")  # else a read that turns into a write fails at once

    def __exit__(self, kind: object, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _statements(texts: tuple[str, ...]) -> Iterator[str]:
    """The statements of some texts, by SQLite's own idea of where one ends."""
    for text in texts:
        start = 0
        for index, character in enumerate(text):
            # SQLite itself says whether a semicolon ends a statement: in a trigger or a literal it does not.
            if character == ";" and sqlite3.complete_statement(text[start : index + 1]):
                if text[start:index].strip():
                    yield text[start : index + 1]
                start = index + 1
        if text[start:].strip():
            yield text[start:]
