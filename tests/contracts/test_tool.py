"""What every tool promises, whichever it is: one outcome, clean as JSON, no exception, nothing left running.

A tool is tested by existing; one that awaits something needs a call that waits, in `slow_call`.
"""

import ast
import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import FunctionType

import pytest

from noetl.ports import Call, Env
from noetl.tools.quantum.jobs import Job, id_of
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.kinds import Kind
from noetl_ir.outcome import Outcome
from noetl_ir.registry import load, names
from services import postgres
from snowflake_emulation import Stuck
from tool_doubles import FakeEnv, call_of, failed, http_server, processes, waited

KINDS = names("noetl.tools")
Run = Callable[[Call, Env], Awaitable[Outcome]]


class Silent(BaseHTTPRequestHandler):
    """Takes a request and lets it wait."""

    def do_GET(self) -> None:
        time.sleep(5)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


SLOW = "slow"
"""The name of a credential that takes long to be had."""


class SlowEnv(FakeEnv):
    """An environment with such a credential."""

    async def credential(self, name: str) -> dict[str, Json]:
        if name == SLOW:
            await asyncio.sleep(613)
        return await super().credential(name)


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return SlowEnv(tmp_path, {"c": {"token": "t"}})


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container engine whose containers never end."""
    (tmp_path / "podman").write_text('#!/bin/sh\n[ "$1" = rm ] || { sleep 613 & sleep 613; }\n')
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(autouse=True)
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Snowflake session whose statements never end."""
    if "[snowflake]" in request.node.name:
        monkeypatch.setattr("snowflake.connector.connect", Stuck)


def run_of(kind: str) -> Run:
    return load("noetl.tools", kind, "run", FunctionType)


def slow_call(kind: str, root: Path, url: str) -> Call | None:
    """A call that is not done for a long time; None for a tool that never waits."""
    (root / "slow.sh").write_text("sleep 613 & sleep 613")
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    fields: dict[str, dict[str, Json]] = {
        "http": {"url": url},
        "python": {"code": "import time; time.sleep(613)"},
        "shell": {"command": "sleep 613 & sleep 613"},
        "script": {"file": "slow.sh"},
        "sqlite": {"command": endless},
        "duckdb": {"command": "SELECT count(*) FROM range(100000000000) a, range(100000) b WHERE a.range = b.range"},
        "postgres": {"command": "SELECT pg_sleep(613)", "dsn": postgres().url if kind == "postgres" else ""},
        "container": {"image": "slow"},
        "quantum": {"op": "results", "job_id": id_of(Job({"qubits": 16, "gates": [["h", 0]] * 5000}, 1, 1, 0, 0))},
        "snowflake": {"command": "SELECT 1", "auth": {"account": "a", "user": "u", "password": "p"}},
        "transfer": {"source": {"kind": "sqlite", "query": endless}, "target": {"kind": "file", "path": "x.csv"}},
        "secrets": {"secret": SLOW},
        "ducklake": {"command": "SELECT 1", "catalog_name": "l", "auth": SLOW},
        "artifact": {"uri": "gs://b/o", "endpoint": url},
        "gcs": {"operation": "list", "bucket": "b", "endpoint": url},
        "nats": {"operation": "kv_keys", "bucket": "b", "url": f"nats://{url.removeprefix('http://')}"},
    }
    if kind not in fields:
        assert not waits(kind), f"the tool {kind} awaits something: slow_call needs a call of it that takes long"
        return None
    return call_of(kind, fields[kind])


def waits(kind: str) -> bool:
    """Whether a tool awaits anything: one that does not cannot be cancelled in between."""
    module = inspect.getmodule(run_of(kind))
    assert module is not None
    return any(isinstance(node, ast.Await) for node in ast.walk(ast.parse(inspect.getsource(module))))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_has_a_contract_that_says_it_is_there(kind: str) -> None:
    assert load("noetl_ir.kinds", kind, "KIND", Kind).available


@pytest.mark.parametrize("kind", KINDS)
def test_fields_that_do_not_fit_are_an_error_outcome(kind: str, env: FakeEnv) -> None:
    contract = load("noetl_ir.kinds", kind, "KIND", Kind)
    bad: list[dict[str, Json]] = [{"no_such_field": 1}]
    bad += [{name: {"a": object}} for name, known in contract.fields.items() if known.shapes == ("text",)][:1]  # type: ignore[dict-item]
    for fields in bad:
        outcome = waited(run_of(kind)(call_of(kind, fields), env))  # type: ignore[arg-type]
        assert failed(outcome)["code"] == "fields.invalid"
        pack(outcome.as_json())


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_field_takes_any_text_without_an_exception(kind: str, env: FakeEnv) -> None:
    contract = load("noetl_ir.kinds", kind, "KIND", Kind)
    for name, known in contract.fields.items():
        if "text" in known.shapes or "any" in known.shapes:
            for text in ("", "\0", "\ud800", "'; --", "../..", "{{ x }}"):
                outcome = waited(run_of(kind)(call_of(kind, {name: text}, timeout=10), env))  # type: ignore[arg-type]
                assert isinstance(outcome, Outcome)
                pack(outcome.as_json())


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_tool_leaves_nothing_running(kind: str, env: FakeEnv, tmp_path: Path) -> None:
    before = ours()
    with http_server(Silent) as url:
        call = slow_call(kind, tmp_path, url)
        if call is None:
            pytest.skip("this tool never waits")

        async def cancelled_early() -> None:
            for delay in (0, 0.001, 0.05):
                task = asyncio.ensure_future(run_of(kind)(call, env))
                await asyncio.sleep(delay)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        waited(cancelled_early())
    for _ in range(500):
        left = (ours() - before) | {number for number, (_, words) in processes().items() if words == "sleep 613 "}
        if not left:
            break
        time.sleep(0.01)
    assert not left


def ours() -> set[int]:
    """The children of this process, but for the watchdog that kills the others when we are killed."""
    return {
        number for number, (parent, words) in processes().items() if parent == os.getpid() and "while read" not in words
    }
