"""An execution that goes round without end, or that makes more and more tokens, ends with the bound that it came to."""

import pytest

from harness.running import Ran, run

ROUND = """
workflow:
  - {step: start, next: {arcs: [{step: again}]}}
  - {step: again, next: {arcs: [{step: start}]}}
"""
FLOOD = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: start}, {step: sink}, {step: sink}]}
  - {step: sink, tool: {kind: wait, events: [never]}}
"""


def failure(ran: Ran) -> tuple[str, object]:
    error = ran.of("workflow.finished")[-1].data["error"]
    assert isinstance(error, dict)
    return ran.status, error["code"]


def test_step_runs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.engine.routing.MAX_STEP_RUNS", 50)
    ran = run(ROUND)
    assert failure(ran) == ("failed", "limit.step_runs")
    assert ran.ran("start") + ran.ran("again") == 50


def test_tokens_on_their_way_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.engine.routing.MAX_TOKENS", 20)
    ran = run(FLOOD)
    assert failure(ran) == ("failed", "limit.tokens")
    assert 10 < ran.ran("sink") <= 20
