"""A mistake of the engine in a turn of one execution ends that one, and no other.

The mistake is made at every function of the engine in turn: a profiler raises when it is called for the first time,
and for the last time, in a run of everything.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

import pytest

import noetl.engine
import noetl.server.execution
from harness.running import HEAD, compiled, run
from harness.serving import served, until
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.replay import replay
from noetl.engine.starting import Request
from noetl.engine.turn import Turn
from noetl.ports import Wanted
from noetl.worker.scripted import read_script

ENGINE = str(Path(noetl.engine.__file__).parent)
TEXT = """
workload: {n: "{{ 1 + 1 }}"}
workflow:
  - step: start
    tool: [{name: other, kind: playbook, path: t/other, spec: {wait: false}}]
    next:
      spec: {mode: inclusive}
      arcs: [{step: loop}, {step: route, when: "{{ workload.n == 2 }}", args: {x: 1}}]
  - step: loop
    loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - name: one
        kind: noop
        args: {i: "{{ iter.i }}"}
        spec:
          policy:
            rules:
              - {when: "{{ iter.again is not defined }}", then: {do: jump, to: one, set_iter: {again: 1}}}
              - else: {then: {do: continue, set_ctx: {done: true}}}
    next: {arcs: [{step: meet}]}
  - step: route
    spec: {policy: {admit: {rules: [{when: "{{ args.x == 1 }}", then: {allow: true}}]}}}
    tool: [{name: waits, kind: wait, timers: {soon: 1}}, {name: broken, kind: playbook, path: t/child}]
    next: {arcs: [{step: meet, when: "{{ event.name == 'step.failed' }}"}, {step: meet}]}
  - {step: meet, spec: {policy: {join: all}}, tool: {kind: noop, result: 7}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: other, path: t/other}
workflow:
  - {step: start, tool: {kind: wait, timers: {soon: 2}}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: fine}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: t/child}
workflow:
  - {step: start, tool: {kind: noop, result: 1}}
"""


class Mistake(Exception):
    """An exception that no turn may raise."""


class Calls:
    """The calls of functions of the engine, in order; the one with the number `at` raises."""

    def __init__(self, at: int = -1) -> None:
        self.names: list[str] = []
        self.at = at

    def profile(self, frame: FrameType, event: str, arg: object) -> None:
        del arg
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ENGINE) or code.co_name.startswith("<"):
            return
        # The state itself is looked at everywhere; a generator that is given up is entered once more and may not raise.
        if code.co_filename.endswith("execution.py") or code.co_flags & CO_GENERATOR:
            return
        self.names.append(f"{Path(code.co_filename).stem}.{code.co_name}")
        if len(self.names) - 1 == self.at:
            raise Mistake(f"{self.names[-1]} holds a secret")

    @contextmanager
    def watching(self) -> Iterator[None]:
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(None)


class Ends(NamedTuple):
    """How the executions of a run ended, by the name of their playbook: the status and the code of the failure; `logs`
    are right by replay.
    """

    of: dict[str, list[tuple[str, str | None]]]
    calls: list[str]
    texts: str


def ends(tmp_path: Path, at: int = -1) -> Ends:
    """Run everything, with a mistake at one call of the engine."""
    calls, found = Calls(at), dict[str, list[tuple[str, str | None]]]()
    with open_runtime("memory:///x", Settings(root=tmp_path, script=read_script({})), no_compiler) as runtime:
        program = runtime.programs.add_plan(compiled(TEXT))
        with driver_of(runtime, "e1", lambda *_: None) as driver, calls.watching():
            driver.embedded.start(program, "e1", Request({}))
        texts = ""
        for row in runtime.store.executions(Wanted()):
            log = [event for _, event in runtime.events(row.execution_id)]
            verdict = replay(runtime.programs.load(row.plan_digest), row.execution_id, log)
            assert verdict.wrong is None, (calls.names[at], verdict.wrong)
            error = next((event.data.get("error") for event in log if event.event_type == "workflow.finished"), None)
            found.setdefault(row.playbook, []).append((row.status, error["code"] if isinstance(error, dict) else None))
            texts += "".join(str(event.data) for event in log)
    return Ends(found, calls.names, texts)


def test_what_a_mistake_ended_goes_on_when_it_is_tried_again(tmp_path: Path) -> None:
    """Not by itself: the mistake would be made again. Tried again it stands where it stood before."""
    fine = ends(tmp_path)
    for name in ("routing.route", "reports.accept", "looping.begin_iteration", "reports.fire_timer"):
        calls = Calls(fine.calls.index(name))
        with open_runtime("memory:///x", Settings(root=tmp_path, script=read_script({})), no_compiler) as runtime:
            program = runtime.programs.add_plan(compiled(TEXT))
            with driver_of(runtime, "e1", lambda *_: None) as driver, calls.watching():
                assert driver.embedded.start(program, "e1", Request({})) == "failed", name
            with driver_of(runtime, "e1", lambda *_: None) as driver:
                assert driver.embedded.resume(program, "e1") == "failed", name
            with driver_of(runtime, "e1", lambda *_: None) as driver:
                assert driver.embedded.resume(program, "e1", retry_fault=True) == "completed", name
            log = [event for _, event in runtime.events("e1")]
            assert replay(program, "e1", log).wrong is None, name
            row = runtime.store.execution("e1")
            assert row is not None and (row.status, row.ended is None) == ("completed", False)


def test_a_server_tries_again_what_a_mistake_ended_when_it_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = noetl.server.execution.decide, list[str]()

    def mistaken(turn: Turn) -> None:
        if turn.execution.ctx.get("go") == 1 and not made:
            made.append("once")
            raise Mistake("once")
        real(turn)

    monkeypatch.setattr(noetl.server.execution, "decide", mistaken)
    with served(tmp_path) as server:
        source = (
            HEAD
            + """
