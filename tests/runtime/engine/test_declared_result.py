"""The result that a playbook declares (EXTENSIONS.md §2): when it is asked, what it sees, what a fault does."""

import pytest

from harness.running import HEAD, run
from noetl.engine.replay import replay

FORK = """
executor: {spec: {result: "{{ %s }}"}}
workload: {k: 5, a: 9}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
  - step: a
    tool:
      {name: x, kind: shell, command: x, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: 7}}}}]}}}
  - step: b
    tool: {kind: shell, command: "true"}
"""
SCRIPT = {
    "outcomes": [
        {"step": "a", "takes": "1s", "outcome": {"result": "A"}},
        {"step": "b", "takes": "2s", "outcome": {"result": "B"}},
    ]
}


@pytest.mark.parametrize(
    ("asked", "result"),
    [
        # All branches are over; a key of `workload` comes before the step of that name.
        ("[steps.a, b]", ["A", "B"]),
        ("[a, b]", [9, "B"]),
        ("ctx.n + workload.k", 12),
        ("n", 7),
        ("b if false else None", None),
        ("workload.nothing | default(3)", 3),
    ],
)
def test_it_sees_what_arcs_see_without_event_args_and_iter(asked: str, result: object) -> None:
    done = run(HEAD + FORK % asked, SCRIPT)
    assert done.status == "completed" and done.execution.last_result == result
    (finished,) = done.of("workflow.finished")
    assert finished.data == {"status": "completed", "result": result}
    assert replay(done.program, "e1", done.log).wrong is None
    # What it came to is checked: another result is no run of this plan.
    at = done.log.index(finished)
    forged = [*done.log[:at], finished._replace(data={**finished.data, "result": "forged"}), *done.log[at + 1 :]]
    assert "data is" in str(replay(done.program, "e1", forged).wrong)


def test_it_is_asked_where_a_step_ends_all() -> None:
    text = (FORK % "[steps.a, steps.b is defined]").replace(
        "  - step: a\n", "  - step: a\n    spec: {policy: {terminate: completed}}\n"
    )
    done = run(HEAD + text, SCRIPT)
    assert done.status == "completed" and done.execution.last_result == ["A", False]
    assert replay(done.program, "e1", done.log).wrong is None


def test_a_fault_fails_the_execution_with_its_error() -> None:
    done = run(HEAD + FORK % "workload.nothing.at.all", SCRIPT)
    assert done.status == "failed" and done.ran("b") == 1
    (finished,) = done.of("workflow.finished")
    assert finished.data["error"] == {
        "code": "template.undefined",
        "message": "`executor.spec.result`: `workload.nothing.at.all` is undefined: there is no `workload.nothing`",
        "key": "executor.spec.result",
    }
    assert "result" not in finished.data and replay(done.program, "e1", done.log).wrong is None


@pytest.mark.parametrize(
    ("script", "status"),
    [
        (
            {"outcomes": [{"step": "a", "outcome": {"status": "error"}}, {"step": "b", "outcome": {"result": 1}}]},
            "failed",
        ),
        (SCRIPT, "cancelled"),
    ],
)
def test_it_is_asked_of_what_completes_alone(script: dict[str, object], status: str) -> None:
    text = (FORK % "workload.nothing").replace("do: continue", "do: fail")
    done = run(HEAD + text, script, at={0.5: "cancel"} if status == "cancelled" else None)
    assert done.status == status and "result" not in done.of("workflow.finished")[0].data
    if status == "failed":
        assert done.of("workflow.finished")[0].data["error"]["code"] != "template.undefined"  # type: ignore[index, call-overload]


def test_results_outside_of_the_log_are_read_by_their_paths() -> None:
    text = """
executor: {spec: {result: "{{ load.rows[-1] }}", policy: {limits: {max_payload_bytes: 4000}}}}
workflow:
  - {step: start, next: {arcs: [{step: load}]}}
  - {step: load, tool: {kind: noop, result: {rows: "{{ range(300) | list }}", rest: "{{ 'x' * 9000 }}"}}}
"""
    done = run(HEAD + text)
    assert done.status == "completed"
    assert done.execution.last_result == 299
    assert "__ref__" in str(done.of("task.done", "load")[0].data["result"])


def test_a_result_that_is_larger_than_an_event_is_stored_beside_the_log() -> None:
    text = """
executor: {spec: {result: "{{ 'x' * 9000 }}", policy: {limits: {max_payload_bytes: 4000}}}}
workflow:
  - {step: start, tool: {kind: noop}}
"""
    done = run(HEAD + text)
    assert done.status == "completed" and done.execution.last_result == "x" * 9000


def test_a_caller_that_names_a_step_gets_that() -> None:
    text = """
workflow:
  - step: start
    tool: {name: c, kind: playbook, path: t/child, return_step: b}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/child}
executor: {spec: {result: all}}
workflow:
  - {step: start, tool: {kind: noop, result: 1}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {kind: noop, result: 2}}
"""
    assert run(HEAD + text).execution.last_result == 2
    assert run(HEAD + text.replace(", return_step: b", "")).execution.last_result == "all"
