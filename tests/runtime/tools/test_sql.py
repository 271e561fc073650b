"""sqlite, duckdb and postgres against real databases, one promise for all three where it is one (LANGUAGE §7)."""

from pathlib import Path
from typing import NamedTuple

import pytest

from noetl.tools import duckdb, postgres, sqlite
from noetl.tools.postgres import statements_of
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from services import postgres as postgres_server
from tool_doubles import FakeEnv, call_of, cancelled, failed, waited

TOOLS = {"sqlite": sqlite.run, "duckdb": duckdb.run, "postgres": postgres.run}
NAMED = {"sqlite": ":n", "duckdb": "$n", "postgres": "%(n)s"}
LISTED = {"sqlite": "?", "duckdb": "?", "postgres": "%s"}
ENDLESS = {
    "sqlite": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "duckdb": "SELECT count(*) FROM range(100000000000) a, range(100000) b WHERE a.range % 7 = b.range",
    "postgres": "SELECT pg_sleep(600)",
}


class Database(NamedTuple):
    """A database with a way to ask it."""

    kind: str
    env: FakeEnv
    where: dict[str, Json]

    def ask(self, command: str | None = None, *, timeout: Json = None, **fields: Json) -> Outcome:
        args, knobs = fields.pop("args", {}), fields.pop("knobs", {})
        assert isinstance(args, dict) and isinstance(knobs, dict)
        whole = {**self.where, **({"command": command} if command is not None else {}), **fields}
        return waited(TOOLS[self.kind](call_of(self.kind, whole, args=args, knobs=knobs, timeout=timeout), self.env))

    def rows(self, command: str, **fields: Json) -> Json:
        outcome = self.ask(command, **fields)
        assert isinstance(outcome.result, dict), outcome
        return outcome.result["rows"]


