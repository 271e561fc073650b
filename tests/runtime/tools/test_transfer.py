"""transfer: rows between every two ends there are, against real databases and files (LANGUAGE §7)."""

import csv
import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path

import pytest

from noetl.tools import duckdb, postgres, snowflake, sqlite, transfer
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from services import postgres as postgres_server
from snowflake_emulation import snowflake as emulated
from tool_doubles import FakeEnv, call_of, failed, http_server, waited

TOOLS = {"sqlite": sqlite.run, "duckdb": duckdb.run, "postgres": postgres.run, "snowflake": snowflake.run}
PLACES: dict[str, dict[str, Json]] = {
    "sqlite": {"database": "lite.db"},
    "duckdb": {"database": "duck.db"},
    "postgres": {"auth": "pg"},
    "snowflake": {"auth": "sf"},
}
ROWS: list[Json] = [{"id": 1, "name": "a'; --"}, {"id": 2, "name": None}, {"id": 3, "name": 'ü,\n"x"'}]
_tables = count(1)
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[FakeEnv]:
    login: dict[str, Json] = {"account": "a", "user": "u", "password": "p", "database": "db1", "schema": "s1"}
    with emulated():
        yield FakeEnv(tmp_path, {"pg": {"dsn": postgres_server().url}, "sf": login})


def ask(env: FakeEnv, kind: str, command: str) -> list[Json]:
    outcome = waited(TOOLS[kind](call_of(kind, {**PLACES[kind], "command": command}), env))
    assert outcome.status == "ok" and isinstance(outcome.result, dict), outcome
    rows = outcome.result["rows"]
    assert isinstance(rows, list)
    return [{name.lower(): value for name, value in row.items()} for row in rows if isinstance(row, dict)]


def table(env: FakeEnv, kind: str, rows: list[Json] | None = None) -> str:
    """A new table of an end, with rows."""
    name = f"moved{next(_tables)}"
    ask(env, kind, f"DROP TABLE IF EXISTS {name}")
    ask(env, kind, f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name VARCHAR)")
    if rows:
        fields: dict[str, Json] = {**PLACES[kind], "table": name, "data": rows}
        assert waited(TOOLS[kind](call_of(kind, fields), env)).status == "ok"
    return name


CSV = 'id,name\n1,a\'; --\n2,\n3,"ü,\n""x"""\n'
FILES = {"csv": CSV, "json": json.dumps(ROWS), "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS)}
ENDS = [*TOOLS, *FILES]


def source(env: FakeEnv, kind: str) -> dict[str, Json]:
    """An end with the rows."""
    if kind in FILES:
        (Path(env.root()) / f"in.{kind}").write_text(FILES[kind])
        return {"kind": "file", "path": f"in.{kind}"}
    query = f'SELECT id AS "id", name AS "name" FROM {table(env, kind, ROWS)} ORDER BY 1'
    return {"kind": kind, **PLACES[kind], "query": query}


def target(env: FakeEnv, kind: str) -> dict[str, Json]:
    """An end without rows."""
    if kind in FILES:
        return {"kind": "file", "path": f"deep/out{next(_tables)}.{kind}"}
    return {"kind": kind, **PLACES[kind], "table": table(env, kind)}


def rows_of(env: FakeEnv, end: dict[str, Json]) -> list[Json]:
    """The rows that a target has now."""
    kind = str(end["kind"])
    if kind != "file":
        return ask(env, kind, f"SELECT * FROM {end['table']} ORDER BY id")
    text = (Path(env.root()) / str(end["path"])).read_text()
    match str(end["path"]).rpartition(".")[2]:
        case "csv":
            found: list[Json] = [dict(row) for row in csv.DictReader(io.StringIO(text))]
            return found
        case "json":
            return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines()]


def moved(env: FakeEnv, source: Json, target: Json, /, timeout: Json = None, **fields: Json) -> Outcome:
    knobs = fields.pop("knobs", {})
    assert isinstance(knobs, dict)
    call = call_of("transfer", {"source": source, "target": target, **fields}, knobs=knobs, timeout=timeout)
    return waited(transfer.run(call, env))


