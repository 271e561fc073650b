"""transfer: rows from a database, a file or a web server into a database or file (LANGUAGE §7).

A database is read and written by the tool of its kind, with its rules for credentials, folders and transactions, and a
server is asked by the tool `http`; a failure is that tool's, with the side named. What the server sends is JSON, JSON
lines or CSV: by `format`, else its content type, else the end of its address, else by how it begins. All rows are read
before the first is written, and written in one transaction, so that a repeat after a crash finds all or none. Values
travel as results have them: dates as ISO text, bytes as base64 text.
Error codes: those of the two kinds, `rows.too_many`, `timeout`, `file.refused`, `fields.invalid`, `transfer.rows` (what
a server sent is no rows).
"""

import asyncio
import csv
import io
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from types import FunctionType

from noetl.clients.auth import name_in
from noetl.clients.content import json_of
from noetl.clients.sql_results import TooManyRows, most_rows
from noetl.host.confined_files import FileRefused, inside, read_file, write_file
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir import registry
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.transfer import KIND
from noetl_ir.outcome import Outcome, error, ok

DATABASES = ("postgres", "duckdb", "sqlite", "snowflake")
FORMATS = ("csv", "json", "jsonl")
FILE_BYTES = 256 * 1024 * 1024
_TYPES = {
    "text/csv": "csv",
    "application/csv": "csv",
    "application/x-ndjson": "jsonl",
    "application/ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/json": "json",
}
"""Content type → format."""
_SHORT = {"pg": "postgres", "postgresql": "postgres", "sf": "snowflake", "ndjson": "jsonl"}

Side = dict[str, Json]
Rows = list[dict[str, Json]]


class NoRows(Exception):
    """Data that is no rows; the text says why."""


class SideFailed(Exception):
    """The tool of a side failed; `outcome` says so."""

    def __init__(self, side: str, outcome: Outcome) -> None:
        message = (outcome.error or {}).get("message")
        self.outcome = Outcome("error", None, outcome.error, outcome.extras).with_detail(message=f"{side}: {message}")


async def run(call: ToolCall, env: Env) -> Outcome:
    """Copy the rows."""
    # The tool may be called by another one with fields of its own making, so it looks itself.
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        source, target = _sides(call.fields)
        mode = str(call.fields.get("mode") or target.pop("mode", None) or ("upsert" if target.get("key") else "append"))
        async with asyncio.timeout(seconds):
            rows, columns = _mapped(await _read(source, call, env), target.pop("mapping", None))
            await _write(target, rows, "append" if mode == "insert" else mode, call, env)
    except SideFailed as problem:
        return problem.outcome
    except InvalidFields as problem:
        return error("fields.invalid", str(problem))
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except NoRows as problem:
        return error("transfer.rows", str(problem))
    except TooManyRows as problem:
        return error("rows.too_many", str(problem))
    except TimeoutError:
        return error("timeout", f"the transfer took longer than {seconds:g} s")
    return ok({"rows_transferred": len(rows), "columns": columns})


def _sides(fields: dict[str, Json]) -> tuple[Side, Side]:
    """Source and target, each with its kind and credential. Raises InvalidFields."""
    kinds = str(fields.get("direction") or "").split("_to_")
    auth = fields.get("auth")
    found = []
    for place, name in enumerate(("source", "target")):
        value = fields[name]
        side = dict(value) if isinstance(value, dict) else {}
        said = [side.pop(word, None) for word in ("kind", "type", "tool")]
        kind = next((word for word in said if word is not None), kinds[place] if len(kinds) == 2 else None)
        kind = _SHORT.get(str(kind), str(kind))
        if kind not in (known := (*DATABASES, "http", "file") if name == "source" else (*DATABASES, "file")):
            raise InvalidFields(f"{name}: kind must be {', '.join(known[:-1])} or {known[-1]}")
        whole = name_in(auth)
        own: Json = whole if kind != "http" else None  # what is for a database is not for a server to see
        if whole is None and isinstance(auth, dict):
            own = auth.get(name)
        if own is not None and kind != "file":
            side.setdefault("auth", own)
        found.append({**side, "kind": kind})
    return found[0], found[1]


