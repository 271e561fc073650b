"""SQL that names a file of its own: inside the worker's root like the database, or not at all."""

from pathlib import Path

import pytest

from noetl.tools import sqlite
from noetl_ir.outcome import Outcome
from tool_doubles import Surroundings, call_of, waited


def ran(root: Path, query: str, **params: str) -> Outcome:
    return waited(sqlite.run(call_of("sqlite", {"query": query, "params": dict(params)}), Surroundings(root)))


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
