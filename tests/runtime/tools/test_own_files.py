"""No tool that is kept in a folder reaches the engine's own files in it, however their names are written."""

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from noetl.host.confined_files import FileRefused, inside, script_text
from noetl.host.engine_files import keep_from_tools, make_folder, narrow
from noetl.tools import duckdb, script, shell, sqlite, transfer
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of

SECRET = "the-key-of-the-store-0001"
RUN = {"duckdb": duckdb.run, "sqlite": sqlite.run, "transfer": transfer.run, "script": script.run, "shell": shell.run}

SPELLINGS = [
    ".noetl/noetl.db.credentials.key",
    "./.noetl//noetl.db.credentials.key",
    "data/../.noetl/noetl.db.credentials.key",
    ".noetl/noetl.db.blobs/../noetl.db.credentials.key",
    ".NOETL/NoEtl.db.CREDENTIALS.key",
    "{root}/.noetl/noetl.db.credentials.key",
    "/proc/self/cwd/.noetl/noetl.db.credentials.key",
    "file:.noetl/noetl.db.credentials.key",
    "file://{root}/.noetl/noetl.db.credentials.key",
    "file://localhost{root}/.noetl/noetl.db.credentials.key",
    "data/link",
    "data/folder/noetl.db.credentials.key",
    "data/hard",
    "data/value",
    ".noetl/noetl.db",
    ".noetl/noetl.db-wal",
    ".noetl/sessions.db",
    ".noetl/noetl.db.blobs/1/aa",
    ".noetl/new.csv",
]
PATTERNS = [".noetl/*", ".noet[l]/*.key", ".noet?/*.key", "**/*.key", "data/folder/*", "data/h*"]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEnv:
    """A root with a store in it and every kind of link to it, from which the process works."""
    home = tmp_path / ".noetl"
    (home / "noetl.db.blobs" / "1").mkdir(parents=True)
    for name in ("noetl.db", "noetl.db-wal", "sessions.db", "noetl.db.credentials.key", "noetl.db.blobs/1/aa"):
        (home / name).write_text(f"a\n{SECRET}\n")
    data = tmp_path / "data"
    data.mkdir()
    (data / "free.csv").write_text("n\n7\n")
    (data / "link").symlink_to("../.noetl/noetl.db.credentials.key")
    (data / "folder").symlink_to("../.noetl")
    monkeypatch.chdir(tmp_path)
    keep_from_tools(str(home / "noetl.db"))
    return FakeEnv(tmp_path)


LINKS = {"data/hard": "noetl.db.credentials.key", "data/value": "noetl.db.blobs/1/aa", "data/h*": "noetl.db-wal"}


def link(env: FakeEnv, name: str) -> None:
    """Give a file of the engine the second name that is tried; beside one DuckDB gets no file at all."""
    if name in LINKS:
        root = Path(env.root())
        os.link(root / ".noetl" / LINKS[name], root / name.replace("*", "ard"))
    else:
        assert ask(env, "duckdb", query="from read_text('data/free.csv')").status == "ok"


def ask(env: FakeEnv, kind: str, **fields: object) -> Outcome:
    """The outcome of a call."""
    return asyncio.run(RUN[kind](call_of(kind, fields), env))  # type: ignore[arg-type]