workflow:
  - step: start
    tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {go: 1}}}}]}}}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, result: right}}
"""
        )
        server.client.post("/playbooks?name=t.yaml", content=source.encode()).raise_for_status()
        name = server.client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        place = f"/executions/{name}"
        until(lambda: server.client.get(place).json()["status"] == "failed")
        assert server.client.post(f"{place}/resume").status_code == 409
        assert server.client.post(f"{place}/retry-fault").status_code == 202
        until(lambda: server.client.get(place).json()["status"] == "completed")
        assert server.client.get(f"{place}/result").json() == {"result": "right"}
        assert server.client.get(f"{place}/replay").json()["legal"] is True
        again = server.client.post(f"{place}/retry-fault")
        assert (again.status_code, "did not end by engine.fault" in again.text) == (409, True)


def test_a_mistake_in_a_pipeline_is_a_fault_of_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*args: object, **more: object) -> object:
        raise Mistake("holds a secret")

    for module, name in (("noetl.worker.session", "judge"), ("noetl.worker.session", "field_scope")):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{name}", mistaken)
            ran = run(
                """
workflow:
  - step: start
    tool: {kind: noop, args: {x: "{{ 1 + 1 }}"}}
    next: {arcs: [{step: mended, when: "{{ event.error.code == 'engine.fault' }}"}]}
  - {step: mended}
"""
            )
        assert ran.of("step.failed", "start")[0].data["error"]["code"] == "engine.fault"  # type: ignore[index, call-overload]
        assert ran.ran("mended") == 1 and "secret" not in str(ran.log)


def no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(path)


def places(calls: list[str]) -> list[int]:
    """The first and the last call of every function, and some between."""
    first, last = dict[str, int](), dict[str, int]()
    for number, name in enumerate(calls):
        first.setdefault(name, number)
        last[name] = number
    begun = calls.index("starting.start")  # before it nothing is started, and whoever asked is told
    some = Random(len(calls)).sample(range(len(calls)), 20)
    return sorted(number for number in {*first.values(), *last.values(), *some} if number >= begun)


def test_a_mistake_at_any_call_of_the_engine_ends_one_execution_and_no_other(tmp_path: Path) -> None:
    fine = ends(tmp_path)
    assert fine.of == {name: [("completed", None)] for name in ("t/t", "t/other", "t/child")}
    assert len(set(fine.calls)) > 100
    ended: set[str] = set()
    for at in places(fine.calls):
        found = ends(tmp_path, at)
        faulted = [name for name, rows in found.of.items() for _, code in rows if code == "engine.fault"]
        # A child that could not be begun is a failure of the task that calls it, and no execution.
        # One whose end was on disk has ended so.
        is_told = "engine.fault" in found.texts or found.of == fine.of
        assert len(faulted) < 2 and is_told, (found.calls[at], found.of)
        assert "holds a secret" not in found.texts
        if "t/other" in found.of and faulted != ["t/other"]:
            assert found.of["t/other"] == [("completed", None)], (found.calls[at], found.of)
        over = {"completed", "failed", "cancelled"} if faulted == ["t/t"] else {"completed", "failed"}
        assert {status for rows in found.of.values() for status, _ in rows} <= over, (found.calls[at], found.of)
        ended |= set(faulted)
    assert ended == {"t/t", "t/other", "t/child"}
