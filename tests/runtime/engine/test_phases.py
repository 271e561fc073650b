"""Phases behind main (EXTENSIONS §1): what runs after which end, what it is told, and that main fixes the status."""

from typing import Any

import pytest

from harness.running import Ran, resume_prefix, run

BOTH = """
executor: {spec: {on_failure: tell, finally: release}}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: w, when: "{{ workload.waits | default(false) }}"}]}
  - {step: a, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: last}]}}
  - {step: w, tool: {kind: wait}}
  - {step: last, tool: {kind: noop, result: 7}}
  - {step: tell, tool: {kind: noop, result: "{{ args }}"}, next: {arcs: [{step: told}]}}
  - {step: told, tool: {kind: http, url: "http://x/told"}}
  - {step: release, tool: [{name: r, kind: http, url: "http://x/r"}, {name: s, kind: noop, result: "{{ args }}"}]}
"""
REST = "{step: told, takes: 1}, {step: release, task: r, takes: 1}"
GOOD = f"outcomes: [{{step: a, takes: 2}}, {{step: last, task: h, takes: 1}}, {REST}]\n"
BAD = f"outcomes: [{{step: a, takes: 2, outcome: {{status: error}}}}, {REST}]\n"


def steps_of(ran: Ran) -> list[str]:
    """The steps that ran, as they began."""
    return [ran.program.plan.steps[event.step].name for event in ran.of("step.started")]


def results(ran: Ran, task: str) -> Any:
    """The result of the last task of that name."""
    tasks = ran.program.plan.tasks
    return [e.data["result"] for e in ran.of("task.done") if tasks[e.task].name == task and "result" in e.data][-1]


def test_what_is_behind_a_completed_main_knows_its_result() -> None:
    ran = run(BOTH, GOOD)
    assert (ran.status, steps_of(ran)) == ("completed", ["start", "a", "last", "release"])
    assert results(ran, "s") == {"status": "completed", "error": None, "result": 7}
    assert ran.execution.last_result == 7
    (finished,) = ran.of("workflow.finished")
    assert finished.data["after"] == [{"phase": "finally", "status": "completed"}]


def test_what_is_behind_a_failed_main_knows_its_failure() -> None:
    ran = run(BOTH, BAD)
    assert (ran.status, steps_of(ran)) == ("failed", ["start", "a", "tell", "told", "release"])
    told = results(ran, "tell_task")
    assert (told["status"], told["error"]["code"], told["step"]) == ("failed", "scripted", "a")
    assert results(ran, "s")["result"] is None and results(ran, "s")["error"]["step"] == "a"
    assert (ran.execution.failure or {})["step"] == "a"
    assert [row["phase"] for row in ran.execution.after] == ["on_failure", "finally"]


def test_a_blocked_main_says_why() -> None:
    ran = run(BOTH, GOOD, {"waits": True})
    assert (ran.status, steps_of(ran)[3:]) == ("blocked", ["last", "tell", "told", "release"])
    assert (
        results(ran, "s")["error"]["code"] == "blocked"
        and "`wait` of step `w`" in results(ran, "s")["error"]["message"]
    )


@pytest.mark.parametrize("at", [1.0, 2.5])
def test_a_cancel_of_main_runs_the_end_alone(at: float) -> None:
    ran = run(
        BOTH.replace("kind: noop, result: 7", 'name: h, kind: http, url: "http://x/last"'), GOOD, at={at: "cancel"}
    )
    assert (ran.status, steps_of(ran)[-1], ran.ran("tell")) == ("cancelled", "release", 0)
    assert results(ran, "s")["error"] == {"code": "cancelled", "message": "cancelled on request"}
    assert ran.of("workflow.finished")[0].data["reason"] == "cancelled on request"


def test_a_cancel_of_a_later_phase_ends_it_and_skips_the_rest() -> None:
    ran = run(BOTH, BAD, at={2.5: "cancel"})
    assert (ran.status, ran.ran("release")) == ("failed", 0)
    assert [(row["phase"], row["status"]) for row in ran.execution.after] == [("on_failure", "cancelled")]


