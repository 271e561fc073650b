"""The contract of every tool, whichever it is: one outcome, clean as JSON, no exception, nothing left running.

A tool is tested by existing. How a call of it is held up says `slow_<kind>` beside its own tests, where its required
fields alone, in an environment whose credentials never come, are not enough.
"""

import ast
import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType

import pytest

from noetl.ports import Env, ToolCall
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.kinds import Kind
from noetl_ir.outcome import Outcome
from noetl_ir.registry import load, names
from snowflake_emulation import Stuck
from tool_doubles import FakeEnv, call_of, failed, http_server, processes, waited

KINDS = names("noetl.tools")
TESTS = Path(__file__).parent.parent / "runtime" / "tools"
FIRST_TURNS = 25
"""Turns of the loop within which a tool has connected to a server on this machine."""
Run = Callable[[ToolCall, Env], Awaitable[Outcome]]


class Silent(BaseHTTPRequestHandler):
    """Takes what is sent, in whatever protocol, and sends nothing until the client goes."""

    def handle(self) -> None:
        self.request.settimeout(5)
        with suppress(OSError):
            while self.request.recv(65_536):
                pass

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


class SlowEnv(FakeEnv):
    """An environment in which no credential is had for a long time."""

    async def credential(self, name: str) -> dict[str, Json]:
        await asyncio.sleep(613)
        return await super().credential(name)


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path, {"c": {"token": "t"}})


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


TOO_SOON = """the call is over too soon. Write into tests/runtime/tools/test_{0}.py
    def slow_{0}(root: Path, url: str) -> dict[str, Json]:
with the fields of a call that takes minutes: `url` is of a server that never responds; `slow.sh` in `root` sleeps."""


def slow_call(kind: str, root: Path, url: str) -> ToolCall | None:
    """A call that is not done for a long time; None for a tool that never waits.

    `url` is of a server that never responds, `root` the folder of the playbook. Most kinds wait for their credential
    first, so a call with a word in each field that must be given is slow by itself.
    """
    (root / "slow.sh").write_text("sleep 613 & sleep 613")
    if not waits(kind):
        return None
    fields = slow_fields(kind)
    if fields is not None:
        return call_of(kind, fields(root, url))
    contract = load("noetl_ir.kinds", kind, "KIND", Kind)
    needed = [name for name, known in contract.fields.items() if known.required]
    return call_of(kind, dict.fromkeys([*needed, *(names[0] for names in contract.one_of)], "slow"))


def slow_fields(kind: str) -> Callable[[Path, str], dict[str, Json]] | None:
    """The function `slow_<kind>`, wherever it stands beside the tests of tools."""
    for path in sorted(TESTS.glob("test_*.py")):
        if f"def slow_{kind}(" in path.read_text("utf-8"):
            spec = spec_from_file_location(f"slow_{kind}", path)
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return getattr(module, f"slow_{kind}")  # type: ignore[no-any-return]
    return None


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
def test_a_cancelled_tool_leaves_nothing_running(kind: str, tmp_path: Path) -> None:
    before = ours()
    with http_server(Silent) as url:
        call = slow_call(kind, tmp_path, url)
        if call is None:
            pytest.skip("this tool never waits")

        # At each of the first turns of the loop, as an answer may come in the same one; and when it has come to rest.
        async def cancelled_early() -> None:
            for turns, seconds in (*((turns, 0.0) for turns in range(FIRST_TURNS)), (0, 0.001), (0, 0.05)):
                task = asyncio.ensure_future(run_of(kind)(call, SlowEnv(tmp_path, {"c": {"token": "t"}})))
                for _ in range(turns):
                    await asyncio.sleep(0)
                await asyncio.sleep(seconds)
                assert not task.done(), TOO_SOON.format(kind)
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
