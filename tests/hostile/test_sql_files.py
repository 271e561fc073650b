"""SQL that names a file of its own: inside the worker's root like the database, or not at all."""

from pathlib import Path

import pytest

from noetl.tools import duckdb, sqlite
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, waited


def ran(root: Path, query: str, **params: str) -> Outcome:
    return waited(sqlite.run(call_of("sqlite", {"query": query, "params": dict(params)}), FakeEnv(root)))


@pytest.mark.parametrize(
    "query", ["attach '{}' as x; create table x.t(a)", "vacuum into '{}'", "attach 'file:{}' as x; create table x.t(a)"]
)
def test_a_file_outside_the_root_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    for place in (tmp_path / "out.db", Path("../out.db")):
        outcome = ran(root, query.format(place))
        assert (outcome.error or {}).get("code") == "file.refused"
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_a_file_that_an_expression_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = ran(tmp_path, "attach :path as x", path="in.db")
    assert (outcome.error or {}).get("code") == "file.refused"


@pytest.mark.parametrize("query", ["attach 'in.db' as x", "attach ':memory:' as x", "vacuum into 'in.db'", "vacuum"])
def test_a_file_inside_the_root_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert ran(tmp_path, query).error is None


def in_duckdb(root: Path, query: str, database: str = ":memory:") -> Outcome:
    return waited(duckdb.run(call_of("duckdb", {"query": query, "database": database}), FakeEnv(root)))


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to '{}'",
        "attach '{}' as x",
        "export database '{}'",
        "select * from read_csv('{}')",
        "select * from read_text('{}')",
        "select * from '{}'",
        "select * from glob('{}')",
        "load '{}'",
        "select 1; load json; copy (select 1) to '{}'",
        "set allowed_directories = ['/']; copy (select 1) to '{}'",
        "set enable_external_access = true; copy (select 1) to '{}'",
    ],
)
def test_duckdb_reaches_no_file_outside_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    for place in (tmp_path / "out.csv", Path("../out.csv")):
        for database in (":memory:", "in.duckdb"):
            assert in_duckdb(root, query.format(place), database).error is not None
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
    outcome = in_duckdb(root, "copy (select 1) to '../out.csv'")
    assert (outcome.error or {}).get("code") == "file.refused"


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 7 as a) to 'in.csv'; select a from 'in.csv'",
        "attach 'other.duckdb' as x; create or replace table x.t as select 7 as a; select a from x.t",
        "load json; select 7 as a",
    ],
)
def test_duckdb_uses_files_inside_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.chdir(tmp_path)
    for database in (":memory:", "in.duckdb", "in.duckdb"):
        outcome = in_duckdb(tmp_path, query, database)
        assert outcome.error is None
        assert isinstance(outcome.result, dict)
        assert outcome.result["rows"] == [{"a": 7}]


def test_duckdb_reads_no_variable_of_the_process(tmp_path: Path) -> None:
    assert in_duckdb(tmp_path, "select * from statements").error is not None
