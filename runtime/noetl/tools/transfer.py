"""transfer: rows from one database or file into another (LANGUAGE §7).

A database is read and written by the tool of its kind, with its rules for credentials, folders and transactions; a
failure is that tool's, with the side named. All rows are read before the first is written, and written in one
transaction, so that a repeat after a crash finds all or none. Values travel as results have them: dates as ISO text,
bytes as base64 text.
Error codes: those of the two kinds, `rows.too_many`, `timeout`, `file.refused`, `fields.invalid`.
"""

import asyncio
import csv
import io
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from types import FunctionType

from noetl.contents import json_of
from noetl.files import Refused, inside, read_file, write_file
from noetl.ports import Call, Env
from noetl.rows import TooMany, most_rows
from noetl_ir import registry
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.transfer import KIND
from noetl_ir.outcome import Outcome, error, ok

DATABASES = ("postgres", "duckdb", "sqlite", "snowflake")
FORMATS = ("csv", "json", "jsonl")
FILE_BYTES = 256 * 1024 * 1024
_SHORT = {"pg": "postgres", "postgresql": "postgres", "sf": "snowflake", "ndjson": "jsonl"}

Side = dict[str, Json]
Rows = list[dict[str, Json]]


class Invalid(Exception):
    """A side that cannot be used; the text says why, in plain words."""


class Failed(Exception):
    """The tool of a side failed; `outcome` says so."""

    def __init__(self, side: str, outcome: Outcome) -> None:
        message = (outcome.error or {}).get("message")
        self.outcome = Outcome("error", None, outcome.error, outcome.extras).with_detail(message=f"{side}: {message}")


async def run(call: Call, env: Env) -> Outcome:
    """Copy the rows."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        source, target = _sides(call.fields)
        mode = str(call.fields.get("mode") or target.pop("mode", None) or ("upsert" if target.get("key") else "append"))
        async with asyncio.timeout(seconds):
            rows, columns = await _read(source, call, env)
            await _write(target, rows, "append" if mode == "insert" else mode, call, env)
    except Failed as problem:
        return problem.outcome
    except Invalid as problem:
        return error("fields.invalid", str(problem))
    except Refused as problem:
        return error("file.refused", str(problem))
    except TooMany as problem:
        return error("rows.too_many", str(problem))
    except TimeoutError:
        return error("timeout", f"the transfer took longer than {seconds:g} s", retryable=True)
    return ok({"rows_transferred": len(rows), "columns": columns})


def _sides(fields: dict[str, Json]) -> tuple[Side, Side]:
    """Source and target, each with its kind and credential. Raises Invalid."""
    kinds = str(fields.get("direction") or "").split("_to_")
    auth = fields.get("auth")
    found = []
    for place, name in enumerate(("source", "target")):
        given = fields[name]
        side = dict(given) if isinstance(given, dict) else {}
        kind = side.pop("kind", None) or side.pop("type", None) or (kinds[place] if len(kinds) == 2 else None)
        side.pop("type", None)
        kind = _SHORT.get(str(kind), str(kind))
        if kind not in (*DATABASES, "file"):
            raise Invalid(f"{name}: kind must be {', '.join(DATABASES)} or file")
        own = auth.get(name) if isinstance(auth, dict) else auth
        if own is not None and kind != "file":
            side.setdefault("auth", own)
        found.append({**side, "kind": kind})
    return found[0], found[1]


async def _read(side: Side, call: Call, env: Env) -> tuple[Rows, list[Json]]:
    """All rows of a side, and their columns. Raises Failed, Invalid, Refused, TooMany."""
    if side["kind"] == "file":
        rows = await asyncio.to_thread(_rows_of, side, env.root())
        if len(rows) > (most := most_rows(call.knobs)):
            raise TooMany(f"the file has more than {most} rows")
        return rows, list(dict.fromkeys(column for row in rows for column in row))
    if "table" in side:
        raise Invalid("source: a table is read by a query")
    result = (await _asked("source", side, call, env)).result
    assert isinstance(result, dict)
    found, columns = result["rows"], result["columns"]
    assert isinstance(found, list) and isinstance(columns, list)
    return [row for row in found if isinstance(row, dict)], columns


async def _write(side: Side, rows: Rows, mode: str, call: Call, env: Env) -> None:
    """Write all rows, or none. Raises Failed, Invalid, Refused."""
    if side["kind"] == "file":
        return _write_file(side, rows, mode, env.root())
    if side.get("table") is None:
        raise Invalid("target: the table is missing")
    if mode == "upsert" and side.get("key") is None:
        raise Invalid("target: mode upsert needs key")
    if rows or mode == "replace":
        await _asked("target", {**side, "mode": mode, "data": list(rows)}, call, env)
    return None


async def _asked(name: str, side: Side, call: Call, env: Env) -> Outcome:
    """What the tool of a side's kind makes of its fields. Raises Failed."""
    kind = str(side["kind"])
    tool: Callable[[Call, Env], Awaitable[Outcome]] = registry.load("noetl.tools", kind, "run", FunctionType)
    fields = {field: value for field, value in side.items() if field != "kind"}
    outcome = await tool(call._replace(kind=kind, fields=fields, args={}), env)
    if outcome.status != "ok":
        raise Failed(name, outcome)
    return outcome


def _place(side: Side, root: str) -> tuple[str, str]:
    """A file's path and format. Raises Invalid, Refused."""
    if unknown := side.keys() - {"kind", "path", "file", "format"}:
        raise Invalid(f"a file has no {sorted(unknown)[0]!r}")
    path = side.get("path", side.get("file"))
    if not isinstance(path, str) or not path:
        raise Invalid("a file needs path")
    form = str(side.get("format") or path.rpartition(".")[2].lower())
    form = _SHORT.get(form, form)
    if form not in FORMATS:
        raise Invalid(f"format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return inside(root, path), form


def _rows_of(side: Side, root: str) -> Rows:
    """The rows of a file. Raises Invalid, Refused."""
    path, form = _place(side, root)
    data = read_file(path, FILE_BYTES)
    try:
        text = data.decode("utf-8-sig")
        match form:
            case "csv":
                found: Sequence[Json] = [
                    dict(row) for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)
                ]
            case "json":
                whole = json_of(text.encode())
                found = whole if isinstance(whole, list) else [whole]
            case _:
                found = [json_of(line.encode()) for line in text.splitlines() if line.strip()]
    except (ValueError, csv.Error) as problem:
        raise Refused(f"{path!r} is no {form}: {problem}") from None
    rows = [row for row in found if isinstance(row, dict) and None not in row]
    if len(rows) != len(found):
        raise Refused(f"{path!r}: each row must be a mapping, with a value for each column")
    return rows


def _write_file(side: Side, rows: Rows, mode: str, root: str) -> None:
    """Write a file whole, or not at all; `append` keeps what it has."""
    if mode == "upsert":
        raise Invalid("target: a file cannot be upserted")
    path, form = _place(side, root)
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
