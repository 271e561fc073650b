"""Commands over all executions that fit a query, in a store beside the command."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.cli.progress import Silent
from noetl.engine.starting import Request
from noetl.server.children import NotFound

if TYPE_CHECKING:
    from conftest import Home

WAITS = "workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [go]}}\n"
FAILS = "workflow:\n  - {step: start, tool: {name: f, kind: fail, code: stock.empty, message: none left}}\n"


def no_children(path: Path) -> bytes:
    raise NotFound(str(path))


@pytest.fixture
def ids(home: "Home") -> dict[str, list[str]]:
    """Three that wait, of which nobody drives any, and two that failed."""
    found: dict[str, list[str]] = {"waits": [], "fails": []}
    plan = home.plan(WAITS)
    with open_runtime(f"sqlite:///{home.folder}/.noetl/noetl.db", Settings(root=home.folder), no_children) as runtime:
        program = runtime.programs.add_plan((home.folder / plan).read_bytes())
        for number in range(3):
            name = f"w{number}"
            with driver_of(runtime, name, Silent().observe) as driver:
                driver.control.start(program, name, Request({}))
                driver.control.settle()
            found["waits"].append(name)
    plan = home.plan(FAILS)
    for _ in range(2):
        found["fails"].append(home.json("run", plan)["execution_id"])  # type: ignore[index,call-overload]
    return found


def statuses(home: "Home") -> list[str]:
    return sorted(str(row["status"]) for row in home.json("list"))  # type: ignore[union-attr,index,call-overload]


def test_a_dry_run_names_them_and_does_nothing(home: "Home", ids: dict[str, list[str]]) -> None:
    before = statuses(home)
    for verb, count in (("cancel", 3), ("pause", 3), ("resume", 0), ("rerun", 2)):
        done = home.run(verb, "--query", "is:open or is:over", "--dry-run")
        assert done.returncode == 0 and f"{count} execution{'s' * (count != 1)}" in done.stdout
    assert home.run("signal", "--query", "is:open", "--name", "go", "--dry-run").returncode == 0
    assert statuses(home) == before and not home.json("list", "--query", "is:rerun")


def test_what_is_asked_is_done_and_what_refuses_is_told(home: "Home", ids: dict[str, list[str]]) -> None:
    done = home.run("pause", "--query", "is:top", "--limit", "2")
    assert done.stdout == "asked to pause: 2 executions; 1 more fit, and were left (--limit)\n"
    assert statuses(home) == ["failed", "failed", "paused", "paused", "running"]
    done = home.run("signal", "--query", "is:top", "--name", "stop")
    assert done.returncode == 1 and done.stdout == "signalled: 0 executions; 3 not\n"
    assert "not signalled: w2, w1, w0: nothing in the playbook waits for a signal `stop`" in done.stderr
    told = home.json("cancel", "--query", "id:w*", "--limit", "2")
    assert isinstance(told, dict) and told["left"] == 1
    assert [row["outcome"] for row in told["executions"]] == ["asked", "asked"]  # type: ignore[union-attr,index,call-overload]
    assert statuses(home) == ["cancelled", "cancelled", "failed", "failed", "running"]


def test_each_is_rerun_once(home: "Home", ids: dict[str, list[str]]) -> None:
    done = home.run("rerun", "--query", "error:stock.empty")
    assert done.returncode == 0 and done.stdout.endswith("rerun: 2 executions\n")
    again = home.run("rerun", "--query", "error:stock.empty")
    assert again.returncode == 1 and again.stdout == "rerun: 0 executions; 2 not\n"
    rows = home.json("list", "--query", "is:rerun")
    assert sorted(row["rerun_of"] for row in rows) == sorted(ids["fails"])  # type: ignore[union-attr,index,call-overload]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cancel"], "give either the ID of an execution or --query"),
        (["cancel", "x", "--query", "y"], "give either the ID of an execution or --query"),
        (["pause", "--query", " "], "--query is empty, and would mean all"),
        (["resume", "x", "--limit", "2"], "--limit goes with --query"),
        (["cancel", "x", "--dry-run"], "--dry-run goes with --query"),
        (["pause", "x", "--dry-run"], "--dry-run goes with --query"),
        (["resume", "x", "--dry-run"], "--dry-run goes with --query"),
        (["signal", "x", "--name", "x", "--dry-run"], "--dry-run goes with --query"),
        (["signal", "--key", "x", "--name", "x", "--dry-run"], "--dry-run goes with --query"),
        (["signal", "x", "--name", "x", "--limit", "2"], "--limit goes with --query"),
        (["signal", "--key", "x", "--name", "x", "--limit", "2"], "--limit goes with --query"),
        (["rerun", "--query", "x", "--key", "k"], "go with the ID of an execution"),
        (["signal", "--name", "x"], "give either the ID of an execution, or --query, or --key"),
        (["cancel", "--query", "stats:x"], "did you mean `status`?"),
    ],
)
def test_what_cannot_be_meant_is_told(home: "Home", words: list[str], told: str) -> None:
    done = home.run(*words)
    assert done.returncode == 2 and told in done.stderr