def test_what_fails_in_a_later_phase_is_told_beside_the_status() -> None:
    ran = run(BOTH, "outcomes: [{step: a}, {step: release, task: r, outcome: {status: error}}]")
    assert (ran.status, ran.execution.failure, ran.execution.last_result) == ("completed", None, 7)
    (row,) = ran.execution.after
    assert (row["status"], row["error"]["step"]) == ("failed", "release")
    ran = run(BOTH, BAD.replace("told, takes: 1", "told, outcome: {status: error}"))
    assert (ran.status, [row["status"] for row in ran.execution.after]) == ("failed", ["failed", "completed"])
    assert (ran.execution.failure or {})["step"] == "a"


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_step_that_ends_all_ends_its_phase(status: str) -> None:
    ending = "{step: last, spec: {policy: {terminate: STATUS}}, tool: {kind: noop, result: 7}}".replace(
        "STATUS", status
    )
    main = BOTH.replace("{step: last, tool: {kind: noop, result: 7}}", ending)
    ran = run(main, GOOD)
    assert (ran.status, ran.ran("tell"), ran.ran("release")) == (status, status == "failed", 1)
    later = BOTH.replace(
        "{step: told, ", "{step: told, spec: {policy: {terminate: STATUS}}, ".replace("STATUS", status)
    )
    ran = run(later, BAD)
    assert (ran.status, [row["status"] for row in ran.execution.after]) == ("failed", [status, "completed"])
    assert (ran.execution.failure or {})["step"] == "a"


def test_the_time_limit_of_the_execution_bounds_main_alone() -> None:
    text = BOTH.replace("finally: release", "finally: release, policy: {lifecycle: {timeout_s: 1, after_s: 3}}")
    ran = run(text, "outcomes: [{step: a, takes: 9}, {step: told, takes: 2}, {step: release, task: r, takes: 9}]")
    assert (ran.status, ran.log[-1].ts) == ("failed", 6_000_000)
    assert [(row["status"], (row.get("error") or {}).get("code")) for row in ran.execution.after] == [
        ("completed", None),
        ("failed", "timeout"),
    ]
    assert "phase `finally`" in ran.execution.after[1]["error"]["message"]


def test_a_faulty_result_fails_the_execution_and_tells_the_end_alone() -> None:
    ran = run(
        BOTH.replace("finally: release", 'finally: release, result: "{{ nowhere.at.all }}"'.replace("nowhere", "w")),
        GOOD,
    )
    assert (ran.status, ran.ran("tell"), ran.ran("release")) == ("failed", 0, 1)
    assert results(ran, "s")["error"]["code"] == "template.undefined"


def test_a_declared_result_is_asked_before_the_end() -> None:
    text = BOTH.replace("finally: release", 'finally: release, result: "{{ ctx.n | default(1) }}"')
    text = text.replace(
        'kind: noop, result: "{{ args }}"}]',
        'kind: noop, result: "{{ args }}", spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: '
        "{n: 2}}}}]}}}]",
    )
    ran = run(text, GOOD)
    assert (ran.execution.last_result, ran.execution.ctx, results(ran, "s")["result"]) == (1, {"n": 2}, 1)


def test_a_start_that_is_refused_has_no_phases() -> None:
    ran = run(BOTH + 'workload: {x: "{{ 1 / 0 }}"}\n')
    assert (ran.status, ran.of("phase.started"), "after" in ran.of("workflow.finished")[0].data) == (
        "failed",
        [],
        False,
    )


def test_a_pause_holds_the_next_phase_back() -> None:
    ran = run(BOTH, BAD, at={1.0: "pause", 30.0: "resume"})
    assert (ran.status, ran.of("phase.started")[0].ts) == ("failed", 30_000_000)
    ran = run(BOTH, GOOD, at={1.0: "pause", 1.5: "cancel"})
    assert (ran.status, steps_of(ran)[-1], ran.log[-1].ts) == ("cancelled", "release", 2_500_000)


def test_results_and_ctx_of_main_are_there_and_its_tokens_are_not() -> None:
    text = BOTH.replace('result: "{{ args }}"}]', 'result: "{{ [last, start.name | default(1)] }}"}]')
    assert results(run(text, GOOD), "s")[0] == 7


@pytest.mark.parametrize(("script", "status"), [(GOOD, "completed"), (BAD, "failed")])
def test_it_goes_on_after_a_crash_at_any_commit(script: str, status: str) -> None:
    whole = run(BOTH, script)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, script)
        assert (resumed.status, resumed.execution.after) == (status, whole.execution.after), length


