"""Steps that end the execution (EXTENSIONS §1, `terminate`): what is stopped, what wins, whose result it is."""

import pytest

from harness.running import resume_prefix, run
from noetl.engine.effects import effects
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl_ir.orders import StopPipeline

ENDING = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: w}]}}
  - {step: a, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: last}]}}
  - {step: b, tool: {kind: http, url: "http://x/b"}, next: {arcs: [{step: never}]}}
  - {step: w, tool: {kind: wait, events: [go], timers: {t: 60}}}
  - {step: never}
  - {step: last, spec: {policy: {terminate: STATUS}}, tool: {kind: noop, result: mine}}
"""
SCRIPT = "outcomes: [{step: a, takes: 2}, {step: b, takes: 9}]\n"


@pytest.mark.parametrize(("status", "code"), [("completed", None), ("failed", "terminated")])
def test_a_success_of_the_step_ends_all_at_once(status: str, code: str | None) -> None:
    ran = run(ENDING.replace("STATUS", status), SCRIPT)
    assert (ran.status, ran.log[-1].ts) == (status, 2_000_000)
    assert not ran.of("task.done", "b") and not ran.of("step.started", "never")
    failure = ran.execution.failure
    assert (failure and (failure["code"], failure["step"])) == (code and (code, "last"))
    if status == "completed":
        assert ran.execution.last_result == "mine"


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_it_ends_so_after_a_crash_at_any_commit(status: str) -> None:
    whole = run(ENDING.replace("STATUS", status), SCRIPT)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, SCRIPT)
        assert resumed.status == status and not resumed.of("step.started", "never")


def test_a_failure_of_the_step_goes_its_way() -> None:
    text = ENDING.replace("STATUS", "completed").replace("kind: noop, result: mine", 'kind: http, url: "http://x/l"')
    failing = SCRIPT.replace("]", ", {step: last, outcome: {status: error}}]")
    ran = run(text, failing)
    assert ran.status == "failed" and (ran.execution.failure or {})["code"] == "scripted"
    caught = """, next: {arcs: [{step: never, when: "{{ event.name == 'step.failed' }}"}]}}"""
    handled = run(text.replace('url: "http://x/l"}}', f'url: "http://x/l"}}{caught}'), failing)
    assert (handled.status, handled.ran("never"), handled.log[-1].ts) == ("completed", 2, 60_000_000)


def test_an_unhandled_failure_that_was_recorded_before_wins() -> None:
    text = "executor: {spec: {policy: {failure: {mode: best_effort}}}}" + ENDING.replace("STATUS", "completed")
    ran = run(text, "outcomes: [{step: a, takes: 2}, {step: b, takes: 1, outcome: {status: error}}]\n")
    assert (ran.status, ran.log[-1].ts) == ("failed", 2_000_000)
    assert (ran.execution.failure or {})["step"] == "b"


CALLER = """
workflow:
  - step: start
    tool: {kind: playbook, path: t/child}
    next: {arcs: [{step: told, when: "{{ event.status == 'error' }}", args: {why: "{{ event.error.code }}"}}]}
  - {step: told, tool: {kind: noop, result: "{{ args.why }}"}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: t/child}
"""


@pytest.mark.parametrize(("status", "result"), [("completed", "mine"), ("failed", "playbook.failed")])
def test_to_a_caller_it_is_the_end_of_its_child(status: str, result: str) -> None:
    ran = run(CALLER + ENDING.replace("STATUS", status).lstrip(), SCRIPT)
    assert (ran.status, ran.execution.last_result, ran.log[-1].ts) == ("completed", result, 2_000_000)


def test_what_still_runs_or_waits_is_told_to_stop() -> None:
    ran = run(ENDING.replace("STATUS", "completed"), SCRIPT)
    folded = Execution("e1", ran.program)
    for event in ran.log:
        evolve(ran.program, folded, event)
    steps = {event.run: ran.program.plan.steps[event.step].name for event in ran.of("step.started")}
    orders = [order for order in effects(ran.program, folded) if isinstance(order, StopPipeline)]
    assert sorted(steps[order.run] for order in orders) == ["b", "w"]


LIMITED = """
executor: {spec: {policy: {lifecycle: {timeout_s: 5}}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: w}]}}
  - step: a
    tool: {kind: http, url: "http://x/a"}
    next: {arcs: [{step: caught, when: "{{ event.status == 'error' }}"}]}
  - {step: w, tool: {kind: wait, events: [go]}}
  - {step: caught}
"""


@pytest.mark.parametrize(
    ("script", "at", "end", "code"),
    [
        ("outcomes: [{step: a, takes: 9}]", {}, 5, "timeout"),
        ("outcomes: [{step: a, takes: 1}]\nsignals: [{at: 4, name: go}]", {}, 4, None),
        ("outcomes: [{step: a, takes: 1}]", {}, 5, "timeout"),
        # A pause does not stop the clock, and what is over time then ends as soon as it is over.
        ("outcomes: [{step: a, takes: 9}]", {1.0: "pause", 30.0: "resume"}, 30, "timeout"),
    ],
    ids=["a call", "in time", "a wait", "a pause"],
)
def test_an_execution_is_bounded_from_its_start(script: str, at: dict[float, str], end: int, code: str | None) -> None:
    whole = run(LIMITED, script, at=at)
    assert (whole.status, whole.log[-1].ts // 1_000_000) == ("completed" if code is None else "failed", end)
    assert (whole.execution.failure or {}).get("code") == code and not whole.ran("caught")
    for length in whole.commits[:-1] if not at else ():
        assert resume_prefix(whole, length, script).status in (whole.status, "failed")


def test_a_failure_before_the_limit_keeps_its_error() -> None:
    text = LIMITED.replace("lifecycle: {timeout_s: 5}", "lifecycle: {timeout_s: 5}, failure: {mode: best_effort}")
    text = text.replace("event.status == 'error'", "event.status == 'odd'")
    ran = run(text, "outcomes: [{step: a, takes: 1, outcome: {status: error}}]")
    assert (ran.status, ran.log[-1].ts, (ran.execution.failure or {})["code"]) == ("failed", 5_000_000, "scripted")
