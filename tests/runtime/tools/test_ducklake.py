"""`ducklake`: SQL on a DuckLake (https://ducklake.select), whose catalogue is in PostgreSQL or in a file.

Its extensions have no wheels for the DuckDB that the other tests use, so the calls are made by a process that finds
another DuckDB first.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noetl.tools.ducklake import run as ducklake
from noetl_ir.expr import Json
from services import postgres
from tool_doubles import FakeEnv, call_of, failed, waited

TESTS = Path(__file__).parents[2]
CALLING = """
import json, sys
from pathlib import Path
from noetl.tools.ducklake import run
from tool_doubles import FakeEnv, call_of, waited
root, credentials, calls = json.load(sys.stdin)
done = [waited(run(call_of("ducklake", fields, args=args), FakeEnv(Path(root), credentials))) for fields, args in calls]
print(json.dumps([[each.result, each.error] for each in done]))
"""
SQL: dict[str, Json] = {"command": "SELECT 1 AS n", "catalog_name": "lake"}

Calls = Callable[..., list[tuple[Any, Any]]]


def slow_ducklake(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its credential."""
    return {"command": "SELECT 1", "catalog_name": "l", "auth": "slow"}


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"command": "SELECT 1", "catalog_connection": "c.db"}, "fields.invalid", "'catalog_name' is missing"),
        ({**SQL, "catalog_connection": "c.db", "auth": "pg"}, "fields.invalid", "only one of the fields auth or"),
        (SQL, "fields.invalid", "nothing says which server: give auth"),
        ({**SQL, "auth": "nobody"}, "credential.missing", "there is no credential 'nobody'"),
        ({**SQL, "catalog_connection": "../c.db"}, "file.refused", ".."),
        ({**SQL, "catalog_connection": "c.db", "data_path": "/elsewhere"}, "file.refused", "/elsewhere"),
        ({**SQL, "catalog_connection": "password='hunter2"}, "fields.invalid", "cannot be read"),
    ],
)
def test_a_call_without_what_it_needs_says_so(fields: dict[str, Json], code: str, words: str, tmp_path: Path) -> None:
    error = failed(waited(ducklake(call_of("ducklake", fields), FakeEnv(tmp_path))))
    assert error["code"] == code
    assert words in str(error["message"]) and "hunter2" not in str(error["message"])


