"""Outcomes in scripts: what one leaves out is as the real tool has it; a key that no outcome has is refused."""

import json

import pytest

from harness.running import run
from noetl.worker.scripted import ScriptError, read_script
from noetl_ir.expr import Json
from noetl_ir.outcome import error, is_retryable

FIELDS = {
    "postgres": "query: select 1, auth: x",
    "sqlite": "query: select 1",
    "duckdb": "query: select 1",
    "snowflake": "query: select 1, auth: x",
    "http": "url: 'http://x/y?token=1'",
    "shell": "command: ls",
}


def failure(kind: str, outcome: Json) -> dict[str, Json]:
    """The error that the only task of a playbook fails with."""
    playbook = f"workflow:\n  - {{step: start, tool: {{kind: {kind}, {FIELDS[kind]}}}}}\n"
    ran = run(playbook, json.dumps({"outcomes": [{"step": "start", "outcome": outcome}]}))
    assert ran.status == "failed"
    found: dict[str, Json] = ran.of("task.done")[-1].data["outcome"]["error"]
    return found


@pytest.mark.parametrize(
    ("kind", "outcome", "code", "again"),
    [
        # RFC 9110 15.5.9, RFC 8470, RFC 6585; all from 500 on.
        ("http", {"http": {"status": 503}}, "http.status", True),
        ("http", {"status": "error", "http": {"status": 404}}, "http.status", False),
        ("http", {"status": "ok", "result": {"status_code": 429}}, "http.status", True),
        ("http", {"error": {"code": "http.connect"}}, "http.connect", True),
        ("http", {"error": {"code": "http.too_large"}}, "http.too_large", False),
        # PostgreSQL, appendix A: serialization_failure, deadlock_detected; unique_violation.
        ("postgres", {"status": "error", "pg": {"code": "40001", "sqlstate": "40001"}}, "pg.error", True),
        ("postgres", {"status": "error", "pg": {"code": "23505", "sqlstate": "23505"}}, "pg.error", False),
        ("postgres", {"error": {"code": "pg.connect"}}, "pg.connect", True),
        ("sqlite", {"status": "error", "sqlite": {"code": "SQLITE_BUSY"}}, "sqlite.error", True),
        ("sqlite", {"status": "error", "sqlite": {"code": "SQLITE_CONSTRAINT"}}, "sqlite.error", False),
        ("duckdb", {"status": "error", "duckdb": {"code": "TransactionException"}}, "duckdb.error", True),
        ("snowflake", {"error": {"code": "timeout"}}, "timeout", True),
        ("shell", {"result": {"exit_code": 3}}, "shell.exit", False),
        ("shell", {"shell": {"exit_code": 3}}, "shell.exit", False),
        ("shell", {"error": {"code": "timeout"}}, "timeout", True),
        ("snowflake", {"status": "error"}, "scripted", False),
        ("postgres", {"error": {"code": "pg.connect", "retryable": False}}, "pg.connect", False),
        ("postgres", {"error": "it broke"}, "scripted", False),
    ],
)
def test_an_error_is_retryable_where_that_of_the_tool_is(kind: str, outcome: Json, code: str, again: bool) -> None:
    found = failure(kind, outcome)
    assert (found["code"], found["retryable"]) == (code, again)


def test_the_message_of_an_answer_is_that_of_the_tool_and_shows_no_query() -> None:
    assert (
        failure("http", {"http": {"status": 503}})["message"] == "GET http://x/y: the server answered with status 503"
    )