def assert_refused(env: FakeEnv, outcome: Outcome) -> None:
    """Check that a task failed for that reason, gave nothing away and changed nothing."""
    home = Path(env.root()) / ".noetl"
    assert outcome.error is not None, outcome
    assert SECRET not in repr(outcome), outcome
    assert not (home / "new.csv").exists()
    assert SECRET in (home / "noetl.db.credentials.key").read_text()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_reaches_what_is_the_engines_own(env: FakeEnv, spelling: str) -> None:
    path = spelling.format(root=env.root())
    link(env, spelling)
    quoted = path.replace("'", "''")
    asked = [
        ask(env, "duckdb", query=f"from read_text('{quoted}')"),
        ask(env, "duckdb", query="from read_text($p)", params={"p": path}),
        ask(env, "duckdb", query=f"set variable p = '{quoted}'; from read_text(getvariable('p') || '')"),
        ask(env, "duckdb", query=f"from read_text(['data/free.csv', '{quoted}'])"),
        ask(env, "duckdb", query=f"attach '{quoted}' as other; from other.t"),
        ask(env, "duckdb", query=f"attach '{quoted}' as other (type sqlite); from other.t"),
        ask(env, "duckdb", query=f"create table t (x text); copy t from '{quoted}' (format csv)"),
        ask(env, "duckdb", query=f"copy (select 1) to '{quoted}' (format csv)"),
        ask(env, "duckdb", query="select 1", database=path),
        ask(env, "sqlite", query=f"attach '{quoted}' as other; select * from other.t"),
        ask(env, "sqlite", query=f"vacuum into '{quoted}'"),
        ask(env, "sqlite", query="select count(*) from sqlite_master", database=path),
        ask(env, "transfer", source={"type": "csv", "path": path}, target={"type": "csv", "path": "data/out.csv"}),
        ask(env, "transfer", source={"type": "csv", "path": "data/free.csv"}, target={"type": "csv", "path": path}),
        ask(env, "script", script=path),
        ask(env, "script", script={"uri": path, "source": {"type": "file"}}),
        ask(env, "shell", command="cat noetl.db.credentials.key", cwd=os.path.dirname(path) or ".noetl"),
    ]
    for outcome in asked:
        assert_refused(env, outcome)
    with pytest.raises(FileRefused):
        script_text(env.root(), path)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_pattern_reaches_it(env: FakeEnv, pattern: str) -> None:
    link(env, pattern)
    for reading in ("read_text", "read_blob", "read_csv"):
        assert_refused(env, ask(env, "duckdb", query=f"from {reading}('{pattern}')"))


def test_what_is_written_there_by_a_call_that_may_be_cut_in_two_is_refused(env: FakeEnv) -> None:
    link(env, "")
    assert_refused(env, ask(env, "duckdb", query="from read_text('.no' || 'etl/noetl.db.credentials.key')"))
    assert_refused(env, ask(env, "duckdb", query="export database '.noetl/all'"))
    assert_refused(env, ask(env, "duckdb", query="copy (select 1 a, 2 b) to '.noetl' (format csv, partition_by a)"))


OUTSIDE = [
    "from read_text('{path}')",
    "copy (select 1) to '{path}'",
    "copy (select 1) to '{path}.new'",
    "select * from glob('{folder}/*')",
    "attach '{path}.duckdb' as z; create table z.t (a int)",
]


@pytest.mark.parametrize("folder", ["..", "../..", "data/../..", "{above}", "/proc/self/cwd/..", "up"])
@pytest.mark.parametrize("query", OUTSIDE)
def test_a_store_in_the_root_opens_nothing_outside_of_it(tmp_path: Path, query: str, folder: str) -> None:
    root = tmp_path / "a" / "root"
    (root / "data").mkdir(parents=True)
    (root / ".noetl").mkdir()
    (root / ".noetl" / "noetl.db").write_text("")
    keep_from_tools(str(root / ".noetl" / "noetl.db"))
    (root / "up").symlink_to("..")
    for place in (tmp_path, tmp_path / "a"):
        (place / "out.txt").write_text(SECRET)
    (root / "out.txt").symlink_to("../out.txt")
    env, before = FakeEnv(root), {*tmp_path.rglob("*")}
    at = folder.format(above=root.parent)
    for text in (query.format(path=f"{at}/out.txt", folder=at), query.format(path="out.txt", folder=at)):
        outcome = ask(env, "duckdb", query=text)
        assert outcome.error is not None or query != OUTSIDE[0], text
        assert SECRET not in str(outcome) and (tmp_path / "out.txt").read_text() == SECRET
        assert (tmp_path / "a" / "out.txt").read_text() == SECRET
        made = {*tmp_path.rglob("*")} - before
        assert all(root in path.parents for path in made), (text, made)


@pytest.mark.parametrize("store", [".noetl/noetl.db", "noetl.db"])
def test_duckdb_uses_all_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    (tmp_path / ".noetl").mkdir()
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "top.csv").write_text("n\n1\n")
    (tmp_path / "data" / "deep" / "low.csv").write_text("n\n2\n")
    (tmp_path / store).write_text(SECRET)
    monkeypatch.chdir(tmp_path)
    keep_from_tools(str(tmp_path / store))
    env = FakeEnv(tmp_path)
    for query, rows in [
        ("select n from 'top.csv'", [{"n": 1}]),
        ("select n from '*.csv'", [{"n": 1}]),
        ("select n from read_csv('data/**/*.csv')", [{"n": 2}]),
        ("copy (select 3 as n) to 'new.csv'; select n from 'new.csv'", [{"n": 3}]),
        ("copy (select 4 as n) to 'new.csv'; select n from 'new.csv'", [{"n": 4}]),
        (
            "copy (select 5 as n, 6 as m) to 'parts' (format csv, partition_by m); select n from read_csv('parts/*/*')",
            [{"n": 5}],
        ),
        ("attach 'far.duckdb' as far; create or replace table far.t as select 7 as n; select n from far.t", [{"n": 7}]),
        ("copy (select 8 as n) to $$dollars.csv$$; select n from read_csv($$dollars.csv$$)", [{"n": 8}]),
    ]:
        outcome = ask(env, "duckdb", query=query)
        assert isinstance(outcome.result, dict) and outcome.result["rows"] == rows, (query, outcome)
    for _ in range(2):
        made = ask(env, "duckdb", database="own.duckdb", query="create or replace table t as select 1")
        assert made.status == "ok", made
    assert ask(env, "duckdb", query=f"from read_text('{store}')").status == "error"