def slow_transfer(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its source."""
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    return {"source": {"kind": "sqlite", "query": endless}, "target": {"kind": "file", "path": "x.csv"}}


@pytest.mark.parametrize("to", ENDS)
@pytest.mark.parametrize("origin", ENDS)
def test_rows_go_from_every_end_to_every_end(env: FakeEnv, origin: str, to: str) -> None:
    end = target(env, to)
    assert moved(env, source(env, origin), end).result == {"rows_transferred": 3, "columns": ["id", "name"]}
    is_text = to == "csv" or (origin == "csv" and to in FILES)
    ids = [str(number) for number in (1, 2, 3)] if is_text else [1, 2, 3]
    none = "" if "csv" in (origin, to) else None  # CSV has no null
    names = [row["name"] if row["name"] is not None else none for row in ROWS if isinstance(row, dict)]
    assert rows_of(env, end) == [{"id": number, "name": name} for number, name in zip(ids, names, strict=True)]


@pytest.mark.parametrize("kind", TOOLS)
def test_modes(env: FakeEnv, kind: str) -> None:
    end = target(env, kind)
    one: dict[str, Json] = {"kind": "sqlite", "query": "SELECT 1 AS id, 'x' AS name"}
    assert moved(env, one, end).status == "ok"
    assert moved(env, one, {**end, "key": "id"}, mode="upsert").status == "ok"
    assert moved(env, {**one, "query": "SELECT 1 AS id, 'y' AS name"}, {**end, "key": "id"}).status == "ok"
    assert rows_of(env, end) == [{"id": 1, "name": "y"}]
    assert moved(env, {**one, "query": "SELECT 2 AS id, 'z' AS name"}, end, mode="replace").status == "ok"
    assert rows_of(env, end) == [{"id": 2, "name": "z"}]
    assert moved(env, {**one, "query": "SELECT 2 AS id WHERE 0"}, end, mode="append").status == "ok"
    assert rows_of(env, end) == [{"id": 2, "name": "z"}]
    assert moved(env, {**one, "query": "SELECT 2 AS id WHERE 0"}, end, mode="replace").status == "ok"
    assert rows_of(env, end) == []


def test_files_grow_or_are_replaced(env: FakeEnv) -> None:
    end: dict[str, Json] = {"kind": "file", "path": "out.csv"}
    for number, mode in ((1, "append"), (2, "append"), (3, "replace")):
        query = f"SELECT {number} AS id, 1 AS only{number}"
        assert moved(env, {"kind": "sqlite", "query": query}, end, mode=mode).status == "ok"
        if number == 2:
            assert (Path(env.root()) / "out.csv").read_text() == "id,only1,only2\n1,1,\n2,,1\n"
    assert (Path(env.root()) / "out.csv").read_text() == "id,only3\n3,1\n"


def test_older_spellings(env: FakeEnv) -> None:
    end = target(env, "postgres")
    origin: dict[str, Json] = {"type": "sqlite", "query": "SELECT 1 AS id, 'x' AS name"}
    into: dict[str, Json] = {"type": "pg", "table": end["table"], "mode": "replace"}
    assert moved(env, origin, into, auth={"target": "pg"}, chunk_size=10).status == "ok"
    sides: dict[str, Json] = {"direction": "sqlite_to_pg", "auth": {"target": "pg"}, "mode": "append"}
    assert moved(env, {"query": "SELECT 2 AS id"}, {"table": end["table"]}, **sides).status == "ok"
    assert rows_of(env, end) == [{"id": 1, "name": "x"}, {"id": 2, "name": None}]


def test_a_failure_names_its_side_and_leaves_nothing(env: FakeEnv) -> None:
    end = target(env, "postgres")
    error = failed(moved(env, {"kind": "sqlite", "query": "SELECT * FROM nope"}, end))
    assert (error["code"], error["message"]) == ("sqlite.error", "source: no such table: nope")
    query = "SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 1"
    outcome = moved(env, {"kind": "sqlite", "query": query}, end)
    assert failed(outcome)["code"] == "pg.error" and outcome.extras["pg"] == {"code": "23505", "sqlstate": "23505"}
    assert rows_of(env, end) == []
    assert failed(moved(env, {"kind": "sqlite", "query": query}, end, knobs={"max_rows": 2}))["code"] == "rows.too_many"


@pytest.mark.parametrize(
    ("origin", "to", "code"),
    [
        ({"kind": "mysql", "query": "x"}, {"kind": "file", "path": "x.csv"}, "fields.invalid"),
        ({"kind": "shell", "command": "id"}, {"kind": "file", "path": "x.csv"}, "fields.invalid"),
        ({"kind": "sqlite", "table": "t"}, {"kind": "file", "path": "x.csv"}, "fields.invalid"),
        ({"kind": "sqlite", "query": "SELECT 1 AS x"}, {"kind": "sqlite"}, "fields.invalid"),
        ({"kind": "sqlite", "query": "SELECT 1 AS x"}, {"kind": "file", "path": "x.xls"}, "fields.invalid"),
        ({"kind": "sqlite", "query": "SELECT 1 AS x"}, {"kind": "file", "path": "../x.csv"}, "file.refused"),
        ({"kind": "file", "path": "../x.csv"}, {"kind": "file", "path": "x.csv"}, "file.refused"),
        ({"kind": "file", "path": "no.csv"}, {"kind": "file", "path": "x.csv"}, "file.refused"),
        ({"kind": "file", "path": "bad.json"}, {"kind": "file", "path": "x.csv"}, "file.refused"),
        ({"kind": "file", "path": "bad.csv"}, {"kind": "file", "path": "x.csv"}, "file.refused"),
        ({"kind": "postgres", "auth": "nobody", "query": "x"}, {"kind": "file", "path": "x"}, "credential.missing"),
    ],
)
def test_what_cannot_be_copied(env: FakeEnv, origin: Json, to: Json, code: str) -> None:
    (Path(env.root()) / "bad.json").write_text('[{"a": NaN}, 1]')
    (Path(env.root()) / "bad.csv").write_text("a,b\n1,2,3\n")
    assert failed(moved(env, origin, to))["code"] == code


def test_a_late_transfer_is_stopped(env: FakeEnv) -> None:
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS n FROM t"
    outcome = moved(env, {"kind": "sqlite", "query": endless}, {"kind": "file", "path": "x.csv"}, timeout=0.3)
    assert failed(outcome)["code"] == "timeout"


SENT = {
    "/rows": ("application/json", json.dumps(ROWS)),
    "/one": ("application/json", json.dumps(ROWS[0])),
    "/lines": ("application/x-ndjson", FILES["jsonl"]),
    "/table": ("text/csv; charset=utf-8", CSV),
    "/rows.csv": ("application/octet-stream", CSV),
    "/plain-rows": ("text/plain", json.dumps(ROWS)),
    "/plain-lines": ("text/plain", FILES["jsonl"]),
    "/plain-table": ("text/plain", CSV),
    "/deep": ("application/json", '[{"id": 1, "who": {"name": "Ada"}}, {"id": 2, "who": {}}]'),
    "/none": ("application/json", "[]"),
    "/texts": ("application/json", '["a"]'),
    "/wide": ("text/csv", "a,b\n1,2,3\n"),
    "/broken": ("text/plain", '[{"a": 1}'),
}


class Sender(BaseHTTPRequestHandler):
    """Sends what `SENT` has for a path, whoever asks; `/auth` sends what it was given to know who asks."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        kind, text = SENT.get(path, ("application/json", json.dumps([{"auth": self.headers.get("authorization")}])))
        self.send_response(503 if path == "/down" else 200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def sender() -> Iterator[str]:
    with http_server(Sender) as address:
        yield address


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "json"])
@pytest.mark.parametrize(
    "path", ["/rows", "/lines", "/table", "/rows.csv", "/plain-rows", "/plain-lines", "/plain-table"]
)
def test_rows_come_from_a_server(env: FakeEnv, sender: str, path: str, kind: str) -> None:
    end = target(env, kind)
    outcome = moved(env, {"kind": "http", "url": f"{sender}{path}?page=1", "method": "GET"}, end)
    assert outcome.result == {"rows_transferred": 3, "columns": ["id", "name"]}, outcome
    is_csv = path in ("/table", "/rows.csv", "/plain-table")
    none = "" if is_csv else None  # CSV has no null, and no numbers
    rows = [{**row, "name": row["name"] if row["name"] is not None else none} for row in ROWS if isinstance(row, dict)]
    assert rows_of(env, end) == [{**row, "id": str(row["id"])} if is_csv and kind == "json" else row for row in rows]


