"""Parts that the SQL tools share: the statements of a task, values for the driver, and rows as a result.

A row is a mapping by column; a second column of one name gets `_2` and so on, so that no value is hidden.
Values become what JSON can hold: a decimal is a number where a number holds it exactly, else text; dates and
times are ISO text, an interval is its seconds, bytes are base64 text, NaN and infinities are text.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from noetl.host.confined_files import FileRefused, script_text
from noetl.ports import InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, error
from noetl_ir.records import NamedTuple
from noetl_ir.shaping import with_each_statement

TEXTS = ("command", "query", "sql", "statement", "code")
MOST_ROWS = 1_000_000


class TooManyRows(Exception):
    """A result with more rows than `max_rows`; the text says how many were allowed."""


UNUSABLE = (FileRefused, InvalidFields, TooManyRows)
"""What a SQL task may ask for and not get, whichever database it asks."""

_CODES = {FileRefused: "file.refused", InvalidFields: "fields.invalid", TooManyRows: "rows.too_many"}


def refusal(problem: Exception) -> Outcome:
    """The outcome of a task that asked for something of `UNUSABLE`."""
    return error(_CODES[type(problem)], str(problem))


def message_line(problem: Exception) -> str:
    """The message of a database on one line: its lines joined, but for those that only point at a column."""
    lines = [" ".join(line.split()) for line in str(problem).splitlines()]
    return "; ".join(line for line in lines if line.strip("^ "))


class Writing(NamedTuple):
    """The storage form of a task: `rows` of one table's columns, upserted where `key` names columns.

    `replaces`: they take the place of all rows that were there; only then there may be none.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...]
    replaces: bool = False


def texts_of(fields: Mapping[str, Json], root: str, folder: str = "") -> tuple[str, ...]:
    """The SQL texts of a task in order; each may hold several statements. `folder` is that of the playbook.

    Raises InvalidFields, FileRefused.
    """
    commands = fields.get("commands")
    if isinstance(commands, list):
        if not commands or not all(isinstance(text, str) for text in commands):
            raise InvalidFields("commands must be a list of texts")
        return tuple(str(text) for text in commands)
    if isinstance(commands, str):
        return (commands,)
    if isinstance(encoded := fields.get("command_b64"), str):
        return (_decoded(encoded),)
    if fields.get("script") is not None:
        return (script_text(root, fields["script"], folder),)
    return tuple(str(fields[name]) for name in TEXTS if fields.get(name) is not None)


def parameters_of(fields: Mapping[str, Json], bound: Callable[[Json], Json]) -> dict[str, Json] | list[Json] | None:
    """The values to bind, each as `bound` makes it; None where the task binds none."""
    params = fields.get("params")
    params = fields.get("parameters") if params is None else params
    match params:
        case dict():
            return {name: bound(value) for name, value in params.items()}
        case list():
            return [bound(value) for value in params]
    return None


def _json(value: Json) -> str:
    import json  # a script takes this module along at every start

    return json.dumps(value, ensure_ascii=False)


def bindable(value: Json) -> Json:
    """A value as every driver takes it: a mapping or list as JSON text."""
    return _json(value) if isinstance(value, dict | list) else value


def bindable_array(value: Json) -> Json:
    """A value for a driver that knows arrays: only a mapping is JSON text."""
    return _json(value) if isinstance(value, dict) else value


def writing_of(fields: Mapping[str, Json], args: Mapping[str, Json]) -> Writing | None:
    """The storage form where `table` is given: writes `data`, else the task's args. Raises InvalidFields."""
    if fields.get("table") is None:
        return None
    data = fields["data"] if fields.get("data") is not None else dict(args)
    rows = data if isinstance(data, list) else [data]
    mappings = [row for row in rows if isinstance(row, dict) and row]
    mode = fields.get("mode")
    if len(mappings) != len(rows) or not (mappings or mode == "replace"):
        raise InvalidFields("the rows to write must be mappings with at least one column")
    columns = tuple(dict.fromkeys(column for row in mappings for column in row))
    key = fields.get("key")
    keys = tuple(str(name) for name in key) if isinstance(key, list) else (str(key),) if key is not None else ()
    mode = mode or ("upsert" if keys else "insert")
    if mode == "upsert" and not keys:
        raise InvalidFields("mode upsert needs key")
    if mode == "upsert" and not set(keys) <= set(columns):
        # The database would say so too, but as an error of its own for each kind of database, after a transaction was
        # begun.
        raise InvalidFields("key names a column that is not written")
    values = tuple(tuple(bindable(row.get(column)) for column in columns) for row in mappings)
    return Writing(str(fields["table"]), keys if mode == "upsert" else (), columns, values, mode == "replace")