def test_an_extension_that_cannot_be_had_is_named_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noetl.tools.ducklake.folders_of", lambda package: ())
    # No host of this name can be: DuckDB's site is not asked from a test.
    monkeypatch.setattr("noetl.tools.ducklake._SOURCE", " FROM 'http://nowhere.invalid'")
    error = failed(waited(ducklake(call_of("ducklake", {**SQL, "catalog_connection": "c.db"}), FakeEnv(tmp_path))))
    assert error["code"] == "extra.missing"
    assert "`ducklake` cannot be loaded" in str(error["message"])
    assert "pip install 'noetlc[ducklake]'" in str(error["message"])


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    """Makes calls, each fields and args, in a process with a DuckDB that has the extensions."""
    libraries = tmp_path_factory.mktemp("lake")
    wanted = ["duckdb<2", "duckdb-extension-ducklake", "duckdb-extension-postgres-scanner"]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", libraries, *wanted], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(libraries), str(TESTS)])}

    def call(root: Path, *asked: Any, **credentials: Any) -> list[tuple[Any, Any]]:
        pairs = [[each, {}] if isinstance(each, dict) else list(each) for each in asked]
        stdin = json.dumps([str(root), credentials, pairs])
        done = subprocess.run(
            [sys.executable, "-c", CALLING], input=stdin, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        found: list[tuple[Any, Any]] = [tuple(each) for each in json.loads(done.stdout)]
        return found

    return call


@pytest.fixture
def login() -> dict[str, Json]:
    """A credential of a real server, and a database of its own on it."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    server = conninfo_to_dict(postgres().url)
    with psycopg.connect(postgres().url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS lake")
        connection.execute("CREATE DATABASE lake")
    return {
        "host": str(server["host"]),
        "db_user": str(server["user"]),
        "db_name": "lake",
        "password": "hunter2hunter2",
    }


@pytest.mark.long
def test_tables_of_a_lake_are_written_and_read_again(calls: Calls, login: dict[str, Json], tmp_path: Path) -> None:
    lake: dict[str, Json] = {"auth": "pg", "catalog_name": "my lake", "data_path": "data/lake"}
    made, put, wrote, count, other, snapshots = calls(
        tmp_path,
        {**lake, "command": "CREATE TABLE users (id INTEGER, name VARCHAR)"},
        ({**lake, "table": "users"}, {"id": 3, "name": "Cy"}),
        {**lake, "command": "INSERT INTO users VALUES ($id, $name)", "params": {"id": 4, "name": "Di'"}},
        {**lake, "command": "INSERT INTO users VALUES (5, 'E'); SELECT id, name FROM users ORDER BY id"},
        {**lake, "use_catalog": False, "command": 'SELECT count(*) AS n FROM "my lake".users'},
        {**lake, "command": "SELECT max(snapshot_id) AS last FROM ducklake_snapshots('my lake')"},
        pg=login,
    )
    assert [made[1], put[1], wrote[1]] == [None, None, None]
    assert count[0]["rows"] == [{"id": 3, "name": "Cy"}, {"id": 4, "name": "Di'"}, {"id": 5, "name": "E"}]
    assert other[0]["rows"] == [{"n": 3}]
    assert snapshots[0]["rows"][0]["last"] >= 4  # the table, and three writes
    assert (tmp_path / "data" / "lake").is_dir()


@pytest.mark.long
def test_a_statement_that_fails_takes_the_others_back(calls: Calls, login: dict[str, Json], tmp_path: Path) -> None:
    lake: dict[str, Json] = {"auth": "pg", "catalog_name": "lake", "data_path": "lake"}
    _, failing, after = calls(
        tmp_path,
        {**lake, "command": "CREATE TABLE t (n INTEGER)"},
        {**lake, "commands": ["INSERT INTO t VALUES (1)", "INSERT INTO nothing VALUES (1)"]},
        {**lake, "command": "SELECT count(*) AS n FROM t"},
        pg=login,
    )
    assert failing[1]["code"] == "duckdb.error" and "nothing" in failing[1]["message"]
    assert after[0]["rows"] == [{"n": 0}]


@pytest.mark.long
def test_a_lake_stays_in_the_root_and_tells_no_secret(calls: Calls, login: dict[str, Json], tmp_path: Path) -> None:
    lake: dict[str, Json] = {"auth": "pg", "catalog_name": "lake", "data_path": "lake"}
    out, attached, secrets, closed, missing = calls(
        tmp_path,
        {**lake, "command": f"COPY (SELECT 1) TO '{tmp_path.parent / 'out.csv'}'"},
        {**lake, "command": "ATTACH 'host=127.0.0.1' AS other (TYPE postgres)"},
        {**lake, "command": "SELECT * FROM duckdb_secrets()"},
        {**lake, "auth": {**login, "host": "127.0.0.1", "port": 1}, "command": "SELECT 1"},
        {**lake, "auth": None, "catalog_connection": "none.ducklake", "create_catalog": False, "command": "SELECT 1"},
        pg=login,
    )
    assert [out[1]["code"], attached[1]["code"]] == ["file.refused", "file.refused"]
    assert secrets[0]["row_count"] == 2 and "hunter2" not in json.dumps(secrets)
    assert closed[1]["code"] == "duckdb.error" and "Connection refused" in closed[1]["message"]
    assert "hunter2" not in json.dumps(closed)
    assert missing[1]["code"] == "duckdb.error" and "does not exist" in missing[1]["message"]


@pytest.mark.long
def test_a_catalogue_can_be_a_file_or_an_address(calls: Calls, login: dict[str, Json], tmp_path: Path) -> None:
    file: dict[str, Json] = {"catalog_connection": "c.ducklake", "catalog_name": "lake", "data_path": "lake"}
    url = f"postgresql://{login['db_user']}@/lake?host={login['host']}&sslmode=disable"
    made, read, by_address = calls(
        tmp_path,
        {**file, "command": "CREATE TABLE t AS SELECT 7 AS n"},
        {**file, "data_path": None, "command": "FROM t"},
        {**file, "catalog_connection": url, "command": "SELECT 8 AS n"},
    )
    assert (made[1], read[0]["rows"], by_address[0]["rows"]) == (None, [{"n": 7}], [{"n": 8}])