def test_one_mapping_and_no_rows_from_a_server(env: FakeEnv, sender: str) -> None:
    end = target(env, "postgres")
    assert moved(env, {"type": "http", "url": f"{sender}/one"}, end).result == {
        "rows_transferred": 1,
        "columns": ["id", "name"],
    }
    assert moved(env, {"tool": "http", "url": f"{sender}/none"}, end).status == "ok"
    assert rows_of(env, end) == ROWS[:1]


def test_a_mapping_says_which_key_each_column_is_taken_from(env: FakeEnv, sender: str) -> None:
    end = {**target(env, "postgres"), "mapping": {"name": "who.name", "id": "id"}}
    outcome = moved(env, {"kind": "http", "url": f"{sender}/deep"}, end)
    assert outcome.result == {"rows_transferred": 2, "columns": ["name", "id"]}
    assert rows_of(env, end) == [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}]
    wrong = moved(env, {"kind": "http", "url": f"{sender}/deep"}, {**end, "mapping": {"name": "who.nme", "id": "id"}})
    assert "no row has 'who.nme'" in str(failed(wrong)["message"]) and len(rows_of(env, end)) == 2
    here: dict[str, Json] = {"kind": "sqlite", "query": "SELECT 3 AS a"}
    assert moved(env, here, {**end, "mapping": {"id": "a"}}).status == "ok"
    assert rows_of(env, end)[2] == {"id": 3, "name": None}


