"""Scenarios of groups B, F and J about how runs end, are cancelled and stopped, and call each other."""

import time
from pathlib import Path

import pytest

from harness.running import HEAD, compiled, run
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request


def test_scenario_32_a_failed_run_is_failed_in_every_view(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    text = """
workflow:
  - {step: start, tool: [{name: t, kind: python, code: "raise ValueError('x')"}]}
"""
    ran = run(text, real=True, url=url)
    assert ran.status == ran.execution.status == "failed"
    assert [event.data["status"] for event in ran.of("workflow.finished")] == ["failed"]
    with open_runtime(url, Settings(), lambda path: (b"", {})) as runtime:
        row = runtime.store.execution("e1")
        assert row is not None and row.status == "failed" and row.ended is not None
        assert [each.status for each in runtime.store.executions()] == ["failed"]
    error = ran.execution.failure
    assert error is not None and "x" in str(error["message"]) and error["step"] == "start"


def test_scenario_80_a_cancelled_run_runs_nothing_more(tmp_path: Path) -> None:
    """The attempt that runs is stopped, and taking the execution up again does nothing."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    text = """
workflow:
  - {step: start, tool: [{name: t, kind: shell, command: "sleep 1; touch ran_a"}], next: {arcs: [{step: b}]}}
  - {step: b, tool: [{name: t, kind: shell, command: "touch ran_b"}]}
"""
    with open_runtime(url, Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(text))
        asked: list[int] = []

        def observe(execution: object, plan: object, event: object) -> None:
            if not asked and getattr(event, "event_type", "") == "task.started":
                asked.append(runtime.store.post("e1", "cancel", None))

        with driver_of(runtime, "e1", observe) as driver:  # type: ignore[arg-type]
            assert driver.embedded.start(program, "e1", Request({})) == "cancelled"
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            before = [event for _, event in runtime.events("e1")]
            assert driver.embedded.resume(program, "e1") == "cancelled"
            assert [event for _, event in runtime.events("e1")] == before
    time.sleep(1.1)
    assert not (tmp_path / "ran_a").exists() and not (tmp_path / "ran_b").exists()


def test_scenario_86_an_attempt_that_is_stopped_with_its_worker_is_started_again(tmp_path: Path) -> None:
    """Stopped while it runs: nothing of it is lost, the next owner claims it anew."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    text = """
workflow:
  - {step: start, tool: [{name: t, kind: shell, command: "echo x >> runs; sleep 0.3; exit 3"}]}
"""
    with open_runtime(url, Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(text))
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            waiter = driver.embedded._parts.launcher
            passing = waiter.pass_time

            def stop(due: int | None) -> bool:
                driver.embedded.interrupt()
                return bool(passing(due))

            waiter.pass_time = stop  # type: ignore[method-assign]
            assert driver.embedded.start(program, "e1", Request({})) == "interrupted"
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.resume(program, "e1") == "failed"
            assert driver.execution.failure is not None
        log = [event for _, event in runtime.events("e1")]
    assert [event.claim for event in log if event.event_type == "task.started"] == [1, 2]
    assert len((tmp_path / "runs").read_text("ascii").split()) <= 2


CHILD = "{head}workflow:\n  - {{step: start, tool: {{name: c, kind: playbook, path: t/{path}}}}}\n"


@pytest.mark.parametrize("limit", [3, 16])
def test_scenario_118_playbooks_that_call_each_other_stop_at_the_depth(limit: int, tmp_path: Path) -> None:
    """No more executions than the limit allows; the error says where."""
    (tmp_path / "t").mkdir()
    spec = f"executor: {{spec: {{policy: {{limits: {{max_children_depth: {limit}}}}}}}}}\n"
    for name, other in (("a", "b"), ("b", "a")):
        text = CHILD.format(head=HEAD.replace("t/t", f"t/{name}") + spec, path=other)
        (tmp_path / "t" / f"{name}.yaml").write_text(text, "utf-8")
    ran = run((tmp_path / "t" / "a.yaml").read_text("utf-8"), folders=(tmp_path,))
    assert ran.status == "failed"
    executions = {execution_id for execution_id, _, _ in ran.seen}
    assert len(executions) == limit + 1
    error = ran.execution.failure
    while error is not None and "cause" in error:
        error = error["cause"]  # type: ignore[assignment]
    assert error is not None and error["code"] == "playbook.depth" and str(limit) in str(error["message"])


def test_scenario_118_a_deep_chain_below_the_limit_works(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for number in range(10):
        head = HEAD.replace("t/t", f"t/c{number}")
        (tmp_path / "t" / f"c{number}.yaml").write_text(CHILD.format(head=head, path=f"c{number + 1}"), "utf-8")
    leaf = HEAD.replace("t/t", "t/c10") + "workflow:\n  - {step: start, tool: {kind: noop, args: {deep: 10}}}\n"
    (tmp_path / "t" / "c10.yaml").write_text(leaf, "utf-8")
    ran = run((tmp_path / "t" / "c0.yaml").read_text("utf-8"), folders=(tmp_path,))
    assert ran.status == "completed"
    assert ran.execution.last_result == {"deep": 10}
