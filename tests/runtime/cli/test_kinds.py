"""Kinds that cannot run here stop a run before its first event."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.running import HEAD, compiled
from harness.serving import served
from noetl.host import runnable_kinds
from noetl.worker.fields import kind_of
from noetl_ir.plan_format import read_plan
from noetl_ir.registry import names

if TYPE_CHECKING:
    from tests.runtime.cli.conftest import Home

TASKS = {
    "duckdb": "command: SELECT 1",
    "postgres": "command: SELECT 1, dsn: x",
    "snowflake": "command: SELECT 1, account: a, user: u",
    "nats": "operation: kv_keys, bucket: b, url: 'nats://x'",
}
LOOP = """
workflow:
  - step: start
    loop: {in: "{{ [1, 2] }}", iterator: n}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: %s}
"""


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    runnable_kinds.lacking.cache_clear()
    monkeypatch.setattr(runnable_kinds, "lacking", runnable_kinds.lacking.__wrapped__)


@pytest.mark.parametrize("kind", TASKS)
def test_what_needs_an_extra_that_is_missing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = read_plan(compiled(LOOP % f"{kind}, {TASKS[kind]}"))
    assert runnable_kinds.unable(plan) == ()
    module = kind_of(kind).module.partition(".")[0]
    monkeypatch.setitem(sys.modules, module, None)
    for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    (told,) = runnable_kinds.unable(plan)
    assert told == f"the kind `{kind}` of step `start` in `t/t` needs the extra: pip install 'noetlc[{kind}]'"


def test_a_container_needs_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (told,) = runnable_kinds.unable(read_plan(compiled(LOOP % "container, image: x")))
    assert "needs a container engine: none of podman, docker, nerdctl is on PATH" in told


EXECUTOR = "executor: {%s}\nworkflow:\n  - {step: start}\n"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("kind: distributed, profile: local, version: noetl-runtime/1", ()),
        ("requires: {tools: [http, shell, iterator], features: [templating, result_storage]}", ()),
        ("version: noetl-runtime/2", ("requires the runtime `noetl-runtime/2`, and this one is `noetl-runtime/1`",)),
        ("requires: {tools: [rhai]}", ("requires the kind `rhai`, which is not run by this version",)),
        ("requires: {tools: [teleport]}", ("requires the kind `teleport`, which is not known here",)),
        ("requires: {features: [qpu]}", ("requires the feature `qpu`, and there are case_v1",)),
    ],
)
def test_what_the_executor_requires_is_asked_before_a_run(asked: str, told: tuple[str, ...]) -> None:
    found = runnable_kinds.unable(read_plan(compiled(EXECUTOR % asked)))
    assert len(found) == len(told) and all(words in sentence for words, sentence in zip(told, found, strict=True))


def test_nothing_is_started_where_it_is_not_met(home: "Home") -> None:
    plan = home.plan(EXECUTOR % "requires: {features: [qpu]}")
    done = home.run("run", plan)
    assert done.returncode == 1 and "nothing was started" in done.stderr and "`qpu`" in done.stderr
    assert home.json("list") == []


def test_packages_need_an_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.host.python_environments.installer", lambda: None)
    asked = "python, code: 'result = x', requirements: [sums==1.0]"
    for more in ("", ", libs: {x: os}", ", auth: '{{ n }}'"):
        (told,) = runnable_kinds.unable(read_plan(compiled(LOOP % (asked + more))))
        assert told.startswith("step `start` in `t/t` has `requirements`, for which uv is needed: pip install")
    assert runnable_kinds.unable(read_plan(compiled(LOOP % "python, code: 'result = 1'"))) == ()


def test_children_are_asked_too() -> None:
    child = HEAD.replace("t/t", "t/c") + "workflow:\n  - {step: start, tool: {kind: rhai, code: x}}\n"
    plan = read_plan(compiled(f"workflow:\n  - {{step: start, tool: {{kind: playbook, path: t/c}}}}\n---\n{child}"))
    assert runnable_kinds.unable(plan) == ("the kind `rhai` of step `start` in `t/c` is not run by this version",)


def test_every_kind_of_a_plain_install_can_run_here() -> None:
    plain = {name for name in names("noetl_ir.kinds") if kind_of(name).available and not kind_of(name).module}
    assert {name for name in plain - {"container"} if runnable_kinds.lacking(name)} == set()


def test_run_refuses_and_leaves_nothing(home: "Home") -> None:
    plan = home.plan(LOOP % "rhai, code: x")
    done = home.run("run", plan)
    assert done.returncode == 1 and "nothing was started:\nthe kind `rhai` of step `start`" in done.stderr
    assert home.json("list") == []
    (home.folder / "s.yaml").write_text("outcomes: [{step: start}]\n")
    assert home.run("run", plan, "--script", "s.yaml").returncode == 0


def test_a_server_refuses_what_its_own_worker_cannot_run(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        text = HEAD + LOOP % "rhai, code: x"
        server.client.post("/playbooks?name=t.yaml", content=text.encode()).raise_for_status()
        refused = server.client.post("/executions", json={"path": "t/t"})
        assert refused.status_code == 409 and "the kind `rhai`" in refused.json()["detail"]
        assert not server.runtime.store.executions()
