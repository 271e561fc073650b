"""snowflake: SQL against an emulation behind the real connector, and what is asked of the connector (LANGUAGE §7)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_der_private_key

from google_emulator import account, key
from noetl.tools import snowflake as tool
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from snowflake_emulation import Stuck, snowflake
from tool_doubles import FakeEnv, call_of, cancelled, failed, waited

LOGIN: dict[str, Json] = {"sf_account": "a", "sf_user": "u", "sf_password": "p", "database": "db1", "schema": "s1"}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[FakeEnv]:
    with snowflake():
        found = FakeEnv(tmp_path, {"sf": LOGIN})
        made = ask(found, "CREATE TABLE u (id INTEGER, name VARCHAR, note VARCHAR)")
        assert made.status == "ok", made
        yield found


def ask(env: FakeEnv, command: str | None = None, timeout: Json = None, /, **fields: Json) -> Outcome:
    args, knobs = fields.pop("args", {}), fields.pop("knobs", {})
    assert isinstance(args, dict) and isinstance(knobs, dict)
    written: dict[str, Json] = {"auth": "sf", **({"command": command} if command is not None else {}), **fields}
    return waited(tool.run(call_of("snowflake", written, args=args, knobs=knobs, timeout=timeout), env))


def rows(env: FakeEnv, command: str, **fields: Json) -> Json:
    outcome = ask(env, command, **fields)
    assert isinstance(outcome.result, dict), outcome
    return outcome.result["rows"]


def slow_snowflake(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its session."""
    return {"command": "SELECT 1", "auth": {"account": "a", "user": "u", "password": "p"}}


pytestmark = pytest.mark.filterwarnings("ignore:Arrow output")


def test_the_result_is_that_of_the_last_statement(env: FakeEnv) -> None:
    outcome = ask(env, "INSERT INTO u VALUES (1, 'a;b', NULL); -- c;\n SELECT id, name, note FROM u;")
    assert outcome.result == {
        "rows": [{"ID": 1, "NAME": "a;b", "NOTE": None}],
        "row_count": 1,
        "columns": ["ID", "NAME", "NOTE"],
    }
    assert ask(env, "UPDATE u SET note = 'x'").result == {"rows": [], "row_count": 1, "columns": []}
    assert rows(env, "SELECT id FROM u WHERE id = 9") == []
    assert ask(env, "").result == {"rows": [], "row_count": 0, "columns": []}


def test_params_are_bound(env: FakeEnv) -> None:
    evil = "x'; DROP TABLE u; --\\"
    ask(env, table="u", args={"id": 1, "name": evil})
    assert rows(env, "SELECT name FROM u WHERE name = %(n)s", params={"n": evil, "other": 1}) == [{"NAME": evil}]
    assert rows(env, "SELECT name FROM u WHERE name = %s", parameters=[evil]) == [{"NAME": evil}]
    assert failed(ask(env, "SELECT %s; SELECT %s", params=[1]))["code"] == "fields.invalid"


def test_several_statements_are_one_transaction(env: FakeEnv) -> None:
    assert ask(env, "INSERT INTO u (id) VALUES (1); INSERT INTO no_such_table VALUES (1)").status == "error"
    assert ask(env, commands=["INSERT INTO u (id) VALUES (2)", "SELECT no_such_column FROM u"]).status == "error"
    assert rows(env, "SELECT count(*) AS n FROM u") == [{"N": 0}]


def test_the_storage_form(env: FakeEnv) -> None:
    row: dict[str, Json] = {"id": 1, "name": {"deep": [1, None]}}
    assert ask(env, table="u", args=row).result == {"rows": [], "row_count": 1, "columns": []}
    ask(env, table="u", key="id", args={"id": 1, "note": "n"})
    ask(env, table="s1.u", key=["id"], mode="upsert", data=[{"id": 1, "name": "b"}, {"id": 2, "name": None}])
    assert rows(env, "SELECT * FROM u ORDER BY id") == [
        {"ID": 1, "NAME": "b", "NOTE": "n"},
        {"ID": 2, "NAME": None, "NOTE": None},
    ]
    ask(env, table="u", key="id", data=[{"id": 3, "name": "x"}, {"id": 3, "name": "y"}])
    assert rows(env, "SELECT name FROM u WHERE id = 3") == [{"NAME": "y"}]
    ask(env, table="u", mode="replace", data=[{"id": 7}, {"id": 8}])
    assert rows(env, "SELECT id FROM u ORDER BY id") == [{"ID": 7}, {"ID": 8}]
    assert ask(env, table="u", mode="replace", data=[]).status == "ok"
    assert rows(env, "SELECT id FROM u") == []


