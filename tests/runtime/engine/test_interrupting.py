"""Runs that signals and timers stop from outside (EXTENSIONS.md §3, `interrupt`): which are stopped, when, and what
becomes of what they had begun.
"""

from typing import Any

import pytest

from harness.running import Ran, resume_prefix, run
from noetl.engine import reports
from noetl.engine.effects import effects, recover
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.turn import Turn
from noetl_ir.orders import StopPipeline

HTTP = 'tool: {kind: http, url: "http://x/"}'
FAILED = "when: \"{{ event.name == 'step.failed' }}\""
BOTH = f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
  - {{step: a, spec: {{policy: {{interrupt: {{events: [stop]}}}}}}, {HTTP}, next: {{arcs: [{{step: z, {FAILED}}}]}}}}
  - {{step: b, spec: {{policy: {{interrupt: {{events: [stop]}}}}}}, {HTTP}, next: {{arcs: [{{step: z, {FAILED}}}]}}}}
  - {{step: z}}
"""


def script(*signals: tuple[float, str], **seconds: float) -> dict[str, Any]:
    """A script in which the calls of steps take so long and signals come."""
    outcomes = [{"step": name, "takes": each} for name, each in seconds.items()]
    return {"outcomes": outcomes, "signals": [{"at": at, "name": name, "data": at} for at, name in signals]}


def until(ran: Ran, event_type: str) -> Execution:
    """The state right behind the first event of a type."""
    folded = Execution("e1", ran.program)
    for event in ran.log:
        evolve(ran.program, folded, event)
        if event.event_type == event_type:
            break
    return folded


def ends(ran: Ran) -> list[tuple[str, str, float]]:
    """Which runs of `a` and `b` ended how, and when (seconds)."""
    names = ran.program.plan.steps
    rows = [event for event in ran.log if event.event_type in ("step.done", "step.failed")]
    return [(names[e.step].name, e.event_type, e.ts / 1e6) for e in rows if names[e.step].name in ("a", "b")]


def test_one_signal_stops_all_runs_in_progress_and_none_that_has_ended() -> None:
    ran = run(BOTH, script((3, "stop"), a=9, b=9))
    assert ends(ran) == [("a", "step.failed", 3), ("b", "step.failed", 3)] and len(ran.of("step.started", "z")) == 2
    ran = run(BOTH, script((3, "stop"), a=2, b=9))
    assert ends(ran) == [("a", "step.done", 2), ("b", "step.failed", 3)]
    # The second signal finds nobody: the first was used up by both.
    ran = run(BOTH, script((3, "stop"), (4, "stop"), a=9, b=9))
    assert [event.data.get("also", False) for event in ran.of("step.interrupted")] == [
        True,
        False,
    ]


def test_what_an_interrupted_run_reports_is_refused_and_its_stop_is_told_again_after_a_crash() -> None:
    ran = run(BOTH, script((3, "stop"), a=9, b=9))
    started = ran.of("task.started", "a")[0]
    state = until(ran, "step.failed")
    done = started._replace(
        event_id=started.event_id.replace(":s", ":d"), event_type="task.done",
        data={"status": "ok", "outcome": {"status": "ok"}, "directive": "continue", "rule": -1},
    )  # fmt: skip
    assert not reports.accept(Turn(ran.program, state, ran.log[-1].ts), done)
    recover(ran.program, state)
    stops = [order for order in effects(ran.program, state) if isinstance(order, StopPipeline)]
    assert [order.run for order in stops] == ["2", "3"]


def test_a_report_that_stands_before_the_signal_counts() -> None:
    """Both come at one time: the place in the log decides, and a run that has ended is not interrupted."""
    ran = run(BOTH, script((3, "stop"), a=3, b=9))
    first = next(e for e in ran.log if e.event_type in ("step.done", "signal.received") and e.ts == 3_000_000)
    assert ends(ran)[0] == ("a", "step.done" if first.event_type == "step.done" else "step.failed", 3)


@pytest.mark.parametrize(
    ("more", "outcomes", "seconds"),
    [
        ("", [{"step": "start", "takes": 9}], 5),
        # Over attempts and the delays between them.
        ("retry", [{"step": "start", "takes": 1, "outcome": {"status": "error"}}], 5),
        # Over all iterations.
        ("loop", [{"step": "start", "takes": 2}], 5),
        # From the admission and not from the first task.
        ("wait", [], 5),
    ],
)
def test_timers_count_from_the_admission(more: str, outcomes: list[Any], seconds: float) -> None:
    tool = {
        "retry": HTTP.replace(
            '"}', '", spec: {policy: {rules: [{else: {then: {do: retry, attempts: 9, delay: 1}}}]}}}'
        ),
        "wait": "tool: {kind: wait, events: [never]}",
    }.get(more, HTTP)
    loop = "loop: {in: [1, 2, 3, 4], iterator: i}" if more == "loop" else ""
    text = f"""