def slow_sqlite(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its own statement."""
    return {"command": ENDLESS["sqlite"]}


def slow_duckdb(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its own statement."""
    return {"command": ENDLESS["duckdb"]}


def slow_postgres(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its own statement."""
    return {"command": "SELECT pg_sleep(613)", "dsn": postgres_server().url}


@pytest.fixture(params=TOOLS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Each database with an empty table `u`."""
    env = FakeEnv(tmp_path, {})
    where: dict[str, Json] = {"database": "data.db"}
    if request.param == "postgres":
        env.credentials["pg"] = {"dsn": postgres_server().url}
        where = {"auth": "pg"}
    found = Database(request.param, env, where)
    made = found.ask("DROP TABLE IF EXISTS u; CREATE TABLE u (id INTEGER PRIMARY KEY, name TEXT, note TEXT)")
    assert made.status == "ok", made
    return found


def test_the_result_is_that_of_the_last_statement(database: Database) -> None:
    outcome = database.ask("INSERT INTO u VALUES (1, 'a;b', NULL); -- c;\n SELECT id, name, note, name FROM u;")
    assert outcome.result == {
        "rows": [{"id": 1, "name": "a;b", "note": None, "name_2": "a;b"}],
        "row_count": 1,
        "columns": ["id", "name", "note", "name_2"],
    }
    assert database.ask("UPDATE u SET note = 'x'").result == {"rows": [], "row_count": 1, "columns": []}
    assert database.rows("SELECT id FROM u WHERE id = 9") == []
    assert database.ask("").result == {"rows": [], "row_count": 0, "columns": []}


def test_scenario_120_params_are_bound(database: Database) -> None:
    evil = "x'; DROP TABLE u; --"
    database.ask(table="u", args={"id": 1, "name": evil})
    named, listed = NAMED[database.kind], LISTED[database.kind]
    assert database.rows(f"SELECT name FROM u WHERE name = {named}", params={"n": evil, "other": 1}) == [{"name": evil}]
    assert database.rows(f"SELECT name FROM u WHERE name = {listed}", parameters=[evil]) == [{"name": evil}]
    both = f"INSERT INTO u (id, name) VALUES (2, {named}); SELECT count(*) AS n FROM u WHERE name = {named}"
    assert database.rows(both, params={"n": evil}) == [{"n": 2}]


def test_a_list_of_params_needs_one_statement(database: Database) -> None:
    text = f"SELECT {LISTED[database.kind]}"
    assert failed(database.ask(f"{text}; {text}", params=[1]))["code"] == "fields.invalid"


def test_several_statements_are_one_transaction(database: Database) -> None:
    assert database.ask("INSERT INTO u (id) VALUES (1); INSERT INTO u (id) VALUES (1)").status == "error"
    assert database.ask(commands=["INSERT INTO u (id) VALUES (2)", "INSERT INTO u (id) VALUES (2)"]).status == "error"
    assert database.rows("SELECT count(*) AS n FROM u") == [{"n": 0}]
    assert database.rows("BEGIN; INSERT INTO u (id) VALUES (3); COMMIT; SELECT count(*) AS n FROM u") == [{"n": 1}]
    assert database.rows("SELECT count(*) AS n FROM u") == [{"n": 1}]


def test_the_storage_form_inserts_and_upserts(database: Database) -> None:
    row: dict[str, Json] = {"id": 1, "name": {"deep": [1, None]}}
    assert database.ask(table="u", args=row).result == {"rows": [], "row_count": 1, "columns": []}
    assert failed(database.ask(table="u", args=row))["code"] in ("sqlite.error", "duckdb.error", "pg.error")
    database.ask(table="u", key="id", args={"id": 1, "note": "n"})
    database.ask(table="u", key=["id"], mode="upsert", data=[{"id": 1, "name": "b"}, {"id": 2, "name": None}])
    assert database.rows("SELECT * FROM u ORDER BY id") == [
        {"id": 1, "name": "b", "note": "n"},
        {"id": 2, "name": None, "note": None},
    ]
    database.ask(table="u", mode="replace", data=[{"id": 7}, {"id": 8}])
    assert database.rows("SELECT id FROM u ORDER BY id") == [{"id": 7}, {"id": 8}]
    assert database.ask(table="u", mode="replace", data=[{"id": 9}, {"id": "no number"}, {"id": 9}]).status == "error"
    assert database.rows("SELECT id FROM u ORDER BY id") == [{"id": 7}, {"id": 8}]
    assert database.ask(table="u", mode="replace", data=[]).result == {"rows": [], "row_count": 0, "columns": []}
    assert database.rows("SELECT id FROM u") == []
    database.ask('CREATE TABLE IF NOT EXISTS "odd ""name" ("a""b" TEXT)')
    assert database.ask(table='odd "name', args={'a"b': "v"}).status == "ok"
    database.ask('DROP TABLE "odd ""name"')


@pytest.mark.parametrize(
    "fields",
    [
        {"table": "u", "mode": "upsert", "args": {"id": 1}},
        {"table": "u", "key": "other", "args": {"id": 1}},
        {"table": "u"},
        {"table": "u", "data": [1]},
        {"table": "", "args": {"id": 1}},
        {"table": "u", "command": "SELECT 1"},
        {"commands": []},
        {"commands": [1]},
        {"command_b64": "%"},
        {},
    ],
)
def test_fields_that_cannot_be_used(database: Database, fields: dict[str, Json]) -> None:
    assert failed(database.ask(**fields))["code"] == "fields.invalid"


def test_values_are_what_json_holds(database: Database) -> None:
    texts = {
        "sqlite": "SELECT x'ff00' AS b, 1e999 AS inf, 1.5 AS f, NULL AS n",
        "duckdb": "SELECT '\\xFF\\x00'::BLOB AS b, 'inf'::DOUBLE AS inf, 1.5 AS f, NULL AS n, [1, 2] AS l, "
        "{'a': 1} AS m, DATE '2026-01-02' AS d, INTERVAL 1 DAY AS i, 1.25::DECIMAL(9, 2) AS x, "
        "123456789012345678.123::DECIMAL(38, 3) AS y",
        "postgres": "SELECT '\\xff00'::bytea AS b, 'inf'::float8 AS inf, 1.5 AS f, NULL AS n, '{1,2}'::int[] AS l, "
        "'{\"a\": 1}'::jsonb AS m, DATE '2026-01-02' AS d, INTERVAL '1 day' AS i, 1.25::numeric AS x, "
        "123456789012345678.123::numeric AS y",
    }
    outcome = database.ask(texts[database.kind])
    assert isinstance(outcome.result, dict), outcome
    expected: dict[str, Json] = {"b": "/wA=", "inf": "Infinity", "f": 1.5, "n": None}
    if database.kind != "sqlite":
        expected |= {"l": [1, 2], "m": {"a": 1}, "d": "2026-01-02", "i": 86400.0, "x": 1.25}
        expected |= {"y": "123456789012345678.123"}
    assert outcome.result["rows"] == [expected]
    pack(outcome.as_json())


def test_an_error_of_the_database_is_an_outcome(database: Database) -> None:
    outcome = database.ask("SELEC 1")
    error = failed(outcome)
    expected = {
        "sqlite": ("sqlite.error", {"sqlite": {"code": "SQLITE_ERROR"}}),
        "duckdb": ("duckdb.error", {"duckdb": {"code": "ParserException"}}),
        "postgres": ("pg.error", {"pg": {"code": "42601", "sqlstate": "42601"}}),
    }
    assert (error["code"], outcome.extras) == expected[database.kind]


def test_text_that_a_database_refuses_is_an_outcome(database: Database) -> None:
    pack(database.ask(table="u", args={"id": 1, "name": "a\0\ud800"}).as_json())


def test_a_result_with_too_many_rows(database: Database) -> None:
    database.ask(table="u", data=[{"id": 1}, {"id": 2}])
    assert failed(database.ask("SELECT * FROM u", knobs={"max_rows": 1}))["code"] == "rows.too_many"
    assert database.ask("SELECT * FROM u", knobs={"max_rows": 2}).status == "ok"


def test_a_timeout_stops_the_statement(database: Database) -> None:
    error = failed(database.ask(ENDLESS[database.kind], timeout=0.1))
    assert (error["code"], error["retryable"]) == ("timeout", True)
    assert database.rows("SELECT count(*) AS n FROM u") == [{"n": 0}]


def test_a_cancellation_stops_the_statement(database: Database) -> None:
    asked = iter(range(1000))
    call = call_of(database.kind, {**database.where, "command": ENDLESS[database.kind]})
    waited(cancelled(TOOLS[database.kind](call, database.env), lambda: next(asked) > 20))
    if database.kind == "postgres":
        busy = "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE '%%sleep(600)%%' AND state = 'active'"
        assert database.rows(busy.replace("%%", "%") + " AND pid <> pg_backend_pid()") == [{"n": 0}]


def test_a_script_is_read_inside_the_root_only(database: Database, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT 7 AS n")
    outcome = database.ask(script="q.sql")
    assert isinstance(outcome.result, dict) and outcome.result["rows"] == [{"n": 7}]
    assert failed(database.ask(script="../q.sql"))["code"] == "file.refused"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_is_inside_the_root_or_in_memory(kind: str, tmp_path: Path) -> None:
    for outside in ("../data.db", "/tmp/data.db"):
        database = Database(kind, FakeEnv(tmp_path), {"database": outside})
        assert failed(database.ask("SELECT 1"))["code"] == "file.refused"
    for inside in ({}, {"database": ":memory:"}):
        assert Database(kind, FakeEnv(tmp_path), inside).rows("SELECT 1 AS n") == [{"n": 1}]
    assert list(tmp_path.iterdir()) == []


def test_where_a_server_is_named(tmp_path: Path) -> None:
    env = FakeEnv(tmp_path, {"pg": {"dsn": postgres_server().url}, "far": {"host": "/nowhere", "user": "u"}})

    def asked(**where: Json) -> Outcome:
        return Database("postgres", env, where).ask("SELECT current_database() AS name")

    assert asked(dsn=postgres_server().url).status == "ok"
    assert asked(credential="pg").status == "ok"
    assert asked(auth={"credential": "pg"}).status == "ok"
    assert asked(auth={"dsn": postgres_server().url}).status == "ok"
    other = asked(auth="pg", database="template1")
    assert isinstance(other.result, dict) and other.result["rows"] == [{"name": "template1"}]
    assert failed(asked(auth="far"))["code"] == "pg.connect"
    assert failed(asked(auth="none"))["code"] == "credential.missing"
    assert failed(asked())["code"] == "fields.invalid"


def test_a_list_is_an_array_to_postgres(tmp_path: Path) -> None:
    database = Database("postgres", FakeEnv(tmp_path), {"dsn": postgres_server().url})
    assert database.rows("SELECT 1 AS n WHERE 5 = ANY(%(ids)s)", params={"ids": [4, 5]}) == [{"n": 1}]
    assert database.rows("SELECT %s::jsonb AS j", params=[{"a": None}]) == [{"j": {"a": None}}]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("a; b", ["a", " b"]),
        ("a;;\n;", ["a"]),
        ("';'; \";\"", ["';'", ' ";"']),
        ("'it''s;'; b", ["'it''s;'", " b"]),
        (r"E'\';'; b", [r"E'\';'", " b"]),
        ("-- ;\na; b", ["-- ;\na", " b"]),
        ("/* ; /* ; */ ; */ a; b", ["/* ; /* ; */ ; */ a", " b"]),
        ("$$ ; $$; $x$ ; $$ ; $x$; b", ["$$ ; $$", " $x$ ; $$ ; $x$", " b"]),
        ("/* open ; a", ["/* open ; a"]),
        ("$$ open ; a", ["$$ open ; a"]),
    ],
)
def test_where_statements_end(text: str, statements: list[str]) -> None:
    assert statements_of(text) == statements


@pytest.mark.parametrize(("kind", "library"), [("duckdb", "duckdb"), ("postgres", "psycopg")])
def test_without_the_library_the_outcome_names_the_extra(
    kind: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    error = failed(Database(kind, FakeEnv(tmp_path), {}).ask("SELECT 1"))
    assert (error["code"], f"noetlc[{kind}]" in str(error["message"])) == ("extra.missing", True)


def test_each_statement_has_its_result_where_the_task_asks(database: Database) -> None:
    texts = "INSERT INTO u (id) VALUES (1), (2); SELECT id FROM u ORDER BY id; SELECT id FROM u WHERE id = 9"
    outcome = database.ask(texts, knobs={"each_statement": True})
    assert isinstance(outcome.result, dict), outcome
    assert {name: value for name, value in outcome.result.items() if not name.endswith("_rows")} == {
        "rows": [],
        "row_count": 0,
        "columns": ["id"],
        "command_0": {"status": "success", "row_count": 2, "columns": []},
        "command_1": {"status": "success", "rows": [{"id": 1}, {"id": 2}], "row_count": 2, "columns": ["id"]},
        "command_2": {"status": "success", "rows": [], "row_count": 0, "columns": ["id"]},
    }
    of_rows = {name: value for name, value in outcome.result.items() if name.endswith("_rows")}
    duck: dict[str, Json] = {"command_0_rows": [], "command_1_rows": [{"id": 1}, {"id": 2}], "command_2_rows": []}
    assert of_rows == (duck if database.kind == "duckdb" else {})
    several = database.ask(commands=["SELECT 1 AS a", "SELECT 2 AS a; SELECT 3 AS a"], knobs={"each_statement": True})
    assert isinstance(several.result, dict)
    assert [several.result[f"command_{number}"]["rows"] for number in range(3)] == [[{"a": 1}], [{"a": 2}], [{"a": 3}]]  # type: ignore[call-overload, index]
    assert database.ask("SELECT 1 AS a; SELECT 2 AS a").result == {"rows": [{"a": 2}], "row_count": 1, "columns": ["a"]}


def test_each_statement_with_params(database: Database) -> None:
    named = NAMED[database.kind]
    text = f"SELECT CAST({named} AS INTEGER) AS a; SELECT 1 + CAST({named} AS INTEGER) AS a"
    outcome = database.ask(text, params={"n": 4}, knobs={"each_statement": True})
    assert isinstance(outcome.result, dict), outcome
    assert outcome.result["command_0"]["rows"] == [{"a": 4}] and outcome.result["command_1"]["rows"] == [{"a": 5}]  # type: ignore[call-overload, index]


@pytest.fixture
def server(tmp_path: Path) -> Database:
    """PostgreSQL, without a table."""
    return Database("postgres", FakeEnv(tmp_path, {"pg": {"dsn": postgres_server().url}}), {"auth": "pg"})


@pytest.mark.parametrize(
    ("command", "params", "row"),
    [
        ("SELECT $1 AS a, $2::int + 1 AS b", ["x", 2], {"a": "x", "b": 3}),
        ("SELECT $2::int AS a, $1::text AS b, $2::int AS c", ["x", 2], {"a": 2, "b": "x", "c": 2}),
        ("SELECT %s::text AS a, 7 % %s::int AS b", ["x", 4], {"a": "x", "b": 3}),
        ("SELECT :who::text AS a, :n::int AS b, :who::text AS c", {"who": "x", "n": 2}, {"a": "x", "b": 2, "c": "x"}),
        ("SELECT %(who)s::text AS a, :n::int % 2 AS b", {"who": "x", "n": 3}, {"a": "x", "b": 1}),
        ("SELECT ':who' AS a, '12:30' AS b, :who::text AS c", {"who": "x"}, {"a": ":who", "b": "12:30", "c": "x"}),
        ("SELECT '$1' AS a, $1::text AS b, $q$ $1 'x $q$ AS c", ["x"], {"a": "$1", "b": "x", "c": " $1 'x "}),
        ("SELECT 'a%b' LIKE 'a%' AS a, $1::text LIKE '%x%' AS b", ["axb"], {"a": True, "b": True}),
        ("SELECT 'ax' LIKE '%x' AS a, :v::text LIKE 'a%' AS b", {"v": "ab"}, {"a": True, "b": True}),
        ("SELECT 'ax' LIKE '%%x' AS a, %s::text AS b", ["y"], {"a": True, "b": "y"}),
        ("SELECT '{\"k\": 1}'::jsonb ? 'k' AS a, $1::int AS b", [1], {"a": True, "b": 1}),
        ('SELECT (ARRAY[5,6,7])[2:3] AS a, :n::int AS "b:n"', {"n": 1}, {"a": [6, 7], "b:n": 1}),
        ("SELECT 1 AS a -- $2 :n %s\n, /* :n $3 */ $1::int AS b", [4], {"a": 1, "b": 4}),
        ("SELECT E'it\\'s :n' AS a, :n::int AS b", {"n": 1}, {"a": "it's :n", "b": 1}),
        ("SELECT $1::text AS a; SELECT $2::text AS b", ["x", "y"], {"b": "y"}),
        ("SELECT :n::int AS a; SELECT ';' AS a, :m::int AS b", {"n": 1, "m": 2}, {"a": ";", "b": 2}),
        ("SELECT $1::int IS NULL AS a", [None], {"a": True}),
        (
            "SELECT id FROM (VALUES (1), (2), (3)) AS t(id) WHERE id = ANY($1) AND id > 1 ORDER BY 1",
            [[1, 2]],
            {"id": 2},
        ),
        ("SELECT $1::jsonb -> 'a' AS a", [{"a": [1]}], {"a": [1]}),
    ],
)
def test_how_postgres_marks_values(server: Database, command: str, params: Json, row: Json) -> None:
    assert server.rows(command, params=params) == [row]


@pytest.mark.parametrize(
    ("command", "params", "message"),
    [
        ("SELECT $3", [1], "asks for $3"),
        ("SELECT $0", [1], "asks for $0"),
        ("SELECT $1, %s", [1, 2], "not as both"),
        ("SELECT %s; SELECT %s", [1], "single statement"),
    ],
)
def test_what_marks_no_value(server: Database, command: str, params: Json, message: str) -> None:
    found = failed(server.ask(command, params=params))
    assert found["code"] == "fields.invalid" and message in str(found["message"])


def test_a_text_without_params_is_left_as_it_is(server: Database) -> None:
    assert server.rows("SELECT 'a%s' AS a, 7 % 4 AS b, '$1 :x' AS c") == [{"a": "a%s", "b": 3, "c": "$1 :x"}]
    assert failed(server.ask("SELECT :missing", params={"n": 1}))["code"] == "pg.error"