@pytest.mark.parametrize(
    ("path", "fields", "code"),
    [
        ("/down", {}, "http.status"),
        ("/texts", {}, "transfer.rows"),
        ("/wide", {}, "transfer.rows"),
        ("/broken", {}, "transfer.rows"),
        ("/broken", {"format": "jsonl"}, "transfer.rows"),
        ("/rows", {"format": "csv"}, "transfer.rows"),
        ("/rows", {"format": "xls"}, "fields.invalid"),
        ("/rows", {"path": "x"}, "fields.invalid"),
    ],
)
def test_what_a_server_sends_and_is_no_rows(
    env: FakeEnv, sender: str, path: str, fields: dict[str, Json], code: str
) -> None:
    end = target(env, "sqlite")
    assert failed(moved(env, {"kind": "http", "url": f"{sender}{path}", **fields}, end))["code"] == code
    assert rows_of(env, end) == []


def test_a_server_is_no_target_and_has_the_limits_of_the_task(env: FakeEnv, sender: str) -> None:
    rows: dict[str, Json] = {"kind": "http", "url": f"{sender}/rows"}
    error = failed(moved(env, {"kind": "sqlite", "query": "SELECT 1 AS id"}, rows))
    assert error["message"] == "target: kind must be postgres, duckdb, sqlite, snowflake or file"
    end = target(env, "sqlite")
    assert failed(moved(env, rows, end, knobs={"max_rows": 2}))["code"] == "rows.too_many"
    assert failed(moved(env, rows, end, knobs={"max_response_bytes": 10}))["code"] == "http.too_large"
    env.fenced = lambda _: "private"
    assert failed(moved(env, rows, end))["code"] == "http.refused"
    assert rows_of(env, end) == []


def test_a_server_sees_no_credential_but_its_own(env: FakeEnv, sender: str) -> None:
    env.credentials["api"] = {"token": "t-1"}
    asked: dict[str, Json] = {"kind": "http", "url": f"{sender}/auth"}
    for auth, seen in (("pg", None), ({"source": "credential", "key": "pg"}, None), ({"source": "api"}, "Bearer t-1")):
        assert moved(env, asked, {"kind": "file", "path": "seen.json"}, auth=auth, mode="replace").status == "ok"
        assert rows_of(env, {"kind": "file", "path": "seen.json"}) == [{"auth": seen}]


@pytest.mark.parametrize(
    "auth",
    [
        "pg",
        {"credential": "pg"},
        {"name": "pg"},
        {"source": "credential", "tool": "postgres", "key": "pg"},
        {"type": "postgres", "credential": "pg"},
        {"main": {"type": "postgres", "key": "pg"}},
    ],
)
def test_how_a_credential_is_named(env: FakeEnv, auth: Json) -> None:
    end = {**target(env, "postgres"), "auth": auth}
    assert moved(env, {"kind": "sqlite", "query": "SELECT 1 AS id"}, end).status == "ok"
