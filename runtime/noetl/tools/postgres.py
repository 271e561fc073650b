"""postgres: SQL on a PostgreSQL server over psycopg (LANGUAGE §7).

A single text runs as it is, several statements in it in one transaction of the server; several texts, or statements
with params, run in one transaction of ours. `auth` names a credential with `dsn`, or with `host port user password
database` under psycopg's or these names. `params` are bound as `%s` or `$1` from a list, as `:name` or `%(name)s`
from a mapping; what looks like one in a literal, a quoted name, a comment or a cast is none. A cancelled or late
statement is cancelled at the server.
Error codes: `pg.error` (with `outcome.pg.code`, the SQLSTATE), `pg.connect`, `timeout`, `rows.too_many`,
`fields.invalid`, `file.refused`, `credential.missing`, `extra.missing`.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from noetl.clients.postgres_server import CONNECT_SECONDS, server_of
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
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.postgres import KIND
from noetl_ir.outcome import Outcome, error, ok

if TYPE_CHECKING:
    import psycopg


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the statements; the result is that of the last one."""
    try:
        import psycopg
    except ImportError:
        return error("extra.missing", "the postgres tool needs the extra: pip install 'noetlc[postgres]'")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        writing = writing_of(call.fields, call.args)
        texts = () if writing else texts_of(call.fields, env.root(), call.folder)
        target = await server_of(call.fields, env)
        async with asyncio.timeout(seconds):
            return await _connected(target, texts, writing, call)
    except UNUSABLE as problem:
        return refusal(problem)
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    except TimeoutError:
        return error("timeout", f"the statements took longer than {seconds:g} s")
    except psycopg.Error as problem:
        state = problem.sqlstate
        return error("pg.error", message_line(problem), pg={"code": state, "sqlstate": state})
    except (ValueError, OverflowError, UnicodeError) as problem:  # a value that no statement can carry
        return error("pg.error", message_line(problem), pg={"code": None, "sqlstate": None})


async def _connected(
    target: tuple[str, dict[str, str]], texts: tuple[str, ...], writing: Writing | None, call: ToolCall
) -> Outcome:
    """Connect and run. Leaving a connection early cancels its statement at the server and closes it."""
    import psycopg

    string, parameters = target
    try:
        address = psycopg.conninfo.make_conninfo(string, **parameters)
        # Else psycopg begins a transaction before the first statement, and takes it back when the connection is
        # closed.
        connection = await psycopg.AsyncConnection.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS)
    except psycopg.OperationalError as problem:
        state = problem.sqlstate
        message = f"no connection: {problem}"
        return error("pg.connect", message, pg={"code": state, "sqlstate": state})
    try:
        return ok(await _perform(connection, texts, writing, call))
    except asyncio.CancelledError:
        # Closing alone does not stop a statement: the server goes on with it until it has something to send.
        # Shielded, since a second cancellation would leave it running.
        await asyncio.shield(_cancelled(connection))
        raise
    finally:
        await connection.close()