def insert_text(writing: Writing, placeholder: str) -> str:
    """The INSERT of one row, every identifier quoted, with the driver's placeholders."""
    columns = ", ".join(map(quoted, writing.columns))
    marks = ", ".join([placeholder] * len(writing.columns))
    table = ".".join(map(quoted, writing.table.split(".")))
    text = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
    if not writing.key:
        return text
    # A table all of whose columns are its key has nothing to update: a row that is there is the same row.
    changes = [f"{quoted(name)} = excluded.{quoted(name)}" for name in writing.columns if name not in writing.key]
    action = f"DO UPDATE SET {', '.join(changes)}" if changes else "DO NOTHING"
    return f"{text} ON CONFLICT ({', '.join(map(quoted, writing.key))}) {action}"


def emptying_text(writing: Writing) -> str:
    """The DELETE of all rows, every identifier quoted."""
    return f"DELETE FROM {'.'.join(map(quoted, writing.table.split('.')))}"


def most_rows(knobs: Mapping[str, Json]) -> int:
    """How many rows a result may have."""
    limit = knobs.get("max_rows")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else MOST_ROWS


def first_rows(rows: Iterable[Sequence[object]], most: int) -> Iterator[Sequence[object]]:
    """The rows one by one; raises TooManyRows after the last that is allowed."""
    for number, row in enumerate(rows, start=1):
        # Counted while they come: a result of a hundred million rows would be in memory before anybody could say that
        # it is too large.
        if number > most:
            raise TooManyRows(f"the result has more than {most} rows")
        yield row


def quoted(identifier: str) -> str:
    """An identifier as SQL text that can mean nothing else. Raises InvalidFields for one that no database takes."""
    if not identifier or "\0" in identifier:
        raise InvalidFields("a table or column has no usable name")
    return '"' + identifier.replace('"', '""') + '"'


def rows_result(columns: Sequence[str], rows: Iterable[Sequence[object]], count: int) -> dict[str, Json]:
    """The result of a statement: `count` is what the driver says it changed, for one that gives no rows."""
    names = _distinct(columns)
    found: list[Json] = [{name: json_of(value) for name, value in zip(names, row, strict=True)} for row in rows]
    return {"rows": found, "row_count": len(found) if names else max(count, 0), "columns": list(names)}


def result_of(results: Sequence[dict[str, Json]], call: ToolCall) -> dict[str, Json]:
    """The result of a task: that of its last statement, and each one's where the task asks for them."""
    found = dict(results[-1]) if results else rows_result((), (), 0)
    return with_each_statement(found, results, call.kind, call.knobs)


def json_of(value: object) -> Json:
    """A driver's value as JSON can hold it, by what it can do: this module imports no driver."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _unreal(value)
        case bytes() | bytearray() | memoryview():
            from base64 import b64encode

            return b64encode(bytes(value)).decode("ascii")
        case Mapping():
            return {str(name): json_of(entry) for name, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_of(entry) for entry in value]
    for name in ("isoformat", "total_seconds", "as_integer_ratio"):
        if (method := getattr(value, name, None)) is not None:
            return json_of(method()) if name != "as_integer_ratio" else _number(value)
    return str(value)


def _number(value: object) -> Json:
    """A decimal as a number where that loses nothing, else as its text (`NaN`, or more digits than fit)."""
    from decimal import Decimal

    if not isinstance(value, Decimal) or not value.is_finite():
        return str(value)
    # `1E+1000000` is a whole number too, and would be a million digits.
    if value == value.to_integral_value() and abs(value) < Decimal(10) ** 40:
        return int(value)
    near = float(value)
    # A price of 0.1 is kept as the number 0.1: it is compared with what the number is written as, not with its binary
    # value.
    return near if Decimal(repr(near)) == value else str(value)


def _unreal(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _decoded(encoded: str) -> str:
    from base64 import b64decode

    try:
        # Without `validate` everything that is no base64 is skipped, and another statement would run than was
        # written.
        return b64decode(encoded, validate=True).decode("utf-8")
    except ValueError:
        raise InvalidFields("command_b64 is not base64 of UTF-8 text") from None


def _distinct(columns: Sequence[str]) -> tuple[str, ...]:
    taken: dict[str, None] = {}
    for column in columns:
        name, number = column, 2
        # A name made for the second column may be a third one's own.
        while name in taken:
            name, number = f"{column}_{number}", number + 1
        taken[name] = None
    return tuple(taken)