workflow:
  - step: start
    spec: {{policy: {{interrupt: {{timers: {{late: 5}}}}}}}}
    {tool}
    next: {{arcs: [{{step: z, {FAILED}}}]}}
    {loop}
  - {{step: z, tool: {{kind: noop, result: "{{{{ 1 }}}}"}}}}
"""
    ran = run(text, {"outcomes": outcomes})
    (failed,) = ran.of("step.failed", "start")
    assert failed.ts == seconds * 1_000_000 and ran.status == "completed"
    error = {key: value for key, value in failed.data["error"].items() if key != "errors"}  # those of a loop
    assert error == {
        "code": "interrupted", "message": "step `start` was interrupted by timer `late`", "step": "start",
        "event": {"name": "late", "data": None},
    }  # fmt: skip


def test_a_run_waits_for_the_signal_that_interrupts_it_and_is_not_blocked() -> None:
    text = f"""
workflow:
  - step: start
    spec: {{policy: {{interrupt: {{events: [stop]}}}}}}
    tool: {{kind: wait}}
    next: {{arcs: [{{step: z, {FAILED}}}]}}
  - {{step: z}}
"""
    ran = run(text, script((3, "stop")))
    assert ran.status == "completed" and ran.of("step.failed", "start")[0].ts == 3_000_000


def test_an_interrupt_goes_before_the_loop_and_the_wait_that_listen_too() -> None:
    text = f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: w}}, {{step: a}}]}}}}
  - {{step: w, tool: {{kind: wait, events: [stop]}}}}
  - {{step: a, spec: {{policy: {{interrupt: {{events: [stop]}}}}}}, {HTTP}, next: {{arcs: [{{step: z, {FAILED}}}]}}}}
  - {{step: z}}
"""
    ran = run(text, script((2, "stop"), (4, "stop"), a=9))
    assert ran.of("step.failed", "a")[0].ts == 2_000_000 and ran.of("step.done", "w")[0].ts == 4_000_000


def test_a_run_that_waits_for_its_lock_is_not_in_progress() -> None:
    lock = "lock: x, interrupt: {events: [stop]}"
    text = f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
  - {{step: a, spec: {{policy: {{{lock}}}}}, {HTTP}, next: {{arcs: [{{step: z, {FAILED}}}]}}}}
  - {{step: b, spec: {{policy: {{{lock}}}}}, {HTTP}, next: {{arcs: [{{step: z, {FAILED}}}]}}}}
  - {{step: z}}
"""
    ran = run(text, script((3, "stop"), a=9, b=2))
    assert ends(ran) == [("a", "step.failed", 3), ("b", "step.done", 5)]


def test_what_an_interrupted_run_has_done_is_undone_if_it_asks_for_that() -> None:
    text = f"""
workflow:
  - step: start
    spec: {{policy: {{interrupt: {{events: [stop]}}, compensate: {{step: undo, on: started}}}}}}
    {HTTP}
  - {{step: undo, {HTTP}}}
"""
    ran = run(text, script((3, "stop"), start=9, undo=1))
    assert ran.status == "failed" and ran.ran("undo")
    assert ran.execution.failure is not None and ran.execution.failure["code"] == "interrupted"


def test_after_a_crash_at_any_commit_the_signal_is_used_up_once() -> None:
    told = script((3, "stop"), a=9, b=9)
    whole = run(BOTH, told)
    for crash in whole.commits[:-1]:
        resumed = resume_prefix(whole, crash, told)
        assert resumed.status == "completed" and not resumed.faults
        assert ends(resumed) == ends(whole) and len(resumed.of("step.interrupted")) == 2


def test_a_log_in_which_a_signal_stops_a_run_twice_is_no_run_of_the_plan() -> None:
    ran = run(BOTH, script((3, "stop"), a=9, b=9))
    state, last = until(ran, "step.interrupted"), ran.of("step.interrupted")[-1]
    evolve(ran.program, state, last)
    with pytest.raises(IllegalFiring):
        evolve(ran.program, state, last)


def test_a_step_without_interrupts_has_no_transition_for_them() -> None:
    plan = run(BOTH, script(a=1, b=1)).program.plan
    of = {plan.steps[t.step].name for t in plan.net.transitions if t.role == "interrupt"}
    assert of == {"a", "b"}