async def _read(side: Side, call: ToolCall, env: Env) -> tuple[Rows, list[Json]]:
    """All rows of a side, and their columns. Raises Failed, InvalidFields, NoRows, FileRefused, TooManyRows."""
    if side["kind"] in ("file", "http"):
        if side["kind"] == "http":
            rows = await _http_rows(side, call, env)
        else:
            rows = await asyncio.to_thread(_rows_of, side, env.root())
        if len(rows) > (most := most_rows(call.knobs)):
            raise TooManyRows(f"the source has more than {most} rows")
        return rows, list(dict.fromkeys(column for row in rows for column in row))
    # With `table` the tools write: handed on as it is, it would have the source written to.
    if "table" in side:
        raise InvalidFields("source: a table is read by a query")
    result = (await _asked("source", side, call, env)).result
    assert isinstance(result, dict)
    found, columns = result["rows"], result["columns"]
    assert isinstance(found, list) and isinstance(columns, list)
    return [row for row in found if isinstance(row, dict)], columns


async def _http_rows(side: Side, call: ToolCall, env: Env) -> Rows:
    """The rows that a server sends. Raises Failed, InvalidFields, NoRows."""
    form = side.pop("format", None)
    outcome = await _asked("source", side, call, env)
    result, extra = outcome.result, outcome.extras["http"]
    assert isinstance(result, dict) and isinstance(extra, dict)
    headers = result["headers"]
    assert isinstance(headers, dict)
    data, how = result["data"], extra["encoding"]
    if form is None:
        kind = str(headers.get("content-type", "")).partition(";")[0].strip().lower()
        ending = str(result["url"]).partition("?")[0].rpartition(".")[2].lower()
        form = (
            "json" if how == "json" else _TYPES.get(kind) or (ending if _SHORT.get(ending, ending) in FORMATS else None)
        )
    form = None if form is None else _SHORT.get(str(form), str(form))
    if form not in (None, *FORMATS):
        raise InvalidFields(f"source: format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    try:
        if how == "none":
            return []
        if how == "json":
            if form not in (None, "json", "jsonl"):
                raise ValueError("it is JSON")
            found: Sequence[Json] = data if isinstance(data, list) else [data]
        elif how == "text":
            found = _parsed(str(data), form)
        else:
            raise ValueError("it is no text")
    except (ValueError, csv.Error) as problem:
        raise NoRows(f"source: what the server sent is no {form or ' or '.join(FORMATS)}: {problem}") from None
    return _checked(
        found, NoRows("source: each row that the server sends must be a mapping, with a value for each column")
    )


def _mapped(read: tuple[Rows, list[Json]], mapping: Json) -> tuple[Rows, list[Json]]:
    """The rows with the target's columns, where `mapping` says which key each is taken from. Raises InvalidFields."""
    if mapping is None:
        return read
    if not isinstance(mapping, dict) or not mapping or not all(isinstance(key, str) for key in mapping.values()):
        raise InvalidFields("target: mapping must be {column: key of a row}")
    rows, made = read[0], []
    for row in rows:
        made.append({column: _found(row, str(key)) for column, key in mapping.items()})
    for column, key in mapping.items():
        # A key that no row has is a slip in the mapping. One that some rows lack is null there, as a column may be.
        if rows and all(_found(row, str(key), _MISSING) is _MISSING for row in rows):
            raise InvalidFields(f"target: mapping: no row has {key!r}, which {column!r} is to be taken from")
    return made, list(mapping)


_MISSING: Json = {}


def _found(row: Json, key: str, otherwise: Json = None) -> Json:
    """The value that a row has under a key, or under a dotted path; `otherwise` where it has nothing there."""
    if isinstance(row, dict) and key in row:
        return row[key]
    for name in key.split("."):
        if not isinstance(row, dict) or name not in row:
            return otherwise
        row = row[name]
    return row


async def _write(side: Side, rows: Rows, mode: str, call: ToolCall, env: Env) -> None:
    """Write all rows, or none. Raises Failed, InvalidFields, FileRefused."""
    if side["kind"] == "file":
        return _write_file(side, rows, mode, env.root())
    if side.get("table") is None:
        raise InvalidFields("target: the table is missing")
    if mode == "upsert" and side.get("key") is None:
        raise InvalidFields("target: mode upsert needs key")
    # Nothing to write is nothing to do, except where what was there has to go.
    if rows or mode == "replace":
        await _asked("target", {**side, "mode": mode, "data": list(rows)}, call, env)
    return None


async def _asked(name: str, side: Side, call: ToolCall, env: Env) -> Outcome:
    """The outcome that the tool of a side's kind makes of its fields. Raises Failed."""
    kind = str(side["kind"])
    # Loaded by its name, since a tool may not import another one: each stands alone, and its driver is an extra.
    tool: Callable[[ToolCall, Env], Awaitable[Outcome]] = registry.load("noetl.tools", kind, "run", FunctionType)
    fields = {field: value for field, value in side.items() if field != "kind"}
    outcome = await tool(call._replace(kind=kind, fields=fields, args={}), env)
    if outcome.status != "ok":
        raise SideFailed(name, outcome)
    return outcome


def _place(side: Side, root: str) -> tuple[str, str]:
    """A file's path and format. Raises InvalidFields, FileRefused."""
    if unknown := side.keys() - {"kind", "path", "file", "format"}:
        raise InvalidFields(f"a file has no {sorted(unknown)[0]!r}")
    path = side.get("path", side.get("file"))
    if not isinstance(path, str) or not path:
        raise InvalidFields("a file needs path")
    form = str(side.get("format") or path.rpartition(".")[2].lower())
    form = _SHORT.get(form, form)
    if form not in FORMATS:
        raise InvalidFields(f"format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return inside(root, path), form


def _rows_of(side: Side, root: str) -> Rows:
    """The rows of a file. Raises InvalidFields, FileRefused."""
    path, form = _place(side, root)
    data = read_file(path, FILE_BYTES)
    try:
        # Spreadsheets put a byte order mark in front, which would be part of the first column's name.
        found = _parsed(data.decode("utf-8-sig"), form)
    except (ValueError, csv.Error) as problem:
        raise FileRefused(f"{path!r} is no {form}: {problem}") from None
    return _checked(found, FileRefused(f"{path!r}: each row must be a mapping, with a value for each column"))


def _parsed(text: str, form: str | None) -> Sequence[Json]:
    """The rows of a text; what begins like JSON is JSON where no format is said. Raises ValueError, csv.Error."""
    if form is None and text.lstrip()[:1] in ("[", "{"):
        try:
            return _parsed(text, "json")
        except ValueError:
            # JSON lines begin with `{` too. As a whole they are no JSON, as there is more behind the first value.
            form = "jsonl"
    match form:
        case "json":
            whole = json_of(text.encode())
            return whole if isinstance(whole, list) else [whole]
        case "jsonl":
            return [json_of(line.encode()) for line in text.split("\n") if line.strip()]
    return [dict(row) for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)]


def _checked(found: Sequence[Json], problem: Exception) -> Rows:
    """The rows, each a mapping with a value for each column. Raises the problem."""
    # `csv.DictReader` keeps the cells of a row that is too long under None: a comma that nobody quoted, and every
    # value behind it in the wrong column.
    rows = [row for row in found if isinstance(row, dict) and None not in row]
    if len(rows) != len(found):
        raise problem
    return rows


def _write_file(side: Side, rows: Rows, mode: str, root: str) -> None:
    """Write a file whole, or not at all; `append` keeps what it has."""
    if mode == "upsert":
        raise InvalidFields("target: a file cannot be upserted")
    path, form = _place(side, root)
    # Written whole again: a crash in the middle of an append would leave half a row.
    kept = _rows_of(side, root) if mode == "append" and os.path.exists(path) else []
    rows = [*kept, *rows]
    out = io.StringIO(newline="")
    match form:
        case "csv":
            columns = dict.fromkeys(column for row in rows for column in row)
            writer = csv.DictWriter(out, list(columns), lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
        case "json":
            json.dump(rows, out, ensure_ascii=False)
        case _:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_file(path, out.getvalue().encode("utf-8", "surrogatepass"))


def _cell(value: Json) -> Json:
    """A value in CSV: null is an empty cell, a list or mapping is JSON text."""
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False)
    return value
