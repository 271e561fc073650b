"""Runs that another step cancels (EXTENSIONS.md §3): what becomes of them, and what is refused."""

from harness.running import Ran, run
from noetl.engine import reports
from noetl.engine.effects import effects, recover
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
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
