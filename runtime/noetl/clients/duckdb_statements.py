"""The statements of a task on a DuckDB connection, locked in the worker's root: what `duckdb` and `ducklake` share.

Several statements run in one transaction, unless the text has a BEGIN of its own. The work is done in a thread,
which is interrupted on timeout and cancellation and left only once the connection is closed.
SQL reaches local files inside the root, and addresses once an extension for them is loaded. Extensions are loaded by
name, with `INSTALL x; LOAD x` in front of all other statements; then DuckDB's own lock falls: no extension, and no
file outside, as its `postgres` and `sqlite` ones would open. Where the engine's own files lie inside the root, DuckDB
may use all folders that do not hold them, and of those that do the files that are there or that a statement names.
"""

import asyncio
import os
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noetl.clients.sql_results import (
    UNUSABLE,
    Writing,
    bindable_array,
    emptying_text,
    first_rows,
    insert_text,
    message_line,
    most_rows,
    parameters_of,
    refusal,
    result_of,
    rows_result,
    texts_of,
    writing_of,
)
from noetl.clients.stoppable_work import stoppable
from noetl.host.confined_files import FileRefused
from noetl.host.engine_files import has_second_name, holds, is_own, second_names, stores_in
from noetl.ports import InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    import duckdb


_EXTENSION = re.compile(r"\s*(INSTALL|LOAD)\s+[a-z]\w*\s*;?\s*", re.IGNORECASE)
REMOTE = ("http://", "https://", "s3://", "gs://", "gcs://", "r2://", "az://", "abfss://", "hf://")
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|\$(\w*)\$(.*?)\$\3\$""", re.DOTALL)
_LOGS = (".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")
_LONGEST = 4_096
INTERRUPT_EVERY = 0.01
"""Seconds."""
"""Characters of a path; a longer text names no file."""
_FENCING = threading.Lock()  # two calls on one file share its database


class DatabaseWork(NamedTuple):
    """The work that a call asks for: SQL texts, or rows to write, in the database at `path`, None for one in memory;
    `root` is the folder to stay in.
    """

    texts: tuple[str, ...]
    writing: Writing | None
    call: ToolCall
    root: str
    path: str | None = None


def work_of(call: ToolCall, root: str, path: str | None = None) -> DatabaseWork:
    """The work that a call asks for. Raises what `UNUSABLE` lists."""
    writing = writing_of(call.fields, call.args)
    return DatabaseWork(() if writing else texts_of(call.fields, root, call.folder), writing, call, root, path)


Prepare = Callable[["duckdb.DuckDBPyConnection"], None]
"""What a kind does with a new connection before the statements; in their thread, since it may wait."""


async def outcome_of(work: Callable[[], DatabaseWork], prepare: Prepare = lambda _: None) -> Outcome:
    """The outcome of the work on a connection of its own; its result is that of the last statement.

    Errors: `duckdb.error`, `timeout`, `rows.too_many`, `fields.invalid`, `file.refused`; to be called once `duckdb` is
    known to be installed.
    """
    import duckdb

    seconds = None
    try:
        asked = work()
        seconds = limit_of(asked.call.timeout)
        connection = duckdb.connect(asked.path or ":memory:")
        try:
            async with asyncio.timeout(seconds):
                doing = partial(_perform, connection, asked, prepare)
                return ok(await stoppable(doing, partial(_interrupt, connection), INTERRUPT_EVERY))
        finally:
            connection.close()
    except UNUSABLE as problem:
        return refusal(problem)
    except _Shared:
        what = "another task has the database open, and may use other files than this one names; try again"
        return error("duckdb.error", what, retryable=True)
    except duckdb.PermissionException as problem:
        return error("file.refused", str(problem))
    except TimeoutError:
        return error("timeout", f"the statements took longer than {seconds:g} s")
    except (duckdb.Error, OverflowError, TypeError, ValueError) as problem:  # a value that nothing can carry too
        return error("duckdb.error", message_line(problem), duckdb={"code": type(problem).__name__})


async def _interrupt(connection: "duckdb.DuckDBPyConnection") -> None:
    connection.interrupt()


def _perform(connection: "duckdb.DuckDBPyConnection", asked: DatabaseWork, prepare: Prepare) -> dict[str, Json]:
    """The result of the last statement, or of the rows written."""
    prepare(connection)
    if asked.writing is not None:
        _fence(connection, asked, [])
        with _transaction(connection, 2):
            if asked.writing.replaces:
                connection.execute(emptying_text(asked.writing))
            text = insert_text(asked.writing, "?") if asked.writing.rows else ""
            counts = [_count(connection.execute(text, list(row)).fetchall()) for row in asked.writing.rows]
            return rows_result((), (), sum(counts))
    statements = [statement for text in asked.texts for statement in connection.extract_statements(text)]
    statements = _fence(connection, asked, statements)
    params = parameters_of(asked.call.fields, bindable_array)
    if isinstance(params, list) and len(statements) > 1:
        raise InvalidFields("a list of params needs a single statement; bind several by name, from a mapping")
    results = []
    # A text with a transaction of its own means it so, and DuckDB has no transactions inside others.
    own = any(statement.query.lstrip()[:5].upper() == "BEGIN" for statement in statements)
    with _transaction(connection, 1 if own else len(statements)):
        for statement in statements:
            values = params
            if isinstance(params, dict):  # one that a statement does not name is an error to DuckDB
                values = {name: params[name] for name in statement.named_parameters if name in params}
            done = connection.execute(statement, values or None)
            results.append(_result(done, statement, most_rows(asked.call.knobs)))
    return result_of(results, asked.call)


def _fence(
    connection: "duckdb.DuckDBPyConnection", asked: DatabaseWork, statements: "list[duckdb.Statement]"
) -> "list[duckdb.Statement]":
    """Load the extensions that are asked for first, then lock the database in; the statements that are left.

    Connections of one process to one file share a database: what the first one locked stays locked.
    """
    # Loading is allowed in front only: behind any other statement the lock has fallen.
    first = 0
    while first < len(statements) and _EXTENSION.fullmatch(statements[first].query):
        connection.execute(statements[first])
        first += 1
    connection.execute("SET python_enable_replacements = false")  # else a name may be a variable of this process
    named = [name for statement in statements[first:] for name in _texts_in(statement.query)]
    params = asked.call.fields.get("params")
    values = params.values() if isinstance(params, dict) else params if isinstance(params, list) else ()
    named += [value for value in values if isinstance(value, str)]
    with _FENCING:
        _lock_in(connection, _allowed(asked, named))
    return statements[first:]


class _Allowed(NamedTuple):
    """The places that DuckDB may use, with all paths absolute; `named` are the files among them that the call itself
    names.
    """

    folders: list[str]
    files: list[str]
    named: frozenset[str]


def _lock_in(connection: "duckdb.DuckDBPyConnection", allowed: _Allowed) -> None:
    (is_open, files) = connection.execute(
        "SELECT current_setting('enable_external_access'), current_setting('allowed_paths')"
    ).fetchall()[0]
    # The first call to open a file locks its database for all that share it; later ones can only look whether it lets
    # them have theirs.
    if is_open:
        connection.execute("SET allowed_directories = $folders", {"folders": [*allowed.folders, *REMOTE]})
        connection.execute("SET allowed_paths = $files", {"files": allowed.files})
        connection.execute("SET enable_external_access = false")
    elif not allowed.named <= set(files):
        raise _Shared


class _Shared(Exception):
    """Another call has the database open, and may use other files than this one names."""


def _allowed(asked: DatabaseWork, named: list[str]) -> _Allowed:
    """The places inside the root but for the engine's own files. Raises FileRefused."""
    home = os.path.realpath(asked.root)
    own = [place for place in stores_in(home) if place != home and holds(home, place)]
    if not own:
        return _Allowed([asked.root], [], frozenset())
    # A hard link is another path to the same bytes: a fence by paths has to know all of them.
    own += second_names(home)  # of files that lie beside one, each is named
    folders, files = _around(home, own)
    # Texts of a statement are mostly data. What cannot be a path would only make the system raise.
    mentioned = [name for name in named if name and "\0" not in name and len(name) < _LONGEST]
    if asked.path is not None:
        files += _beside(asked.path)
    wanted: list[str] = []
    for path in {os.path.realpath(os.path.join(home, name)) for name in mentioned}:
        if has_second_name(path) and is_own(path, home):
            raise FileRefused(f"{path!r} is another name (a hard link) of a file of the engine's own: remove that name")
        at = os.path.dirname(path)
        if not holds(home, at):  # what lies outside of the root stays out of reach, whatever it holds
            continue
        if any(place != at and holds(at, place) for place in own) and not is_own(path, home):
            wanted += _beside(path)
            folders += [path] if path not in (home, at) and not any(holds(path, place) for place in own) else []
    return _Allowed(folders, [*files, *wanted], frozenset(wanted))