def test_values_are_what_json_holds(env: FakeEnv) -> None:
    outcome = ask(env, "SELECT 1.50::NUMBER(10,2) AS n, '2026-01-31 12:00:00'::TIMESTAMP AS t, TRUE AS b, NULL AS x")
    pack(outcome.as_json())
    assert isinstance(outcome.result, dict)
    assert outcome.result["rows"] == [{"N": 1.5, "T": "2026-01-31T12:00:00", "B": True, "X": None}]
    assert failed(ask(env, "SELECT 1 UNION SELECT 2", knobs={"max_rows": 1}))["code"] == "rows.too_many"


def test_an_error_names_its_codes(env: FakeEnv) -> None:
    outcome = ask(env, "SELECT * FROM no_such_table")
    assert failed(outcome)["code"] == "snowflake.error"
    assert outcome.extras == {"snowflake": {"code": 2003, "sqlstate": "42S02"}}


@pytest.mark.parametrize(
    "text", ["PUT file:///etc/passwd @s", "SELECT 1;\n -- x\n /* y */ put file://x @s", "GET @s file:///tmp"]
)
def test_files_of_the_worker_stay_out_of_reach(env: FakeEnv, text: str) -> None:
    assert failed(ask(env, text))["code"] == "file.refused"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"command": "SELECT 1", "auth": None}, "fields.invalid"),
        ({"command": "SELECT 1", "auth": {"account": "a", "user": "u"}}, "fields.invalid"),
        ({"command": "SELECT 1", "auth": {"account": "a", "user": "u", "private_key": "x"}}, "fields.invalid"),
        ({"command": "SELECT 1", "auth": "nobody"}, "credential.missing"),
        ({"script": "../x.sql"}, "file.refused"),
        ({}, "fields.invalid"),
    ],
)
def test_what_cannot_be_asked_for(env: FakeEnv, fields: dict[str, Json], code: str) -> None:
    assert failed(ask(env, **fields))["code"] == code


def test_what_the_connector_is_given(env: FakeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def connect(**arguments: Any) -> None:
        from snowflake.connector.errors import DatabaseError

        seen.append(arguments)
        raise DatabaseError("Incorrect username or password was specified.")

    monkeypatch.setattr("snowflake.connector.connect", connect)
    error = failed(ask(env, "SELECT 1", role="r", schema="other"))
    assert (error["code"], error["retryable"]) == ("snowflake.connect", True)
    assert error["message"] == "no connection: Incorrect username or password was specified."
    wanted = {"account": "a", "user": "u", "password": "p", "database": "db1", "schema": "other", "role": "r"}
    assert seen[0].items() >= wanted.items()
    env.credentials["key"] = {"account": "a", "user": "u", "private_key": account("")["private_key"]}
    env.credentials["token"] = {"account": "a", "user": "u", "token": "t"}
    for name in ("key", "token"):
        ask(env, "SELECT 1", auth=name)
    assert load_der_private_key(seen[1]["private_key"], None).private_numbers() == key().private_numbers()  # type: ignore[union-attr]
    assert (seen[2]["token"], seen[2]["authenticator"]) == ("t", "oauth")


@pytest.mark.parametrize("how", ["late", "cancelled"])
def test_what_a_session_runs_is_cancelled(env: FakeEnv, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    made: list[Stuck] = []

    def connect(**_: object) -> Stuck:
        made.append(Stuck())
        return made[-1]

    monkeypatch.setattr("snowflake.connector.connect", connect)
    if how == "late":
        assert failed(ask(env, "SELECT 1", 0.2))["code"] == "timeout"
    else:
        call = call_of("snowflake", {"auth": "sf", "command": "SELECT 1"})
        waited(cancelled(tool.run(call, env), lambda: bool(made) and made[0].running.is_set()))
    assert made[0].cancelled.is_set() and made[0].closed.is_set()