async def _cancelled(connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
    """Ask the server to stop what the connection runs; an answer that does not come is not waited for."""
    import psycopg

    with suppress(psycopg.Error, OSError, TimeoutError):  # the connection is closed all the same
        await connection.cancel_safe(timeout=2)


async def _perform(
    connection: "psycopg.AsyncConnection[tuple[object, ...]]",
    texts: tuple[str, ...],
    writing: Writing | None,
    call: ToolCall,
) -> dict[str, Json]:
    """The result of the last statement, or of the rows written."""
    if writing is not None:
        async with connection.transaction(), connection.cursor() as cursor:
            if writing.replaces:
                await cursor.execute(emptying_text(writing).encode())
            if not writing.rows:
                return rows_result((), (), 0)
            await cursor.executemany(insert_text(writing, "%s").encode(), writing.rows)
            return rows_result((), (), cursor.rowcount)
    values = parameters_of(call.fields, bindable_array)
    statements, params = list(texts), values
    if values is not None:
        # psycopg sends values apart from the text, and the server takes one statement with them only.
        statements, params = psycopg_values([part for text in texts for part in statements_of(text)], values)
    if isinstance(params, list) and len(statements) > 1:
        raise InvalidFields(
            "a list of params needs a single statement; bind several by number or by name, from a mapping"
        )
    results: list[dict[str, Json]] = []
    async with connection.cursor() as cursor:
        # As it stands, outside of any transaction of ours: some statements (VACUUM, CREATE DATABASE) refuse to run in
        # one.
        if len(statements) == 1:
            await cursor.execute(statements[0].encode(), params)
            return result_of(await _results(cursor, call), call)
        async with connection.transaction():
            for text in statements:
                await cursor.execute(text.encode(), params)
                results += await _results(cursor, call)
    return result_of(results, call)


async def _results(cursor: "psycopg.AsyncCursor[tuple[object, ...]]", call: ToolCall) -> list[dict[str, Json]]:
    """The results of the statements that a text held; only that of the last one where no other is wanted."""
    found: list[dict[str, Json]] = []
    if call.knobs.get("each_statement") is True:
        found.append(await _current(cursor, call))
        while cursor.nextset():
            found.append(await _current(cursor, call))
        return found
    # psycopg stands at the first result of a text with several statements, and the task's is the last.
    while cursor.nextset():
        pass
    return [await _current(cursor, call)]


async def _current(cursor: "psycopg.AsyncCursor[tuple[object, ...]]", call: ToolCall) -> dict[str, Json]:
    """The result that the cursor stands at."""
    if cursor.description is None:
        return rows_result((), (), cursor.rowcount)
    columns = [column.name for column in cursor.description]
    return rows_result(columns, first_rows(await cursor.fetchall(), most_rows(call.knobs)), cursor.rowcount)


def statements_of(text: str) -> list[str]:
    """The statements of a text: what its semicolons part, but for those in literals, names and comments."""
    parts = [""]
    for piece, is_code in _pieces(text):
        first, *others = piece.split(";") if is_code else [piece]
        parts[-1] += first
        parts += others
    return [part for part in parts if part.strip()]


def psycopg_values(
    statements: list[str], params: dict[str, Json] | list[Json]
) -> tuple[list[str], dict[str, Json] | list[Json]]:
    """Statements and values as psycopg takes them: `$1` of a list, `:name` and `%(name)s` of a mapping are `%(…)s`.

    A percent sign that marks no value is one. Only a list of `%s` stays a list. Raises InvalidFields for a number
    without a value, and where both ways to write a list are mixed.
    """
    pieces = [list(_pieces(text)) for text in statements]
    code = [piece for whole in pieces for piece, is_code in whole if is_code]
    # Older playbooks write `$1` and `%s`, newer `:name`. The driver knows one form, so all become that one, and only
    # in code: a literal may hold any of them.
    numbers = {int(found[1]) for piece in code for found in _NUMBER.finditer(piece)}
    if isinstance(params, list) and numbers:
        if not 1 <= min(numbers) <= max(numbers) <= len(params):
            wrong = min(numbers) if min(numbers) < 1 else max(numbers)
            raise InvalidFields(f"params has {len(params)} values, and the statement asks for ${wrong}")
        if any(_LISTED.search(_NUMBER.sub("", piece)) for piece in code):
            raise InvalidFields("a statement names the values of a list as $1, $2, … or as %s, not as both")
    named = {str(number): params[number - 1] for number in numbers} if isinstance(params, list) else params

    def coded(text: str) -> str:
        if isinstance(params, list):
            return _percents(text, _LISTED) if not numbers else _NUMBER.sub(r"%(\1)s", _percents(text, None))
        return _COLON.sub(lambda hit: f"%({hit[1]})s" if hit[1] in params else hit[0], _percents(text, _KEYED))

    made = ["".join(coded(part) if is_code else _percents(part, None) for part, is_code in whole) for whole in pieces]
    return made, named if numbers or not isinstance(params, list) else params


def _percents(text: str, marks: "re.Pattern[str] | None") -> str:
    """The text with every percent sign doubled, but for those that are, and for what marks a value."""
    return _PERCENT.sub(lambda hit: hit[0] if marks is not None and marks.match(text, hit.start()) else "%%", text)


_PERCENT = re.compile(r"%%?")
_NUMBER = re.compile(r"(?<![\w$])\$(\d{1,5})(?!\w)", re.ASCII)
_COLON = re.compile(r"(?<![:\w)\]]):([A-Za-z_]\w*)", re.ASCII)
_KEYED = re.compile(r"%\([^)]+\)[sbt]")
_LISTED = re.compile(r"%[sbt](?!\w)", re.ASCII)
_TOKEN = re.compile(
    r"""(?P<dollar>(?<![\w$])\$(?:[A-Za-z_]\w*)?\$)|\b[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*""",
    re.DOTALL,
)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and of each whether it is code: literals, quoted names and comments are none."""
    start = 0
    while found := _TOKEN.search(text, start):
        end = found.end()
        if found["dollar"]:
            close = text.find(found["dollar"], end)
            # What is never closed is left to the server, whose message says where it began.
            end = len(text) if close < 0 else close + len(found["dollar"])
        elif found[0] == "/*":
            end = _after_comment(text, end)
        yield text[start : found.start()], True
        yield text[found.start() : end], False
        start = end
    yield text[start:], True


def _after_comment(text: str, position: int) -> int:
    """The offset after the end of a block comment, which may hold others."""
    # PostgreSQL nests comments; the first `*/` need not end this one.
    depth = 1
    while depth:
        opening, closing = text.find("/*", position), text.find("*/", position)
        if closing < 0:
            return len(text)
        depth, position = (depth + 1, opening + 2) if 0 <= opening < closing else (depth - 1, closing + 2)
    return position
