"""Scenarios of groups C and D: retry, time limits, jumps."""

import time
from pathlib import Path

import pytest

from harness.running import run

RETRY = (
    "spec: {policy: {rules: [{when: '{{ true }}', then: {do: retry, attempts: %s, backoff: exponential, delay: 600}}]}}"
)


def test_scenario_38_nothing_is_waited_for_after_the_last_attempt() -> None:
    ran = run(
        f"""
workflow:
  - {{step: start, tool: {{name: call, kind: http, url: "http://x", {RETRY % 2}}}}}
""",
        "outcomes: [{outcome: {status: error, http: {status: 503}}}]",
    )
    assert ran.status == "failed"
    assert ran.of("workflow.finished")[0].ts == 600 * 1_000_000


def test_scenario_40_attempts_of_one_is_no_retry_at_all() -> None:
    ran = run(
        f"""
workflow:
  - {{step: start, tool: {{name: call, kind: http, url: "http://x", {RETRY % 1}}}}}
""",
        "outcomes: [{outcome: {status: error}}]",
    )
    assert not ran.of("retry.started") and ran.execution.failure is not None
    assert ran.execution.failure["code"] == "retry.exhausted"


@pytest.mark.parametrize("best_effort", [False, True])
def test_scenario_44_the_limit_of_a_step_bounds_all_its_retries(best_effort: bool) -> None:
    """A second activation gets a fresh budget; `best_effort` makes no difference."""
    failure = "failure: {mode: best_effort}, " if best_effort else ""
    ran = run(
        f"""
workflow:
  - step: start
    spec: {{policy: {{{failure}lifecycle: {{timeout_s: 10}}}}}}
    tool:
      name: t
      kind: http
      url: "http://x"
      spec: {{policy: {{rules: [{{when: "{{{{ outcome.error }}}}", then: {{do: retry, attempts: 99, delay: 1}}}}]}}}}
    next: {{arcs: [{{step: again, when: "{{{{ event.error.code == 'timeout' }}}}"}}]}}
  - step: again
    tool: {{name: t, kind: noop, {SET}}}
    next: {{arcs: [{{step: start, when: "{{{{ ctx.n < 2 }}}}"}}]}}
""",
        "outcomes: [{takes: 3, step: start, outcome: {status: error}}]",
    )
    assert ran.status == "completed"
    assert [event.ts // 1_000_000 for event in ran.of("step.failed", "start")] == [10, 20]


SET = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: '{{ ctx.n | default(0) + 1 }}'}}}}]}}"


def test_scenario_46_the_body_of_a_task_that_timed_out_is_stopped(tmp_path: Path) -> None:
    """The limit of the task and that of the step: what ran is dead when the run goes on, its children too."""
    ran = run(
        """
workflow:
  - step: start
    tool:
      name: t
      kind: shell
      command: "sh -c 'sleep 1.2; echo task >> late' & sleep 1.2; echo task >> late"
      spec: {timeout: 0.2}
    next: {arcs: [{step: two, when: "{{ event.error.code == 'timeout' }}"}]}
  - step: two
    spec: {policy: {lifecycle: {timeout_s: 0.2}}}
    tool: {name: t, kind: shell, command: "sh -c 'sleep 1.2; echo step >> late' & sleep 1.2; echo step >> late"}
    next: {arcs: [{step: end, when: "{{ event.error.code == 'timeout' }}"}]}
""",
        real=True,
        root=tmp_path,
    )
    assert ran.status == "completed"
    time.sleep(1.4)
    assert not (tmp_path / "late").exists()


def test_scenario_48_jumps_run_in_flat_depth_and_within_their_budget() -> None:
    """2,000 jumps need no deeper stack than one; a budget of 500 ends them as a fault."""
    text = """
executor: {spec: {policy: {limits: {max_tasks_per_run: %d}}}}
workflow:
  - step: start
    tool:
      name: t
      kind: noop
      spec:
        policy:
          rules:
            - when: "{{ iter.n | default(0) < 2000 }}"
              then: {do: jump, to: t, set_iter: {n: "{{ iter.n | default(0) + 1 }}"}}
"""
    assert run(text % 3000).status == "completed"
    failed = run(text % 500)
    assert failed.status == "failed" and failed.execution.failure is not None
    assert failed.execution.failure["code"] == "jump.budget"
    assert len(failed.of("task.done")) == 500