def _around(home: str, own: list[str]) -> tuple[list[str], list[str]]:
    """The folders of `home` that hold nothing of the engine's own, and the files beside them."""
    folders: list[str] = []
    files: list[str] = []
    waiting = [home]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if is_own(entry.path, home):
                    continue
                if entry.is_symlink():
                    if holds(home, os.path.realpath(entry.path)):  # one that leads out is no file of this folder
                        files.append(entry.path)
                elif not entry.is_dir():
                    files.append(entry.path)
                elif any(holds(entry.path, place) for place in own):
                    waiting.append(entry.path)
                else:
                    folders.append(entry.path)
    return folders, files


def _beside(path: str) -> list[str]:
    """A file with those that DuckDB makes beside it: its logs, and the draft of one that is written."""
    folder, name = os.path.split(path)
    return [path, *(path + end for end in _LOGS), os.path.join(folder, f"tmp_{name}")]


def _texts_in(query: str) -> list[str]:
    """The texts that a statement holds in quotes of any kind: where it names files, it names them so."""
    return [
        text.replace("''", "'") for one, two, _, three in _QUOTED.findall(query) for text in (one, two, three) if text
    ]


def _result(done: "duckdb.DuckDBPyConnection", statement: "duckdb.Statement", most: int) -> dict[str, Json]:
    """A statement's rows; of one that only changes data, DuckDB gives one row with their number."""
    import duckdb

    columns = [column[0] for column in done.description or ()]
    kinds = statement.expected_result_type
    counted = columns == ["Count"] and duckdb.ExpectedResultType.CHANGED_ROWS in kinds
    if counted or duckdb.ExpectedResultType.QUERY_RESULT not in kinds:
        return rows_result((), (), _count(done.fetchall()))
    return rows_result(columns, first_rows(iter(done.fetchone, None), most), 0)


def _count(rows: list[tuple[object, ...]]) -> int:
    first = rows[0][0] if rows and rows[0] else 0
    return first if isinstance(first, int) else 0


class _transaction:
    """One transaction around several statements; a single one is its own."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", statements: int) -> None:
        self._connection = connection
        self._needed = statements > 1

    def __enter__(self) -> None:
        if self._needed:
            self._connection.begin()

    def __exit__(self, kind: object, *_: object) -> None:
        if self._needed:
            (self._connection.commit if kind is None else self._connection.rollback)()
