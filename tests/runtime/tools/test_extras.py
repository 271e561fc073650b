"""A tool whose library is not installed says which extra has it."""

import sys
from pathlib import Path
from types import FunctionType

import pytest

from noetl_ir.expr import Json
from noetl_ir.registry import load
from tool_doubles import FakeEnv, call_of, failed, waited

CALLS: dict[str, tuple[str, str, dict[str, Json]]] = {
    "gcs": ("httpx", "gcs", {"operation": "list", "bucket": "b"}),
    "postgres": ("psycopg", "postgres", {"command": "SELECT 1", "dsn": "x"}),
    "duckdb": ("duckdb", "duckdb", {"command": "SELECT 1"}),
    "nats": ("nats", "nats", {"operation": "kv_keys", "bucket": "b", "url": "nats://x"}),
    "snowflake": ("snowflake.connector.errors", "snowflake", {"command": "SELECT 1"}),
}


@pytest.mark.parametrize("kind", CALLS)
def test_the_extra_is_named(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, extra, fields = CALLS[kind]
    run = load("noetl.tools", kind, "run", FunctionType)
    monkeypatch.setitem(sys.modules, module, None)
    error = failed(waited(run(call_of(kind, fields), FakeEnv(tmp_path))))
    assert error["code"] == "extra.missing"
    assert f"pip install 'noetlc[{extra}]'" in str(error["message"])


def test_a_transfer_names_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load("noetl.tools", "transfer", "run", FunctionType)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    fields: dict[str, Json] = {
        "source": {"kind": "duckdb", "query": "SELECT 1 AS x"},
        "target": {"kind": "file", "path": "x.csv"},
    }
    error = failed(waited(run(call_of("transfer", fields), FakeEnv(tmp_path))))
    assert error["code"] == "extra.missing" and "noetlc[duckdb]" in str(error["message"])