@pytest.mark.parametrize("name", ["hard", "data/hard", "data/deep/hard.csv"])
def test_a_second_name_closes_itself_and_nothing_else(env: FakeEnv, name: str) -> None:
    root = Path(env.root())
    (root / "data" / "deep").mkdir()
    (root / "data" / "deep" / "low.csv").write_text("n\n8\n")
    os.link(root / ".noetl" / "noetl.db.credentials.key", root / name)
    outcome = ask(env, "duckdb", query=f"from read_text('{name}')")
    assert outcome.error is not None and f"{name}' is another name (a hard link)" in str(outcome.error["message"])
    for query, rows in [
        ("select n from 'data/free.csv'", [{"n": 7}]),
        ("copy (select 3 as n) to 'data/new.csv'; select n from 'data/new.csv'", [{"n": 3}]),
        ("select sum(n)::int as n from 'data/*.csv'", [{"n": 10}]),
        ("select n from 'data/deep/low.csv'", [{"n": 8}]),
    ]:
        found = ask(env, "duckdb", query=query)
        assert isinstance(found.result, dict) and found.result["rows"] == rows, (query, found)
    for pattern in ("*", "data/*", "data/deep/*", "**/*"):
        assert SECRET not in repr(ask(env, "duckdb", query=f"from read_text('{pattern}')"))


def test_a_store_in_the_root_itself_is_as_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("shop.db", "shop.db-wal", "shop.db.credentials.key", "sessions.db", "SHOP.db.tokens")
    for name in names:
        (tmp_path / name).write_text(SECRET)
    (tmp_path / "mine.txt").write_text("mine")
    keep_from_tools(str(tmp_path / "shop.db"))
    for name in names:
        with pytest.raises(FileRefused):
            inside(str(tmp_path), name)
    assert inside(str(tmp_path), "mine.txt") == str(tmp_path / "mine.txt")


def rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_others_could_use_is_narrowed_and_told(tmp_path: Path) -> None:
    home = tmp_path / ".noetl"
    (home / "noetl.db.blobs" / "1").mkdir(parents=True)
    for name in ("noetl.db", "noetl.db-wal", "noetl.db.blobs/1/aa", "noetl.db.tokens"):
        (home / name).write_text("x")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    tmp_path.chmod(0o755)
    told = narrow(str(home / "noetl.db"))
    assert {*map(Path, told)} == {home, *home.iterdir()}
    for path in (home, *home.rglob("*")):
        assert rights(path) == (0o700 if path.is_dir() else 0o600), path
    assert rights(tmp_path) == 0o755
    assert narrow(str(home / "noetl.db")) == ()


def test_the_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_text("x")
    (tmp_path / "other.db").write_text("x")
    (tmp_path / "shop.dbase").write_text("x")
    for path in (tmp_path, *tmp_path.iterdir()):
        path.chmod(0o755)
    assert narrow(str(tmp_path / "shop.db")) == (str(tmp_path / "shop.db"),)
    assert rights(tmp_path / "shop.dbase") == 0o755
    assert [rights(tmp_path), rights(tmp_path / "other.db"), rights(tmp_path / "shop.db")] == [0o755, 0o755, 0o700]


def test_folders_are_made_for_their_owner(tmp_path: Path) -> None:
    make_folder(str(tmp_path / "a" / "b"))
    assert rights(tmp_path / "a") == rights(tmp_path / "a" / "b") == 0o700


def test_sqlite_is_there_for_what_is_not_the_engines(env: FakeEnv) -> None:
    assert ask(env, "sqlite", database="data/mine.db", query="create table t (n)").status == "ok"
    with sqlite3.connect(Path(env.root()) / "data" / "mine.db") as there:
        assert there.execute("select name from sqlite_master").fetchall() == [("t",)]