def test_an_arc_to_the_end_of_main_ends_its_token() -> None:
    text = BOTH.replace('http://x/told"}}', 'http://x/told"}, next: {arcs: [{step: end}]}}') + (
        '  - {step: end, tool: {kind: http, url: "http://x/end"}}\n'
    )
    ran = run(text, BAD)
    assert (ran.status, ran.ran("end"), ran.ran("told")) == ("failed", 0, 1)


CALLER = """
executor: {spec: {finally: mine}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: bad, spec: {delay: 4}}]}}
  - {step: call, tool: {kind: playbook, path: t/child TIMEOUT}, next: {arcs: [{step: after}]}}
  - {step: bad, tool: {kind: fail, code: bad}}
  - {step: after}
  - {step: mine, tool: {kind: http, url: "http://x/mine"}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: t/child}
executor: {spec: {entry_step: long, finally: its}}
workflow:
  - {step: long, tool: {kind: http, url: "http://x/long"}}
  - {step: its, tool: {kind: http, url: "http://x/its"}}
"""
CHILD = "outcomes: [{step: long, takes: 60}, {step: its, takes: 10}, {step: mine, takes: 1}, {step: bad}]"


def caller(timeout: str = "") -> str:
    """The caller and its child."""
    return CALLER.replace(" TIMEOUT", f", spec: {{timeout: {timeout}}}" if timeout else "")


@pytest.mark.parametrize(
    ("text", "at", "status", "seconds"),
    [
        (caller(), {2.0: "cancel"}, "cancelled", 2 + 10 + 1),
        (caller().replace("executor: {spec: {finally: mine}}\n", "", 1), {2.0: "cancel"}, "cancelled", 2 + 10),
        (caller(), {}, "failed", 4 + 10 + 1),
        (caller().replace("finally: mine", "finally: mine, policy: {lifecycle: {timeout_s: 3}}", 1), {}, "failed", 14),
        # The child of a task that is over time is not waited for by its step, but by the phases behind main.
        (caller("2").replace("arcs: [{step: after}]", "arcs: [{step: after, when: \"{{ event.status == 'error' }}\"}]"),
         {}, "failed", 2 + 10 + 1),
    ],
    ids=["cancelled", "without phases", "failed", "over time", "a task over time"],
)  # fmt: skip
def test_what_follows_waits_for_the_phases_of_children(
    text: str, at: dict[float, str], status: str, seconds: int
) -> None:
    ran = run(text, CHILD, at=at)
    assert (ran.status, ran.log[-1].ts // 1_000_000) == (status, seconds)
    (ended,) = ran.of("child.ended")
    assert [event.ts for event in ran.of("phase.ended") if event.data["phase"] == "main"] != []
    started = ran.of("phase.started")
    assert all(event.ts >= ended.ts for event in started) and bool(started) == ("mine" in text.split("---")[0][:40])
    for length in whole_of(ran, at):
        resumed = resume_prefix(ran, length, CHILD)
        assert resumed.status in (status, "failed")


def whole_of(ran: Ran, at: dict[float, str]) -> list[int]:
    """The commits after which the run goes on by itself as it did."""
    return (
        ran.commits[:-1]
        if not at
        else [n for n in ran.commits[:-1] if "phase.ended" in [e.event_type for e in ran.log[:n]]]
    )


def test_the_end_of_a_child_by_itself_is_told_by_its_own_code() -> None:
    text = (
        caller()
        .replace("{step: bad, spec: {delay: 4}}", "")
        .replace("arcs: [{step: after}]", "arcs: [{step: after, when: \"{{ event.error.code == 'child.blocked' }}\"}]")
        .replace('kind: http, url: "http://x/long"', "kind: wait")
    )
    ran = run(text, CHILD)
    assert (ran.status, ran.ran("after"), len(ran.of("child.started")), ran.of("child.ended")) == (
        "completed",
        1,
        1,
        [],
    )


def test_a_cancel_by_hand_while_children_end_skips_the_rest() -> None:
    ran = run(caller(), CHILD, at={2.0: "cancel", 5.0: "cancel"})
    assert (ran.status, ran.of("phase.started"), ran.log[-1].ts) == ("cancelled", [], 12_000_000)