def test_a_tool_may_know_better_whether_it_is_retryable() -> None:
    assert error("timeout", "x", retryable=False).error == {"code": "timeout", "message": "x", "retryable": False}
    assert not is_retryable("http.status", {"http": {"status": True}})


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ({"status": "error", "code": "x"}, "outcome 0: `code` belongs into `error`: `outcome: {error: {code: …}}`"),
        ({"retryable": True}, "outcome 0: `retryable` belongs into `error`"),
        ({"resault": 1}, "outcome 0: an outcome has no `resault`; known are status, result, error, meta, container,"),
        ({"status": "ok", "error": {}}, "outcome 0: an outcome with status `ok` has no `error`"),
    ],
)
def test_what_no_outcome_has_is_refused(outcome: Json, told: str) -> None:
    with pytest.raises(ScriptError) as problem:
        read_script({"outcomes": [{"step": "start", "outcome": outcome}]})
    assert str(problem.value).startswith(told)


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ("text", "text"),
        ({"items": [1]}, {"items": [1]}),
        ({"data": [1], "next": "b"}, {"data": [1], "next": "b"}),
        ({"data": [1]}, [1]),
        ({"status_code": 201, "data": {"data": 1}}, {"data": 1}),
    ],
)
def test_a_result_of_http_is_a_body_unless_it_has_only_keys_of_a_response(result: Json, body: Json) -> None:
    playbook = "workflow:\n  - {step: start, tool: {kind: http, url: 'http://x/y'}}\n"
    done = run(playbook, json.dumps({"outcomes": [{"step": "start", "outcome": {"result": result}}]})).result("start")
    assert set(done) == {"status_code", "headers", "data", "body", "url", "elapsed"}
    assert done["data"] == done["body"] == body


@pytest.mark.parametrize(
    ("kind", "result", "whole"),
    [
        ("sqlite", {"rows": [{"a": 1}]}, {"rows": [{"a": 1}], "row_count": 1, "columns": ["a"]}),
        ("sqlite", None, {"rows": [], "row_count": 0, "columns": []}),
        ("shell", {"stdout": "x"}, {"stdout": "x", "stderr": "", "exit_code": 0}),
        ("shell", None, {"stdout": "", "stderr": "", "exit_code": 0}),
    ],
)
def test_a_result_is_completed_to_what_the_kind_gives(kind: str, result: Json, whole: Json) -> None:
    playbook = f"workflow:\n  - {{step: start, tool: {{kind: {kind}, {FIELDS[kind]}}}}}\n"
    ran = run(playbook, json.dumps({"outcomes": [{"step": "start", "outcome": {"result": result}}]}))
    assert ran.result("start") == whole


def test_a_task_that_the_script_does_not_list_says_what_to_write() -> None:
    ran = run("workflow:\n  - {step: start, tool: {kind: python, code: result = 1}}\n", "{outcomes: []}")
    assert ran.of("task.done")[-1].data["outcome"]["error"]["message"] == (
        "the script has no outcome for step `start`, task `start_task`, attempt 1, and `python` does not run beside "
        "one; list what it gives: `- {step: start, task: start_task, outcome: {result: …}}`"
    )


LIMITS = {"executor": "3", "kind": "3", "step": "3", "loop": "3", "task": "3"}


@pytest.mark.parametrize("least", LIMITS)
def test_an_attempt_that_takes_longer_than_it_may_is_over_then(least: str) -> None:
    """As with a real tool: the limit counts that is written nearest to the task."""
    order = [*LIMITS]
    of = {place: "20" if order.index(place) < order.index(least) else "" for place in order} | {least: "3"}
    spec = {place: f"timeout: {seconds}" if seconds else "" for place, seconds in of.items()}
    kinds = f"tasks: {{http: {{spec: {{{spec['kind']}}}}}}}"
    executor = ", ".join(each for each in (spec["executor"], kinds) if each)
    playbook = f"""
executor: {{spec: {{{executor}}}}}
workflow:
  - step: start
    spec: {{{spec["step"]}}}
    loop: {{in: [1], iterator: i, spec: {{{spec["loop"]}}}}}
    tool: {{kind: http, url: "http://x/y", spec: {{{spec["task"]}}}}}
"""
    script = {"outcomes": [{"step": "start", "takes": 10, "outcome": {"result": 1}}]}
    ran = run(playbook, script)
    [done] = ran.of("task.done")
    error = done.data["outcome"]["error"]
    assert (ran.status, error["code"], done.ts) == ("failed", "timeout", 3_000_000)
    assert error["message"] == "the attempt was not done within 3 s"
    longer = run(playbook.replace("timeout: 3", "timeout: 11"), script)
    assert (longer.status, longer.of("task.done")[0].ts) == ("completed", 10_000_000)
