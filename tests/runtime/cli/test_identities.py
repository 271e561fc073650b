"""The id of an execution in what people write (SQL, `int`, python, paths, the command line), and ids from before."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.running import HEAD, compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.execution import Execution
from noetl.engine.identities import child_ids
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import ExecutionRow
from noetl_ir.events import Event, write_event
from services import postgres

if TYPE_CHECKING:
    from conftest import Home

OLD = "01a21f6d3ef84094738a"
"""An id in the form that ids had before: 48 bits of milliseconds and 32 of chance, in hex."""
ID = "3706140701491200005"
COUNT = "SELECT count(*) AS n FROM ids WHERE"
USES = """
workload: {run: "{{ execution_id }}"}
workflow:
- step: start
  tool:
  - {name: made, kind: KIND, WHERE, command: "DROP TABLE IF EXISTS ids;
      CREATE TABLE ids (number BIGINT, word TEXT);
      INSERT INTO ids VALUES ({{ execution_id }}, '{{ execution_id }}')"}
  - {name: as_number, kind: KIND, WHERE, command: "COUNT number = {{ execution_id }}"}
  - {name: as_whole, kind: KIND, WHERE, command: "COUNT number = {{ execution_id | int }}"}
  - {name: as_text, kind: KIND, WHERE, command: "COUNT word = '{{ execution_id }}'"}
  - {name: number_bound, kind: KIND, WHERE, command: "COUNT number = BOUND", params: {id: "{{ execution_id }}"}}
  - {name: text_bound, kind: KIND, WHERE, command: "COUNT word = BOUND", params: {id: "{{ execution_id }}"}}
  - name: python
    kind: python
    args: {run: "{{ workload.run }}"}
    code: |
      same = execution_id == context["execution_id"] == run
      result = {"text": execution_id, "number": int(execution_id), "same": same}
  - name: counted
    kind: noop
    result:
      numbers: ["{{ as_number.rows[0].n }}", "{{ as_whole.rows[0].n }}", "{{ number_bound.rows[0].n }}"]
      texts: ["{{ as_text.rows[0].n }}", "{{ text_bound.rows[0].n }}"]
      python: "{{ python }}"
      whole: "{{ execution_id | int }}"
      text: "{{ execution_id }}"
      within: "run {{ execution_id }}"
"""


@pytest.mark.parametrize(("kind", "bound"), [("sqlite", ":id"), ("duckdb", "$id"), ("postgres", "%(id)s")])
def test_the_id_is_a_number_where_one_is_wanted_and_text_everywhere_else(home: "Home", kind: str, bound: str) -> None:
    where = "database: ids.db" if kind != "postgres" else "auth: pg"
    keychain = "keychain: [{name: pg, kind: env, map: {dsn: PG_DSN}}]\n" if kind == "postgres" else ""
    body = USES.replace("COUNT", COUNT).replace("KIND", kind).replace("WHERE,", f"{where},").replace("BOUND", bound)
    if kind == "postgres":
        home.env["PG_DSN"] = postgres().url
    plan = home.plan(keychain + body)
    ran = home.run("run", plan, "--json")
    assert ran.returncode == 0, ran.stderr
    name = home.only()
    assert re.fullmatch(r"[1-9][0-9]{18}", name) and int(name) < 2**63
    result = home.json("result", name)
    assert result == {
        "numbers": [1, 1, 1], "texts": [1, 1],
        "python": {"text": name, "number": int(name), "same": True},
        "whole": int(name), "text": name, "within": f"run {name}",
    }  # fmt: skip


def test_in_json_the_id_is_text_wherever_it_stands(home: "Home") -> None:
    plan = home.plan('workflow: [{step: start, tool: {kind: noop, result: "{{ execution_id }}"}}]\n')
    ran = home.json("run", plan)
    name = home.only()
    said = [ran, home.json("list"), home.json("status", name), home.json("result", "last"), home.json("replay", name)]
    said.append(home.run("events", name, "--json").stdout)
    assert all(name in str(document) for document in said[:4]) and name in str(said[-1])
    bare = re.compile(rf"(?<![\"\w]){name}(?![\"\w])")
    for words in (("list",), ("status", name), ("result", name), ("events", name)):
        assert not bare.search(home.run(*words, "--json").stdout), words


def test_ids_grow_and_their_beginnings_and_last_name_them(home: "Home") -> None:
    plan = home.plan("workflow: [{step: start, tool: {kind: noop, result: 1}}]\n")
    for _ in range(3):
        assert home.run("run", plan, "--quiet").returncode == 0
    rows = home.json("list")
    names = [str(row["execution_id"]) for row in rows]  # type: ignore[attr-defined]
    assert sorted(names, key=int, reverse=True) == names, "the newest comes first"
    assert home.json("status", "last")["execution_id"] == names[0]  # type: ignore[index,call-overload]
    assert home.json("status", names[1][:-1] + names[1][-1])["execution_id"] == names[1]  # type: ignore[index,call-overload]
    ambiguous = home.run("status", names[0][:3])
    assert ambiguous.returncode != 0 and "3 executions begin with" in ambiguous.stderr


CALLER = """
workflow:
- {step: start, tool: {kind: noop, result: "{{ execution_id }}"}, next: {arcs: [{step: call}]}}
- {step: call, tool: {kind: playbook, path: t/child}}
---
""" + HEAD.replace("t/t", "t/child") + """
workflow:
- {step: start, tool: {kind: wait, events: [go]}}
"""  # fmt: skip


def paused(folder: Path, name: str, called: Callable[[Runtime, Program, Event], None] | None = None) -> dict[str, str]:
    """Start the caller under a name in the store of a folder, until it and its child wait; all playbooks by id.

    `called` hears of the call when it is on disk, before the child is started.
    """
    plan = compiled(CALLER)
    (folder / ".noetl").mkdir()
    with open_runtime(f"sqlite:///{folder}/.noetl/noetl.db", Settings(), _no_compiler) as runtime:
        program = runtime.programs.add_plan(plan)

        def observe(execution: Execution, _: Program, event: Event) -> None:
            mine = execution.execution_id == name
            if called is not None and mine and event.event_type == "task.started" and "call" in event.data:
                called(runtime, program, event)
            if not mine and event.event_type == "task.started":
                runtime.store.post(name, "pause", None)

        with driver_of(runtime, name, observe) as driver:
            assert driver.embedded.start(program, name, Request({})) == "paused"
        return {row.execution_id: row.playbook for row in runtime.store.executions()}


def _no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(f"asked to compile {path}")


def test_an_execution_from_before_is_read_resumed_and_replayed(home: "Home") -> None:
    names = paused(home.folder, OLD)
    [child] = [name for name in names if name != OLD]
    assert re.fullmatch("c[0-9a-f]{23}", child)
    assert home.json("status", OLD[:5])["status"] == "paused"  # type: ignore[index,call-overload]
    assert OLD in home.run("list").stdout and OLD in home.run("events", OLD, "--json").stdout
    assert home.run("signal", child, "--name", "go", "--data", "7").returncode == 0
    resumed = home.run("resume", OLD, "--quiet")
    assert resumed.returncode == 0, resumed.stderr
    assert home.json("result", OLD) == {"name": "go", "data": 7}
    assert home.json("result", OLD, "start") == OLD
    assert {row["execution_id"] for row in home.json("list")} == {OLD, child}  # type: ignore[attr-defined]
    for name in (OLD, child):
        assert home.run("replay", name).returncode == 0
    newer = home.run("run", home.plan("workflow: [{step: start, tool: {kind: noop, result: 1}}]\n"), "--quiet")
    assert newer.returncode == 0
    assert home.json("status", "last")["execution_id"] not in names  # type: ignore[index,call-overload]


def squat(runtime: Runtime, program: Program, event: Event) -> None:
    """Take the two ids that the child would have, one for a stranger and one for another call of the same caller."""
    first, second = itertools.islice(child_ids(ID, f"{event.run}:{event.task}:{event.visit}:1", event.ts), 2)
    other = event._replace(event_id="x", data={"call": "9:9:9:9", "parent": [ID, event.run]})
    runtime.store.create(ExecutionRow(first, "t/stranger", program.digest, "completed", None, 1, 1))
    row = ExecutionRow(second, "t/sibling", program.digest, "completed", ID, 1, 1)
    runtime.store.create(row, [("x", write_event(other))])


def test_a_child_whose_id_another_execution_has_gets_the_next_one_and_keeps_it(home: "Home") -> None:
    """Its number is drawn from 21 bits: that it is taken is rare, not impossible."""
    rows = paused(home.folder, ID, squat)
    [child] = [name for name, playbook in rows.items() if playbook == "t/child"]
    [sibling] = [name for name, playbook in rows.items() if playbook == "t/sibling"]
    assert (int(child) - int(sibling)) % 2**21 == 1
    assert home.run("signal", child, "--name", "go", "--data", "7").returncode == 0
    assert home.run("resume", ID, "--quiet").returncode == 0
    assert home.json("result", ID) == {"name": "go", "data": 7}
    assert len(home.json("list")) == 4  # type: ignore[arg-type]
    assert home.run("replay", child).returncode == 0
