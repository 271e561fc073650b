"""Runs that another step cancels, and locks of steps (EXTENSIONS.md §3): who goes on when, and what is refused."""

from typing import Any

import pytest

from harness.running import Ran, compiled, run
from noetl.app.programs import program_of
from noetl.engine import reports
from noetl.engine.effects import effects, recover
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.turn import Turn
from noetl_ir.orders import StopPipeline

HTTP = 'tool: {kind: http, url: "http://x/"}'
CANCELS = f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: slow}}, {{step: quick}}]}}}}
  - {{step: slow, {HTTP}, next: {{arcs: [{{step: never}}]}}}}
  - {{step: never}}
  - {{step: quick, {HTTP}, next: {{arcs: [{{step: stop}}]}}}}
  - {{step: stop, spec: {{policy: {{cancels: [slow]}}}}, {HTTP}}}
"""
TIMES = {"outcomes": [{"step": "slow", "takes": 9}, {"step": "quick", "takes": 1}, {"step": "stop", "takes": 5}]}


def until(ran: Ran, event_type: str) -> Execution:
    """The state right behind the first event of a type."""
    folded = Execution("e1", ran.program)
    for event in ran.log:
        evolve(ran.program, folded, event)
        if event.event_type == event_type:
            break
    return folded


def test_what_a_cancelled_run_reports_is_refused_and_its_stop_is_told_again_after_a_crash() -> None:
    ran = run(CANCELS, TIMES)
    started = ran.of("task.started", "slow")[0]
    state = until(ran, "step.cancelled")
    done = started._replace(
        event_id=started.event_id.replace(":s", ":d"), event_type="task.done",
        data={"status": "ok", "outcome": {"status": "ok"}, "directive": "continue", "rule": -1},
    )  # fmt: skip
    assert not reports.accept(Turn(ran.program, state, ran.log[-1].ts), done)
    recover(ran.program, state)
    stops = [order for order in effects(ran.program, state) if isinstance(order, StopPipeline)]
    assert [(order.run, order.claim) for order in stops] == [(started.run, started.claim)]


def test_a_cancelled_run_has_no_result_and_what_it_wrote_stays() -> None:
    text = CANCELS.replace(
        "{step: slow, " + HTTP,
        "{step: slow, tool: [{name: a, kind: noop, result: 1, spec: {policy: {rules: [{else: {then: "
        '{do: continue, set_ctx: {n: 7}}}}]}}}, {name: b, kind: http, url: "http://x/"}]',
    )
    ran = run(text, {"outcomes": [{"task": "b", "takes": 9}, *TIMES["outcomes"][1:]]})
    assert ran.status == "completed" and ran.execution.ctx == {"n": 7}
    assert not ran.of("step.done", "slow") and not ran.ran("never")


def locks(*rows: str, start: str) -> str:
    """A workflow of a fork and steps."""
    head = f"  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{start}]}}}}\n"
    return "workflow:\n" + head + "".join(f"  - {{{row}}}\n" for row in rows)


def order_of(ran: Ran) -> list[tuple[str, float]]:
    """The steps as they were admitted, and when (seconds)."""
    steps = ran.program.plan.steps
    return [(steps[event.step].name, event.ts / 1e6) for event in ran.of("step.scheduled") if event.run != "1"]


def script(**seconds: float) -> dict[str, Any]:
    """A script in which the calls of steps take so long."""
    return {"outcomes": [{"step": name, "takes": each} for name, each in seconds.items()]}


def test_who_waits_behind_a_token_that_is_withdrawn_goes_on() -> None:
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: b, spec: {{policy: {{lock: [x, y]}}}}, {HTTP}",
        f"step: c, spec: {{policy: {{lock: y}}}}, {HTTP}",
        "step: d, spec: {policy: {cancels: [b]}}",
        start="{step: a}, {step: b}, {step: c}, {step: d, spec: {delay: 2}}",
    )
    ran = run(text, script(a=9, c=1))
    assert ran.status == "completed" and order_of(ran) == [("a", 0), ("d", 2), ("c", 2)]


def test_a_token_whose_rules_deny_it_is_overtaken_and_one_that_waits_for_locks_is_not() -> None:
    gate = 'admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: shut, spec: {{policy: {{lock: x, {gate}}}}}, {HTTP}",
        f"step: b, spec: {{policy: {{lock: x}}}}, {HTTP}",
        "step: c, tool: {name: c, kind: noop, spec: {policy: {rules: "
        "[{else: {then: {do: continue, set_ctx: {open: true}}}}]}}}",
        start="{step: a}, {step: shut}, {step: b}, {step: c, spec: {delay: 2}}",
    )
    ran = run(text, script(a=1, b=4, shut=1))
    # `shut` is denied at 1 s, when the lock is free; at 2 s its rules would allow it, and `b` has the lock until 5 s.
    assert order_of(ran) == [("a", 0), ("b", 1), ("c", 2), ("shut", 5)] and ran.status == "completed"


def test_a_failed_run_gives_its_lock_back() -> None:
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}, next: {{arcs: [{{step: mend, "
        "when: \"{{ event.name == 'step.failed' }}\"}]}",
        "step: mend, spec: {policy: {lock: x}}",
        start="{step: a}",
    )
    failing = {"outcomes": [{"step": "a", "takes": 1, "outcome": {"status": "error", "error": {"code": "http.500"}}}]}
    ran = run(text, failing)
    assert ran.status == "completed" and order_of(ran) == [("a", 0), ("mend", 1)]


def test_a_log_in_which_two_runs_hold_a_lock_is_no_run_of_the_plan() -> None:
    body = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}", f"step: b, spec: {{policy: {{lock: y}}}}, {HTTP}",
        start="{step: a}, {step: b}",
    )  # fmt: skip
    ran = run(body, script(a=2, b=2))
    same = program_of(compiled(body.replace("lock: y", "lock: x")))
    state = Execution("e1", same)
    with pytest.raises(IllegalFiring, match="`admit b` needs place `ready a` to be empty"):
        for event in ran.log:
            evolve(same, state, event)
