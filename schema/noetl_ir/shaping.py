"""Outcomes that somebody wrote down, with the shape that the tool of their kind gives.

A run over a script, and a proof that makes one, read such an outcome alike: what no tool gives would pass there alone.
What is written is kept; what is left out is as the real tool has it.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, is_retryable

_CODES = {
    "pg": "pg.error", "snowflake": "snowflake.error", "sqlite": "sqlite.error", "duckdb": "duckdb.error",
    "shell": "shell.exit", "container": "container.exit",
}  # fmt: skip
"""Extra → the code of the errors that have it."""

_SQL = frozenset({"postgres", "sqlite", "duckdb", "ducklake", "snowflake"})
_PROGRAMS = frozenset({"shell", "script", "container"})

_SHAPED = _SQL | _PROGRAMS | {"http"}

_OF_RESPONSE = frozenset({"status_code", "headers", "data", "body", "url", "elapsed"})
_OF_PROGRAM = frozenset({"stdout", "stderr", "exit_code"})
_OF_ROWS = frozenset({"rows", "row_count", "columns"})


def shaped_outcome(
    kind: str, fields: Mapping[str, Json], knobs: Mapping[str, Json], outcome: Outcome, now: float
) -> Outcome:
    """The outcome as a tool of a kind gives it, called with rendered fields and knobs; `now` is in seconds.

    Its status may be another one: a response with a status from 400 on is an error, as is a program that ends with a
    code other than 0.
    """
    if kind == "http":
        return _of_http(fields, outcome, now)
    whole = outcome
    if kind in _SQL:
        whole = _of_sql(kind, knobs, outcome)
    elif kind in _PROGRAMS:
        whole = _of_program(kind, outcome)
    if whole.status == "ok":
        return whole
    code = next((code for name, code in _CODES.items() if name in whole.extras), "scripted")
    return _failed(whole, code, "scripted failure")


def is_result_of(kind: str, result: Json) -> bool:
    """Whether a tool of a kind gives such a result with a success; of kinds whose results are free, any."""
    if kind not in _SHAPED:
        return True
    if not isinstance(result, dict):
        return False
    if kind == "http":
        return result.keys() == _OF_RESPONSE and result["data"] == result["body"] and _fits(result)
    if kind in _PROGRAMS:
        return result.keys() == _OF_PROGRAM and _fits(result)
    named = [key for key in result if not key.startswith("command_")]
    rows = result.get("rows")
    return (
        {*named} == _OF_ROWS and isinstance(rows, list) and all(isinstance(row, dict) for row in rows) and _fits(result)
    )


def is_outcome_of_tools(outcome: Outcome) -> bool:
    """Whether a tool may give what an outcome says in its error and in its extras: each key has its type."""
    error = outcome.error or {}
    # Databases number their own codes.
    return (
        isinstance(error.get("code", ""), str)
        and _fits(error)
        and all(isinstance(extra, dict) and _fits(extra) for extra in outcome.extras.values())
    )


def _fits(said: Mapping[str, Json]) -> bool:
    return all(_SHAPES[key](value) for key, value in said.items() if key in _SHAPES)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_status(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


def _is_number_or_null(value: Json) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _are_headers(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


_SHAPES: Mapping[str, Callable[[Json], bool]] = MappingProxyType({
    "code": lambda value: _is_text(value) or _is_whole(value), "message": _is_text, "kind": _is_text, "type": _is_text,
    "retryable": lambda value: isinstance(value, bool), "line": _is_whole,
    "status": _is_status, "status_code": _is_status, "headers": _are_headers, "retry_after": _is_number_or_null,
    "elapsed": lambda value: value is not None and _is_number_or_null(value),
    "stdout": _is_text, "stderr": _is_text, "exit_code": _is_whole, "signal": _is_number_or_null,
    "sqlstate": _is_text, "row_count": _is_whole,
    "columns": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "exception_type": _is_text, "engine": _is_text, "encoding": _is_text,
})  # fmt: skip
"""Key of an error, of an extra or of a result → whether a value has the type that tools give it."""

USUAL: Mapping[str, tuple[Json, ...]] = MappingProxyType({
    "message": ("it went wrong",), "status": (503, 404, 200), "status_code": (503, 404, 200), "exit_code": (1, 0),
    "headers": ({},), "retry_after": (1,), "sqlstate": ("40001",), "stderr": ("it went wrong",),
    "exception_type": ("ValueError",), "retryable": (True, False), "rows": ([{"n": 1}], []),
})  # fmt: skip
"""Values that a key often has, the likeliest first."""


def with_each_statement(
    result: dict[str, Json], results: Sequence[dict[str, Json]], kind: str, knobs: Mapping[str, Json]
) -> dict[str, Json]:
    """The result of a SQL task, with that of each of its statements as `command_N` where the task asks for them.

    A statement that gives no rows has no `rows` there, as old engines had it; duckdb's had `command_N_rows`, too.
    """
    if knobs.get("each_statement") is not True:
        return result
    for number, each in enumerate(results):
        own: dict[str, Json] = {"status": "success", **each}
        if not own["columns"]:
            del own["rows"]
        result[f"command_{number}"] = own
        if kind == "duckdb":
            result[f"command_{number}_rows"] = each["rows"]
    return result


def _failed(outcome: Outcome, code: str, message: str) -> Outcome:
    """A failure that says what the real tool would: what the script leaves out follows from the rest."""
    problem: dict[str, Json] = {"code": code, "message": message, **(outcome.error or {})}
    return outcome._replace(
        status="error",
        error={**problem, "retryable": problem.get("retryable", is_retryable(problem["code"], outcome.extras))},
    )


def _of_http(fields: Mapping[str, Json], outcome: Outcome, now: float) -> Outcome:
    """A response as the tool gives it. An error without a status and without a result got none."""
    from noetl_ir.responses import STATUS, refused_with, retry_after_of, shown_url  # few runs have a script

    written, extra = outcome.result, outcome.extras.get("http")
    extra = dict(extra) if isinstance(extra, dict) else {}
    # A connection that broke has no response to give a shape.
    if outcome.status == "error" and written is None and extra.get("status") is None:
        return _failed(outcome, "scripted", "scripted failure")
    whole: dict[str, Json] = {"data": written}
    if isinstance(written, dict) and written and written.keys() <= _OF_RESPONSE:
        whole = dict(written)
    body = whole.get("data", whole.get("body"))
    status = extra.get("status", whole.get("status_code", 200 if outcome.status == "ok" else 500))
    headers = extra.get("headers", whole.get("headers", {}))
    url = fields.get("url", fields.get("endpoint"))
    shape = {"status_code": status, "headers": headers, "data": body, "body": body, "url": url, "elapsed": 0.0}
    response: dict[str, Json] = {"status": status, "headers": headers, "retry_after": retry_after_of(headers, now)}
    extras = {**outcome.extras, "http": {**response, **extra}}
    whole_outcome = outcome._replace(result={**shape, **whole}, extras=extras)
    if outcome.status == "ok" and not (isinstance(status, int) and status >= 400):
        return whole_outcome
    method = str(fields.get("method") or "GET").upper()
    return _failed(whole_outcome, STATUS, f"{method} {shown_url(str(url))}: {refused_with(status)}")


def _of_program(kind: str, outcome: Outcome) -> Outcome:
    """The output of a program and how it ended, as the tool gives it; a code other than 0 is an error."""
    name = "container" if kind == "container" else "shell"
    written, extra = outcome.result, outcome.extras.get(name)
    extra = dict(extra) if isinstance(extra, dict) else {}
    said = extra.get("exit_code")
    if written is None and (outcome.status == "ok" or said is not None):
        written = {}
    # The author wrote another result on purpose: it is kept as it is, and nothing is made up beside it.
    if not isinstance(written, dict) or not written.keys() <= _OF_PROGRAM:
        return outcome
    whole: dict[str, Json] = {"stdout": "", "stderr": "", "exit_code": 0 if said is None else said, **written}
    ended = whole["exit_code"]
    extras = {**outcome.extras, name: {"exit_code": ended, **extra}}
    return outcome._replace(status=outcome.status if ended == 0 else "error", result=whole, extras=extras)


def _of_sql(kind: str, knobs: Mapping[str, Json], outcome: Outcome) -> Outcome:
    """Rows with their number and columns, and with `command_0` where the task has to tell each statement's."""
    written = outcome.result
    if written is None and outcome.status == "ok":
        written = {"rows": []}
    rows = written.get("rows") if isinstance(written, dict) else None
    if (
        not isinstance(written, dict)
        or not isinstance(rows, list)
        or any(key.startswith("command_") for key in written)
    ):
        return outcome
    columns = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    whole: dict[str, Json] = {"rows": rows, "row_count": len(rows), "columns": [*columns], **written}
    return outcome._replace(result=with_each_statement(dict(whole), [whole], kind, knobs))
